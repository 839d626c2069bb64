import { endpoint } from '../../lib/api/endpoint.ts';
import { onlyStops } from '../../lib/notifications/notifier.ts';
import { updateSubscription } from '../../lib/notifications/subscriptions/routes.ts';
import {
  changeSubscription,
  foundSubscriptionToChange,
  readSubscription,
  subscriptionAnswer,
} from '../../lib/notifications/subscriptions/store.ts';

export const handler = endpoint(updateSubscription, {
  read: ({ params }, { table }) => readSubscription(table, params.project_id, params.id),
  found: foundSubscriptionToChange,
  async run({ read, body, tenant, caller, ifMatch, activityOps }, context) {
    const changed = await changeSubscription(context, { tenant, activityOps }, read, body, ifMatch);
    return subscriptionAnswer(context, changed, tenant, caller, { mayBeUnseen: onlyStops(body) });
  },
});
