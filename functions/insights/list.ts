import { endpoint } from '../../lib/api/endpoint.ts';
import { insightPageFor, readInsightPage } from '../../lib/dashboards/insights/listing.ts';
import { insightObjects } from '../../lib/dashboards/insights/store.ts';
import { fittingItems, page } from '../../lib/http/page.ts';
import { listInsights } from '../../lib/insights/routes.ts';

export const handler = endpoint(listInsights, {
  read: ({ params, query, paging }, { table }) => readInsightPage(table, params.project_id, query, paging),
  async run({ read, tenant, query, paging, caller }, context) {
    const listed = await insightPageFor(context.table, tenant, read, query, paging);
    const { items: found, taken } = fittingItems(listed.found, ({ item }) => item.query?.length ?? 0);
    const items = await insightObjects(context, found, tenant, caller);
    return page(paging, { ...listed, items, taken }, (insight) => insight);
  },
});
