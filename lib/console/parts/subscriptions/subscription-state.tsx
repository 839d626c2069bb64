import type { Subscription } from '../../client/subscriptions.ts';
import { Label } from '../label.tsx';

/** Shows whether a subscription is sent, and whether the latest was. */
export function SubscriptionState({ enabled, latest_error, next_delivery_date }: Subscription) {
  if (!enabled) return <Label>Disabled</Label>;
  if (latest_error !== null) return <Label color="red">Failing</Label>;
  return next_delivery_date === null ? <Label>Over</Label> : <Label color="green">On</Label>;
}
