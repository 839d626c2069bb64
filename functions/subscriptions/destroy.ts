import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';
import { destroySubscription } from '../../lib/notifications/subscriptions/routes.ts';

export const handler = endpoint(
  destroySubscription,
  () => new Answer(undefined, { headers: { Allow: 'GET, HEAD, PATCH' } }),
);
