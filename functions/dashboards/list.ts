import { userCards } from '../../lib/accounts/users/cards.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { listedFor, readListing } from '../../lib/dashboards/listing.ts';
import { dashboardObject } from '../../lib/dashboards/model.ts';
import { listDashboards } from '../../lib/dashboards/routes.ts';
import { standingOf } from '../../lib/dashboards/rules.ts';
import { page } from '../../lib/http/page.ts';

export const handler = endpoint(listDashboards, {
  read: ({ params, query, paging }, { table }) => readListing(table, Number(params.project_id), query, paging),
  async run({ read, tenant, query, paging, caller }, context) {
    const listed = await listedFor(context.table, tenant, read, query, paging);
    const cards = await userCards(
      context,
      listed.items.map((head) => head.created_by),
      caller.user,
    );
    return page(paging, listed, (head) => dashboardObject(head, standingOf(head, tenant.membership), cards));
  },
});
