import { endpoint } from '../../lib/http/endpoint.ts';
import { personalApiKeyObject } from '../../lib/personal-api-keys/model.ts';
import { listPersonalApiKeys } from '../../lib/personal-api-keys/routes.ts';
import { keysHeldBy } from '../../lib/personal-api-keys/store.ts';

export const handler = endpoint(listPersonalApiKeys, async ({ caller }, { table }) => {
  const held = await keysHeldBy(table, [caller.user]);
  return held.map((item) => personalApiKeyObject(item));
});
