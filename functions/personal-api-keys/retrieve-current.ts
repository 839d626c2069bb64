import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { retrieveCurrentPersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { readUserKeys } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(retrieveCurrentPersonalApiKey, {
  read: ({ caller }, context) => readUserKeys(context, caller),
  // When it was last used changes without its version.
  run: ({ read: { item } }) => new Answer(personalApiKeyObject(item), { version: item.ver, isComputed: true }),
});
