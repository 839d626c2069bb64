/** To whom a notifier's messages go: when they are made, and still when they are sent. */
import { isDeepStrictEqual } from 'node:util';
import { fromJsonText } from '../../ports/table/json-text.ts';
import type { AlertItem } from '../alerts/model.ts';
import type { NotifierItem } from '../notifier.ts';
import { addressesOf, type SubscriptionItem } from '../subscriptions/model.ts';
import type { Message, Target } from './message.ts';

/** Returns whom an alert tells. */
export const alertTargets = ({ notify_url, notify_type, subscribed_users }: AlertItem): readonly Target[] => [
  ...(notify_url === null ? [] : [{ type: notify_type }]),
  ...fromJsonText(subscribed_users).map((user) => ({ type: 'member', user }) as const),
];

/** Returns to whom a subscription is sent. */
export const subscriptionTargets = ({ target_type, target_value }: SubscriptionItem): readonly Target[] =>
  target_type === 'email'
    ? addressesOf(target_value).map((address) => ({ type: 'email', address }) as const)
    : [{ type: target_type }];

/**
 * Returns the target of a message that was made earlier, as whose it is names it now: a webhook may have another form, as it may
 * have another address. Undefined: it is named no more.
 */
export function targetNow(item: NotifierItem, { by, target }: Pick<Message, 'by' | 'target'>): Target | undefined {
  const named = by.kind === 'alert' ? alertTargets(item as AlertItem) : subscriptionTargets(item as SubscriptionItem);
  return named.find((one) => isDeepStrictEqual(one, target) || (isWebhook(one) && isWebhook(target)));
}

const isWebhook = ({ type }: Target): boolean => type === 'webhook' || type === 'slack';
