import { endpoint } from '../../lib/api/endpoint.ts';
import { page } from '../../lib/http/page.ts';
import { listAlerts } from '../../lib/notifications/alerts/routes.ts';
import { alertObjects, alertsOf } from '../../lib/notifications/alerts/store.ts';

export const handler = endpoint(listAlerts, async ({ query, tenant, paging, caller }, context) => {
  const found = await alertsOf(context.table, tenant, query.insight);
  const { limit, offset } = paging;
  const items = await alertObjects(context, found.slice(offset, offset + limit), caller);
  return page(paging, { items, count: found.length }, (alert) => alert);
});
