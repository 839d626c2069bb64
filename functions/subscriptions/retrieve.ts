import { endpoint } from '../../lib/api/endpoint.ts';
import { retrieveSubscription } from '../../lib/notifications/subscriptions/routes.ts';
import {
  foundSubscription,
  readSubscription,
  subscriptionAnswer,
} from '../../lib/notifications/subscriptions/store.ts';

export const handler = endpoint(retrieveSubscription, {
  read: ({ params }, { table }) => readSubscription(table, params.project_id, params.id),
  found: foundSubscription,
  run: ({ read, tenant, caller }, context) => subscriptionAnswer(context, read, tenant, caller),
});
