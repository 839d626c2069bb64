import { currentPlace } from '../../lib/accounts/organizations/rules.ts';
import { organizationsIn } from '../../lib/accounts/organizations/store.ts';
import { meObject } from '../../lib/accounts/users/model.ts';
import { retrieveMe } from '../../lib/accounts/users/routes.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(retrieveMe, async ({ caller }, { table }) => {
  const joined = await organizationsIn(table, caller.memberships);
  return meObject(caller.user, joined, currentPlace(joined));
});
