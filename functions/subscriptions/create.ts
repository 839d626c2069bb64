import { endpoint } from '../../lib/api/endpoint.ts';
import { createSubscription as row } from '../../lib/notifications/subscriptions/routes.ts';
import {
  createSubscription,
  foundSubscription,
  readSubscription,
  subscriptionAnswer,
} from '../../lib/notifications/subscriptions/store.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller, idempotencyOps, activityOps }, context) {
    const made = await createSubscription(context, { tenant, activityOps }, body, idempotencyOps);
    return subscriptionAnswer(context, made, tenant, caller);
  },
  async replay(id, { params, tenant, caller }, context) {
    const found = foundSubscription(await readSubscription(context.table, params.project_id, Number(id)));
    return subscriptionAnswer(context, found, tenant, caller);
  },
});
