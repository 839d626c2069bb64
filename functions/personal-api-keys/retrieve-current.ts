import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { personalApiKeyObject } from '../../lib/personal-api-keys/model.ts';
import { retrieveCurrentPersonalApiKey } from '../../lib/personal-api-keys/routes.ts';
import { readHeldKeys } from '../../lib/personal-api-keys/store.ts';

export const handler = endpoint(retrieveCurrentPersonalApiKey, {
  read: ({ caller }, context) => readHeldKeys(context, caller),
  run: ({ read: { item } }) => new Answer(personalApiKeyObject(item), { version: item.ver }),
});
