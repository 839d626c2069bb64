import { destroyPersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { readUserKeys, revokeKey } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(destroyPersonalApiKey, {
  read: ({ params, caller }, context) => readUserKeys(context, caller, params.id),
  run: ({ read: { user, maker, item }, ifMatch, caller: { memberships }, activityOps }, context) =>
    revokeKey(context, item, { user, maker, ifMatch, activity: { activityOps, memberships } }),
});
