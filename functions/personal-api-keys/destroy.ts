import { destroyPersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { readHeldKeys, revokeKey } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(destroyPersonalApiKey, {
  read: ({ params, caller }, context) => readHeldKeys(context, caller, params.id),
  async run({ read: { user, item }, ifMatch, caller: { memberships }, activity: tell }, context) {
    await revokeKey(context, item, { user, ifMatch, teller: { tell, memberships } });
    return undefined;
  },
});
