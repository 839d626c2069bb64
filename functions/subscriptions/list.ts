import { endpoint } from '../../lib/api/endpoint.ts';
import { page } from '../../lib/http/page.ts';
import { listSubscriptions } from '../../lib/notifications/subscriptions/routes.ts';
import { subscriptionObjects, subscriptionsOf } from '../../lib/notifications/subscriptions/store.ts';

export const handler = endpoint(listSubscriptions, async ({ query, tenant, paging, caller }, context) => {
  const found = await subscriptionsOf(context.table, tenant, query);
  const { limit, offset } = paging;
  const items = await subscriptionObjects(context, found.slice(offset, offset + limit), caller);
  return page(paging, { items, count: found.length }, (subscription) => subscription);
});
