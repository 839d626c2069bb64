import { invalid } from '../../ports/errors.ts';
import type { Schedule, SubscriptionItem, SubscriptionPatch } from './model.ts';

/** Returns when something of a subscription is due next; null: nothing is. */
export const dueOf = ({ enabled, deleted, next_delivery_date }: SubscriptionItem): number | null =>
  enabled && !deleted ? next_delivery_date : null;

/** Throws a 400 when another dashboard or insight is sent than it is about. */
export function checkSame(item: SubscriptionItem, { dashboard, insight }: SubscriptionPatch): void {
  const detail = 'It cannot be changed. Make another subscription.';
  if (dashboard !== undefined && dashboard !== item.dashboard) invalid('dashboard', detail);
  if (insight !== undefined && insight !== item.insight) invalid('insight', detail);
}

/** Returns the rule of a body. Throws a 400 for one that has no times. */
export function scheduleOf(sent: { readonly [name in keyof Schedule]?: Schedule[name] | null | undefined }): Schedule {
  const { byweekday, bysetpos = null, count = null, until_date = null } = sent;
  const [frequency, interval, start_date] = [sent.frequency ?? 'daily', sent.interval ?? 1, sent.start_date ?? 0];
  const days = byweekday ?? [];
  if (days.length > 0 && frequency !== 'weekly' && frequency !== 'monthly') {
    invalid('byweekday', 'Days are of weeks and months: choose weekly or monthly, or leave them out.');
  }
  if (bysetpos === 0) invalid('bysetpos', '1 is the first, -1 the last.');
  if (bysetpos !== null && (frequency !== 'monthly' || days.length === 0)) {
    invalid('bysetpos', 'It chooses among the `byweekday` of a month: choose monthly and days, or leave it out.');
  }
  if (until_date !== null && until_date < start_date) {
    invalid('until_date', 'It is before start_date: nothing would be sent.');
  }
  return { frequency, interval, byweekday: [...new Set(days)], bysetpos, count, start_date, until_date };
}
