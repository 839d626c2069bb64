import { meObject } from '../../lib/accounts/me/model.ts';
import { retrieveMe } from '../../lib/accounts/me/routes.ts';
import { currentPlace, openPlaces } from '../../lib/accounts/organizations/rules.ts';
import { organizationsIn } from '../../lib/accounts/organizations/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(retrieveMe, async ({ caller }, { table }) => {
  const open = openPlaces(await organizationsIn(table, caller.memberships), caller);
  return meObject(caller.user, open, currentPlace(open));
});
