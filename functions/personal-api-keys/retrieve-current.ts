import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { retrieveCurrentPersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { readHeldKeys } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(retrieveCurrentPersonalApiKey, {
  read: ({ caller }, context) => readHeldKeys(context, caller),
  run: ({ read: { item } }) => new Answer(personalApiKeyObject(item), { version: item.ver }),
});
