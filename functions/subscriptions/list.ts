import { endpoint } from '../../lib/api/endpoint.ts';
import { page } from '../../lib/http/page.ts';
import { holdsText } from '../../lib/http/search.ts';
import { listSubscriptions } from '../../lib/notifications/subscriptions/routes.ts';
import { subscriptionObjects, subscriptionsOf } from '../../lib/notifications/subscriptions/store.ts';

export const handler = endpoint(listSubscriptions, async ({ query, tenant, paging, caller }, context) => {
  const all = await subscriptionsOf(context.table, tenant, query);
  const found = all.filter(({ item: { title }, name }) => holdsText([title, name], query.search));
  const { limit, offset } = paging;
  const items = await subscriptionObjects(context, found.slice(offset, offset + limit), caller);
  return page(paging, { items, count: found.length }, (subscription) => subscription);
});
