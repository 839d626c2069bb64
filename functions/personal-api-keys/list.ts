import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { listPersonalApiKeys } from '../../lib/accounts/personal-api-keys/routes.ts';
import { keysOfUsers } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(listPersonalApiKeys, async ({ caller }, { table }) => {
  const held = await keysOfUsers(table, [caller.user]);
  return held.map((item) => personalApiKeyObject(item));
});
