import { endpoint } from '../../lib/http/endpoint.ts';
import { currentPlace } from '../../lib/organizations/rules.ts';
import { organizationsIn } from '../../lib/organizations/store.ts';
import { meObject } from '../../lib/users/model.ts';
import { retrieveMe } from '../../lib/users/routes.ts';

export const handler = endpoint(retrieveMe, async ({ caller }, { table }) => {
  const joined = await organizationsIn(table, caller.memberships);
  return meObject(caller.user, joined, currentPlace(joined));
});
