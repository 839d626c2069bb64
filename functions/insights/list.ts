import { endpoint } from '../../lib/api/endpoint.ts';
import { insightObjects, insightPageFor, readInsightPage } from '../../lib/dashboards/insights/store.ts';
import { page } from '../../lib/http/page.ts';
import { listInsights } from '../../lib/insights/routes.ts';

export const handler = endpoint(listInsights, {
  read: ({ params, paging }, { table }) => readInsightPage(table, Number(params.project_id), paging),
  async run({ read, tenant, paging, caller }, context) {
    const listed = await insightPageFor(context.table, tenant, read, paging);
    const items = await insightObjects(context, listed.found, { member: tenant.membership, user: caller.user });
    return page(paging, { ...listed, items }, (insight) => insight);
  },
});
