/** When a subscription is due: the days of a rule of recurrence (RFC 5545), at one time by the project's clocks. */
import { Temporal } from 'temporal-polyfill';
import { type Schedule, WEEKDAYS, type Weekday } from './model.ts';

const UNITS = { daily: 'days', weekly: 'weeks', monthly: 'months', yearly: 'years' } as const;

/** A rule that has had no time in so many periods has none: 29 February comes within 8 years, times an interval. */
const MAX_EMPTY_PERIODS = 1_000;

/**
 * Returns the first time of a rule after an instant; null: there is none. The clocks tell each time as they tell the
 * start; one that they skip in spring is as much later.
 */
export function nextTime(schedule: Schedule, after: number, timezone: string): number | null {
  const start = Temporal.Instant.fromEpochMilliseconds(schedule.start_date).toZonedDateTimeISO(timezone);
  const [first, time] = [start.toPlainDate(), start.toPlainTime()];
  // Counted ones are counted from the first; others are looked for from where they may be.
  let period = schedule.count === null ? periodsUntil(first, after, schedule, timezone) : 0;
  let counted = 0;
  for (let empty = 0; empty < MAX_EMPTY_PERIODS; period++, empty++) {
    const days = daysOf(first, period, schedule).filter((day) => Temporal.PlainDate.compare(day, first) >= 0);
    for (const day of days) {
      empty = 0;
      counted += 1;
      const clocks = day.toZonedDateTime({ timeZone: timezone, plainTime: time }).epochMilliseconds;
      // Clocks that are put back show the time of the start twice, and may mean the later one.
      const instant = Math.max(clocks, schedule.start_date);
      if (schedule.until_date !== null && instant > schedule.until_date) return null;
      if (schedule.count !== null && counted > schedule.count) return null;
      if (instant > after) return instant;
    }
  }
  return null;
}

/** Returns a number of periods that all lie before an instant. */
function periodsUntil(
  first: Temporal.PlainDate,
  after: number,
  { frequency, interval }: Schedule,
  timezone: string,
): number {
  const day = Temporal.Instant.fromEpochMilliseconds(after).toZonedDateTimeISO(timezone).toPlainDate();
  const passed = first.until(day, { largestUnit: UNITS[frequency] })[UNITS[frequency]];
  return Math.max(0, Math.floor(passed / interval) - 1);
}

/** Returns the days of a period, in order; the first period is that of the start. */
function daysOf(first: Temporal.PlainDate, period: number, schedule: Schedule): Temporal.PlainDate[] {
  const { frequency, interval, byweekday } = schedule;
  const count = period * interval;
  if (frequency === 'daily') return [first.add({ days: count })];
  if (frequency === 'weekly') {
    const monday = first.subtract({ days: first.dayOfWeek - 1 }).add({ weeks: count });
    const named = WEEKDAYS.flatMap((name, at) => (byweekday.includes(name) ? [at] : []));
    return (named.length === 0 ? [first.dayOfWeek - 1] : named).map((days) => monday.add({ days }));
  }
  const month = first.with({ day: 1 }).add(frequency === 'monthly' ? { months: count } : { years: count });
  if (frequency === 'yearly' || byweekday.length === 0) {
    return first.day <= month.daysInMonth ? [month.with({ day: first.day })] : [];
  }
  const days = Array.from({ length: month.daysInMonth }, (_, at) => month.with({ day: at + 1 })).filter(
    ({ dayOfWeek }) => byweekday.includes(WEEKDAYS[dayOfWeek - 1] as Weekday),
  );
  return chosen(days, schedule.bysetpos);
}

function chosen(days: Temporal.PlainDate[], position: number | null): Temporal.PlainDate[] {
  if (position === null) return days;
  const day = days.at(position < 0 ? position : position - 1);
  return day === undefined ? [] : [day];
}

const POSITIONS = new Map([
  [1, 'first'],
  [2, 'second'],
  [3, 'third'],
  [4, 'fourth'],
  [5, 'fifth'],
  [-1, 'last'],
]);

/** Returns a rule in words: `sent every 2 weeks on Monday and Friday`. */
export function scheduleText({ frequency, interval, byweekday, bysetpos }: Schedule): string {
  const unit = UNITS[frequency];
  const every = interval === 1 ? `every ${unit.slice(0, -1)}` : `every ${interval} ${unit}`;
  const days = WEEKDAYS.filter((day) => byweekday.includes(day)).map(
    (day) => `${day[0]?.toUpperCase()}${day.slice(1)}`,
  );
  if (days.length === 0) return `sent ${every}`;
  const names = days.length === 7 ? 'day' : new Intl.ListFormat('en', { type: 'conjunction' }).format(days);
  const position = bysetpos === null ? '' : `the ${POSITIONS.get(bysetpos) ?? `${-bysetpos}. last`} `;
  return `sent ${every} on ${position}${names}`;
}
