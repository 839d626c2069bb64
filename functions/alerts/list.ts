import { endpoint } from '../../lib/api/endpoint.ts';
import { page } from '../../lib/http/page.ts';
import { holdsText } from '../../lib/http/search.ts';
import { listAlerts } from '../../lib/notifications/alerts/routes.ts';
import { alertObjects, alertsOf } from '../../lib/notifications/alerts/store.ts';

export const handler = endpoint(listAlerts, async ({ query, tenant, paging, caller }, context) => {
  const all = await alertsOf(context.table, tenant, query.insight);
  const found = all.filter(({ item: { name }, insight }) =>
    holdsText([name, insight.name, insight.derived_name], query.search),
  );
  const { limit, offset } = paging;
  const items = await alertObjects(context, found.slice(offset, offset + limit), tenant, caller);
  return page(paging, { items, count: found.length }, (alert) => alert);
});
