import { endpoint } from '../../lib/http/endpoint.ts';
import { page } from '../../lib/http/page.ts';
import { organizationObject } from '../../lib/organizations/model.ts';
import { listOrganizations } from '../../lib/organizations/routes.ts';
import { visibleMemberships } from '../../lib/organizations/rules.ts';
import { organizationsIn } from '../../lib/organizations/store.ts';

export const handler = endpoint(listOrganizations, async ({ caller, paging }, { table }) => {
  const found = await organizationsIn(table, visibleMemberships(caller.memberships, caller.scopedOrganizations));
  const items = found.slice(paging.offset, paging.offset + paging.limit);
  return page(paging, { items, count: found.length }, ({ organization, membership }) =>
    organizationObject(organization, membership.level),
  );
});
