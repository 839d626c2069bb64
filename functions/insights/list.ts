import { endpoint } from '../../lib/api/endpoint.ts';
import { insightObjects, readInsightPage } from '../../lib/dashboards/insights/store.ts';
import { page } from '../../lib/http/page.ts';
import { listInsights } from '../../lib/insights/routes.ts';

export const handler = endpoint(listInsights, {
  read: ({ params, paging }, { table }) => readInsightPage(table, Number(params.project_id), paging),
  async run({ read, tenant, paging, caller }, context) {
    const items = await insightObjects(context, read.found, { member: tenant.membership, user: caller.user });
    return page(paging, { ...read, items }, (insight) => insight);
  },
});
