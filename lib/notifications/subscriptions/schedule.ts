/** When a subscription is due: the days of a rule of recurrence (RFC 5545), at one time by the project's clocks. */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS } from '../../basics/units.ts';
import { type Schedule, WEEKDAYS } from './model.ts';
import { UNITS } from './schedule-text.ts';

/** A rule that has had no time in so many periods has none: 29 February comes within 8 years, times an interval. */
const MAX_EMPTY_PERIODS = 1_000;

/**
 * Returns the first time of a rule after an instant; null: there is none. The clocks tell each time as they tell the
 * start; one that they skip in spring is as much later.
 */
export function nextTime(schedule: Schedule, after: number, timezone: string): number | null {
  const start = Temporal.Instant.fromEpochMilliseconds(schedule.start_date).toZonedDateTimeISO(timezone);
  const [date, time] = [start.toPlainDate(), start.toPlainTime()];
  const first: Day = { year: date.year, month: date.month, day: date.day, number: numberOf(date) };
  const today = Temporal.Instant.fromEpochMilliseconds(after).toZonedDateTimeISO(timezone).toPlainDate();
  // What lies before is counted, but no clock tells its time after the instant, not even one that is put forward at midnight.
  const earliest = numberOf(today) - 1;
  // Counted ones are counted from the first; others are looked for from where they may be.
  let period = schedule.count === null ? periodsUntil(date, today, schedule) : 0;
  let counted = 0;
  for (let empty = 0; empty < MAX_EMPTY_PERIODS; period++, empty++) {
    for (const day of daysOf(first, period, schedule)) {
      if (day < first.number) continue;
      empty = 0;
      counted += 1;
      if (schedule.count !== null && counted > schedule.count) return null;
      if (day < earliest) continue;
      if (day > LAST_DAY) return null;
      const clocks = EPOCH.add({ days: day }).toZonedDateTime({
        timeZone: timezone,
        plainTime: time,
      }).epochMilliseconds;
      // Clocks that are put back show the time of the start twice, and may mean the later one.
      const instant = Math.max(clocks, schedule.start_date);
      if (schedule.until_date !== null && instant > schedule.until_date) return null;
      if (instant > after) return instant;
    }
  }
  return null;
}

/**
 * The day of the start. Days are numbers, counted since 1970: a rule of which ten thousand times are counted from the year 1
 * on is looked through in some milliseconds, which takes half a minute with objects.
 */
interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly number: number;
}

const EPOCH = Temporal.PlainDate.from('1970-01-01');
/** 31 December 9999: instants are told with four digits of their year. */
const LAST_DAY = numberOf(Temporal.PlainDate.from('9999-12-31'));

function numberOf(date: Temporal.PlainDate): number {
  return EPOCH.until(date).days;
}

/** Returns the number of the first day of a month, which is counted from the January of the year 0. */
const firstOfMonth = (month: number): number =>
  new Date(0).setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1) / DAY_MS;

/** Returns the weekday of a day by its number: 0 is Monday. 1 January 1970 was a Thursday. */
const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7;

/** Returns a number of periods that all lie before a day. */
function periodsUntil(
  first: Temporal.PlainDate,
  day: Temporal.PlainDate,
  { frequency, interval }: Pick<Schedule, 'frequency' | 'interval'>,
): number {
  const passed = first.until(day, { largestUnit: UNITS[frequency] })[UNITS[frequency]];
  return Math.max(0, Math.floor(passed / interval) - 1);
}

/** Returns the numbers of the days of a period, in order; the first period is that of the start. */
function daysOf(first: Day, period: number, { frequency, interval, byweekday, bysetpos }: Schedule): readonly number[] {
  const count = period * interval;
  if (frequency === 'daily') return [first.number + count];
  const named = WEEKDAYS.flatMap((name, at) => (byweekday.includes(name) ? [at] : []));
  if (frequency === 'weekly') {
    const monday = first.number - weekdayOf(first.number) + 7 * count;
    return (named.length === 0 ? [weekdayOf(first.number)] : named).map((days) => monday + days);
  }
  const month = first.year * 12 + first.month - 1 + (frequency === 'monthly' ? count : 12 * count);
  const from = firstOfMonth(month);
  const days = Array.from({ length: firstOfMonth(month + 1) - from }, (_, at) => from + at);
  if (frequency === 'yearly' || named.length === 0) return days.slice(first.day - 1, first.day);
  return chosen(
    days.filter((day) => named.includes(weekdayOf(day))),
    bysetpos,
  );
}

function chosen(days: readonly number[], position: number | null): readonly number[] {
  if (position === null) return days;
  const day = days.at(position < 0 ? position : position - 1);
  return day === undefined ? [] : [day];
}
