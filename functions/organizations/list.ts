import { organizationObject } from '../../lib/accounts/organizations/model.ts';
import { listOrganizations } from '../../lib/accounts/organizations/routes.ts';
import { openPlaces } from '../../lib/accounts/organizations/rules.ts';
import { organizationsIn } from '../../lib/accounts/organizations/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { page } from '../../lib/http/page.ts';

export const handler = endpoint(listOrganizations, async ({ caller, paging }, { table }) => {
  const found = openPlaces(await organizationsIn(table, caller.memberships), caller);
  const items = found.slice(paging.offset, paging.offset + paging.limit);
  return page(paging, { items, count: found.length }, ({ organization, membership }) =>
    organizationObject(organization, membership.level),
  );
});
