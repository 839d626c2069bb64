/** When an alert looks again. */
import { Temporal } from 'temporal-polyfill';
import { HOUR_MS } from '../../basics/units.ts';
import { datetime } from '../../http/fields.ts';
import { invalid } from '../../ports/errors.ts';
import type { AlertItem } from './model.ts';

/** By the clocks of the project, as PostHog does: at night, when the interval before is whole. */
const AT_HOUR = { daily: 1, weekly: 3, monthly: 4 } as const;

/** What says when an alert looks. */
type Times = Pick<AlertItem, 'calculation_interval' | 'skip_weekend' | 'next_check_at'>;

/**
 * Returns when it looks next: whole hours after it was to look, however late it does, so that it looks at each; at one
 * o'clock of the next day, at three of the next Monday, or at four of the next month's first day, by the project's
 * clocks; `skip_weekend`: not on Saturday and Sunday.
 */
export function nextCheck(
  now: number,
  { calculation_interval, skip_weekend, next_check_at }: Times,
  timezone: string,
): number {
  if (calculation_interval === 'hourly') {
    const hours = Math.floor((now - next_check_at) / HOUR_MS) + 1;
    return afterWeekend(next_check_at + hours * HOUR_MS, skip_weekend, timezone);
  }
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timezone).toPlainDate();
  const day = {
    daily: () => today.add({ days: 1 }),
    weekly: () => today.add({ days: 8 - today.dayOfWeek }),
    monthly: () => today.with({ day: 1 }).add({ months: 1 }),
  }[calculation_interval]();
  const at = day.toZonedDateTime({ timeZone: timezone, plainTime: { hour: AT_HOUR[calculation_interval] } });
  return afterWeekend(at.epochMilliseconds, skip_weekend, timezone);
}

/** Returns when an alert is to look, which it does not while it is snoozed; null: it is disabled. */
export const dueOf = (
  { enabled, next_check_at, snoozed_until, skip_weekend }: AlertItem,
  timezone: string,
): number | null =>
  enabled ? afterWeekend(Math.max(next_check_at, snoozed_until ?? 0), skip_weekend, timezone) : null;

const SATURDAY = 6;

/** Returns the instant itself, or, where it is on a weekend that is skipped, the same time of the next Monday. */
function afterWeekend(instant: number, isSkipped: boolean, timezone: string): number {
  const at = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timezone);
  if (!isSkipped || at.dayOfWeek < SATURDAY) return instant;
  return at.add({ days: 8 - at.dayOfWeek }).epochMilliseconds;
}

const RELATIVE = /^-?(\d{1,4})([hdwm])$/;
const UNITS = { h: 'hours', d: 'days', w: 'weeks', m: 'months' } as const;

/** Returns until when an alert is to be quiet: a span from now, or a time to come. Throws a 400 for what is neither. */
export function snoozeEnd(text: string, now: number, timezone: string): number {
  const until = spanEnd(text, now, timezone) ?? datetime().safeParse(text).data;
  if (until !== undefined && until > now) return until;
  return invalid('snoozed_until', 'Use a span such as 2h, 1d, 1w or 1m, or a time to come: 2026-01-31T10:00:00Z.');
}

function spanEnd(text: string, now: number, timezone: string): number | undefined {
  const [, count = '', unit = ''] = RELATIVE.exec(text) ?? [];
  if (unit === '') return undefined;
  const at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timezone);
  return at.add({ [UNITS[unit as keyof typeof UNITS]]: Number(count) }).epochMilliseconds;
}
