/** Ranges of dates, as the API and people say them. */
import { dayOf } from '../../basics/days.ts';
import { DAY_MS } from '../../basics/units.ts';
import { utcDate } from './local-time.ts';

/** Dates as filters of a dashboard say them; null: those that each insight has. */
export interface DateRange {
  readonly date_from: string | null;
  readonly date_to: string | null;
}

export const BOARD_RANGES = [
  { value: 'dStart', label: 'Today' },
  { value: '-7d', label: 'The last 7 days' },
  { value: '-14d', label: 'The last 14 days' },
  { value: '-30d', label: 'The last 30 days' },
  { value: '-90d', label: 'The last 90 days' },
  { value: '-180d', label: 'The last 180 days' },
  { value: 'yStart', label: 'This year' },
  { value: 'all', label: 'Ever' },
] as const;

const DAY = /^\d{4}-\d\d-\d\d$/;

const isDay = (day: string | null): day is string => day !== null && DAY.test(day) && !Number.isNaN(Date.parse(day));

/** Returns the days of a range as fields take them; empty where it does not name one. */
export const daysOf = ({ date_from: from, date_to: to }: DateRange) => ({
  from: isDay(from) ? from : '',
  to: isDay(to) ? to : '',
});

/**
 * Returns the day before a range, as queries take it; undefined: it has no beginning. It is the first day of one that
 * begins so many hours ago, or with the year.
 */
export function lastDayBefore({ date_from: from }: DateRange): string | undefined {
  if (from === null || from === 'all') return undefined;
  const [, days] = /^-(\d+)d$/.exec(from) ?? [];
  if (days !== undefined) return `-${Number(days) + 1}d`;
  return isDay(from) ? dayOf(Date.parse(from) - DAY_MS) : from;
}

/** Returns the day after a range; undefined: it lasts until now. */
export const firstDayAfter = ({ date_to: to }: DateRange): string | undefined =>
  isDay(to) ? dayOf(Date.parse(to) + DAY_MS) : undefined;

/** Returns a range as people say it; what is no day stays as it is. */
export function rangeText({ date_from: from, date_to: to }: DateRange): string {
  const known = BOARD_RANGES.find(({ value }) => value === from);
  if (known !== undefined && to === null) return known.label;
  const [first, last] = [from ?? 'the beginning', to ?? 'now'].map((day) => (isDay(day) ? utcDate(day) : day));
  return first === last ? String(first) : `${first} to ${last}`;
}
