import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { listingFor, readListing } from '../../lib/dashboards/listing.ts';
import { dashboardObject } from '../../lib/dashboards/model.ts';
import { listDashboards } from '../../lib/dashboards/routes.ts';
import { rightsOf } from '../../lib/dashboards/rules.ts';
import { page } from '../../lib/http/page.ts';

export const handler = endpoint(listDashboards, {
  read: ({ params, query, paging }, { table }) => readListing(table, params.project_id, query, paging),
  async run({ read, tenant, query, paging, caller }, context) {
    const listed = await listingFor(context.table, tenant, read, query, paging);
    const creators = listed.items.map((summary) => summary.created_by);
    const userOf = await userLookup(context, creators, caller.user);
    return page(paging, listed, (summary) => dashboardObject(summary, rightsOf(summary, tenant.membership), userOf));
  },
});
