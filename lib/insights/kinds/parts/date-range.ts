/**
 * The time that an insight is about, as its project's clocks tell it: `dateRange`, the buckets that an interval cuts it
 * into, and the period that it is compared with.
 */
import { Temporal } from 'temporal-polyfill';
import * as z from 'zod';
import { HOUR_MS, MINUTE_MS } from '../../../basics/units.ts';
import type { Syntax } from '../../../hogql/syntax.ts';
import { all, call, constant, field } from '../../../hogql/write.ts';
import { invalid } from '../../../ports/errors.ts';
import type { Answer, World } from '../kind.ts';
import { readDate, type ToldDate, type Unit } from './told-date.ts';

/** By what an insight cuts its time, from the shortest. */
export const INTERVALS = ['minute', 'hour', 'day', 'week', 'month'] as const;
export type IntervalUnit = (typeof INTERVALS)[number];

/** What time it is, where, and what begins a week there. */
export type Calendar = Pick<World, 'now' | 'timezone' | 'weekStartDay'>;

/** Some time, in milliseconds since 1970: `to` is its last millisecond. It is empty where `to` is before `from`. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** A range that may have no beginning. */
export type EndingRange = Pick<TimeRange, 'to'> & Partial<TimeRange>;

/** A piece of a range. Those of a range are in order, and each of its instants is in one. */
export interface Bucket {
  /** Its first instant, which may lie before the range. */
  readonly start: number;
  /** The first instant behind it, which is the start of the next. */
  readonly end: number;
  /** Its name in `days`: local time, without the zone. */
  readonly day: string;
  /** Its name in `labels`. */
  readonly label: string;
}

/** A range of more buckets than this is refused: each is a number of each result. */
const MAX_BUCKETS = 20_000;

/** `all` does not reach before this. */
const FIRST_INSTANT = Date.UTC(1980, 0, 1);

const FORMS =
  'Use a date such as 2026-01-31, a time such as 2026-01-31T10:00, or one that is counted back from now, such as -7d ' +
  '(s, M, h, d, w, m, q or y: seconds, minutes, hours, days, weeks, months, quarters or years), dStart or -1mEnd';

const told = (more: readonly string[] = []) =>
  z
    .string()
    .trim()
    .refine((text) => text === '' || more.includes(text) || readDate(text) !== undefined, {
      error: `${FORMS}${more.map((word) => `, or ${word}`).join('')}.`,
    })
    .nullish();

/** `dateRange` of a query. */
export const DateRange = z.object({
  date_from: told(['all']).describe('By default `-7d`.'),
  date_to: told().describe('By default now.'),
  explicitDate: z.boolean().nullish().describe('The ends are taken as they are told, not to the end of their day.'),
});
export type DateRange = z.output<typeof DateRange>;

/** `compareFilter` of a query. */
export const CompareFilter = z.object({
  compare: z.boolean().nullish(),
  compare_to: z
    .string()
    .trim()
    .regex(/^-?\d{1,4}[hdwmqy]$/, 'Use how far back the other period lies, such as -1w, -1m or -1y.')
    .nullish(),
});
export type CompareFilter = z.output<typeof CompareFilter>;

/** Returns whether the range begins with the first event. */
export const isOfAllTime = (sent: DateRange | null | undefined): boolean => sent?.date_from === 'all';

/** Returns the time of the first event that fits, for a range of all time; undefined: there is none. */
export async function firstEvent(world: World, condition: Syntax): Promise<number | undefined> {
  const hogql = 'SELECT min(timestamp) AS first FROM events WHERE timestamp >= {start} AND {condition}';
  const values = { start: instantConstant(FIRST_INSTANT), condition };
  const { rows } = await world.rows({ hogql, values, from: FIRST_INSTANT });
  const first = rows[0]?.[0];
  return typeof first === 'number' ? Math.floor(first) : undefined;
}

const zoned = (instant: number, { timezone }: Pick<Calendar, 'timezone'>): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(Math.floor(instant)).toZonedDateTimeISO(timezone);

type Start = (at: Temporal.ZonedDateTime, calendar: Calendar) => Temporal.ZonedDateTime;

const clockStart =
  (smallestUnit: 'second' | 'minute' | 'hour'): Start =>
  (at) =>
    at.round({ smallestUnit, roundingMode: 'floor' });

/** The first instant of the piece of time, as the clocks tell it, in which an instant lies. */
const STARTS: Readonly<Record<Unit, Start>> = {
  second: clockStart('second'),
  minute: clockStart('minute'),
  hour: clockStart('hour'),
  day: (at) => at.startOfDay(),
  week: (at, { weekStartDay }) => at.subtract({ days: (at.dayOfWeek + 7 - weekStartDay) % 7 }).startOfDay(),
  month: (at) => at.with({ day: 1 }).startOfDay(),
  quarter: (at) => at.with({ month: at.month - ((at.month - 1) % 3), day: 1 }).startOfDay(),
  year: (at) => at.with({ month: 1, day: 1 }).startOfDay(),
};

const startOf = (unit: Unit, at: Temporal.ZonedDateTime, calendar: Calendar): Temporal.ZonedDateTime =>
  STARTS[unit](at, calendar);

const durationOf = (unit: Unit, count: number): Temporal.DurationLike =>
  unit === 'quarter' ? { months: 3 * count } : { [`${unit}s`]: count };

const lastOf = (unit: Unit, at: Temporal.ZonedDateTime, calendar: Calendar): Temporal.ZonedDateTime =>
  startOf(unit, startOf(unit, at, calendar).add(durationOf(unit, 1)), calendar).subtract({ milliseconds: 1 });

function zonedOf(date: ToldDate, calendar: Calendar, attr: string): Temporal.ZonedDateTime {
  if ('local' in date) {
    if (date.offsetMs !== undefined) return zoned(date.local - date.offsetMs, calendar);
    return zoned(date.local, { timezone: 'UTC' }).toPlainDateTime().toZonedDateTime(calendar.timezone);
  }
  const { count, unit, position } = date;
  const at = zoned(calendar.now, calendar).subtract(durationOf(unit, count));
  if (at.year < 1) invalid(attr, 'This is further back than the year 1.');
  if (position === undefined) return at;
  return position === 'Start' ? startOf(unit, at, calendar) : lastOf(unit, at, calendar);
}

/**
 * Returns the instant that a date of `DateRange` means, to the millisecond. Throws `Failure` (400) about `attr` for what
 * is no date, and for what lies before all calendars.
 */
export const instantOf = (text: string, calendar: Calendar, attr: string): number =>
  zonedOf(readDate(text.trim()) ?? invalid(attr, `${FORMS}.`), calendar, attr).epochMilliseconds;

/** Returns to what a beginning is cut: to its day, where neither it nor the interval is finer. */
function grainOf(date: ToldDate, interval: IntervalUnit): Unit | undefined {
  const isRelative = 'unit' in date;
  if (isRelative && date.position !== undefined) return undefined;
  if (interval === 'minute') return 'minute';
  if (isRelative && (date.unit === 'second' || date.unit === 'minute')) return 'minute';
  if (isRelative) return date.unit === 'hour' ? 'hour' : 'day';
  return interval === 'hour' ? 'hour' : 'day';
}

const DEFAULT_FROM: ToldDate = { count: 7, unit: 'day', position: undefined };

/**
 * Returns the range of a query. Its end reaches to the end of its day, or with intervals of hours and minutes to the end
 * of its hour or minute; a beginning that is counted back from now is cut to its day, or hour. `earliest` is what
 * `firstEvent` found for a range of all time. Throws `Failure` (400) for a beginning that no calendar has.
 */
export function rangeOf(
  sent: DateRange | null | undefined,
  interval: IntervalUnit,
  calendar: Calendar,
  earliest?: number,
): TimeRange {
  return {
    from: beginningOf(sent, interval, calendar, earliest).epochMilliseconds,
    to: endOf(sent, interval, calendar).epochMilliseconds,
  };
}

/** Returns the range of a query, as `rangeOf`; one of all time begins with the event whose time `first` finds out. */
export const rangeAsked = async (
  sent: DateRange | null | undefined,
  interval: IntervalUnit,
  calendar: Calendar,
  first: () => Promise<number | undefined>,
): Promise<TimeRange> => rangeOf(sent, interval, calendar, isOfAllTime(sent) ? await first() : undefined);

function beginningOf(
  sent: DateRange | null | undefined,
  interval: IntervalUnit,
  calendar: Calendar,
  earliest: number | undefined,
): Temporal.ZonedDateTime {
  if (isOfAllTime(sent) && earliest !== undefined) {
    const grain = interval === 'hour' || interval === 'minute' ? interval : 'day';
    return startOf(grain, zoned(Math.max(earliest, FIRST_INSTANT), calendar), calendar);
  }
  const date = readDate(sent?.date_from ?? '') ?? DEFAULT_FROM;
  const at = zonedOf(date, calendar, 'dateRange__date_from');
  const grain = sent?.explicitDate === true ? undefined : grainOf(date, interval);
  return grain === undefined ? at : startOf(grain, at, calendar);
}

function endOf(sent: DateRange | null | undefined, interval: IntervalUnit, calendar: Calendar): Temporal.ZonedDateTime {
  const date = readDate(sent?.date_to ?? '');
  const at = date === undefined ? zoned(calendar.now, calendar) : zonedOf(date, calendar, 'dateRange__date_to');
  if (sent?.explicitDate === true) return at;
  const isDay = date !== undefined && 'local' in date && date.isDay;
  return lastOf(!isDay && (interval === 'hour' || interval === 'minute') ? interval : 'day', at, calendar);
}

/**
 * Returns the period that a range is compared with: `compare_to` before it, or the same span just before. But of minutes,
 * and of ends that are told exactly, whole days lie between the two, so that times of the day are compared with the same:
 * today by hour with these hours of yesterday; and the eight days of `-7d` with those a week before.
 */
export function previousOf(
  range: TimeRange,
  sent: DateRange | null | undefined,
  interval: IntervalUnit,
  calendar: Calendar,
  compareTo?: string | null,
): TimeRange {
  const [from, to] = [zoned(range.from, calendar).toPlainDateTime(), zoned(range.to, calendar).toPlainDateTime()];
  const span = from.until(to, { largestUnit: 'day' });
  const isExact = interval === 'minute' || sent?.explicitDate === true;
  const spanFrom = (start: Temporal.PlainDateTime): TimeRange => {
    const begin = start.toZonedDateTime(calendar.timezone).epochMilliseconds;
    const end = start.add(span);
    // Between ends where clocks are moved the clock shows less than has passed, or more.
    const isMoved = isExact && span.days === 0 && [from, to, start, end].some((time) => isMovedAt(time, calendar));
    if (span.sign < 0 || isMoved) return { from: begin, to: begin + (range.to - range.from) };
    return { from: begin, to: end.toZonedDateTime(calendar.timezone).epochMilliseconds };
  };
  const back = readDate(compareTo ?? '');
  if (back !== undefined && 'unit' in back) return spanFrom(from.subtract(durationOf(back.unit, back.count)));

  if (isExact || span.sign < 0) return { from: range.from - (range.to + 1 - range.from), to: range.from - 1 };
  // One more than the whole days of the span, so that the period before ends where this one begins, or earlier.
  const days = span.days + 1;
  return spanFrom(from.subtract({ days: isOfWeeks(sent, interval) ? days - 1 : days }));
}

/** Some time that numbers are told of: what is asked for, or what it is compared with. */
export interface AskedPeriod {
  readonly range: TimeRange;
  /** Undefined where nothing is compared. */
  readonly label: 'current' | 'previous' | undefined;
}

interface Compared {
  readonly dateRange?: DateRange | null | undefined;
  readonly compareFilter?: CompareFilter | null | undefined;
}

/** Returns the range of a query, as `rangeAsked`, and behind it the one that it is compared with, if it is. */
export async function periodsAsked(
  { dateRange, compareFilter }: Compared,
  interval: IntervalUnit,
  calendar: Calendar,
  first: () => Promise<number | undefined>,
): Promise<readonly AskedPeriod[]> {
  const range = await rangeAsked(dateRange, interval, calendar, first);
  if (compareFilter?.compare !== true) return [{ range, label: undefined }];
  const previous = previousOf(range, dateRange, interval, calendar, compareFilter.compare_to);
  return [
    { range, label: 'current' },
    { range: previous, label: 'previous' },
  ];
}

/** Returns whether the clock shows a time twice, or never. */
function isMovedAt(at: Temporal.PlainDateTime, { timezone }: Calendar): boolean {
  const [earlier, later] = (['earlier', 'later'] as const).map((disambiguation) =>
    at.toZonedDateTime(timezone, { disambiguation }),
  );
  return earlier?.epochMilliseconds !== later?.epochMilliseconds;
}

/** Returns whether a range of days is some weeks and today: `-7d`, `-14d`, `-1w`, and what is by default. */
function isOfWeeks(sent: DateRange | null | undefined, interval: IntervalUnit): boolean {
  const date = readDate(sent?.date_from ?? '') ?? DEFAULT_FROM;
  if (interval !== 'day' || isOfAllTime(sent) || readDate(sent?.date_to ?? '') !== undefined) return false;
  if (!('unit' in date) || date.position !== undefined || date.count === 0) return false;
  return date.unit === 'week' || (date.unit === 'day' && date.count % 7 === 0);
}

/** Returns the first instant of the interval in which an instant lies. */
export const startOfInterval = (instant: number, interval: IntervalUnit, calendar: Calendar): number =>
  startOf(interval, zoned(instant, calendar), calendar).epochMilliseconds;

/** Returns the start of the interval that lies `count` after, or where it is negative before, the one that begins there. */
export function addIntervals(start: number, count: number, interval: IntervalUnit, calendar: Calendar): number {
  const moved = zoned(start, calendar).add(durationOf(interval, count));
  return startOf(interval, moved, calendar).epochMilliseconds;
}

/**
 * Returns the pieces that an interval cuts a range into, those without an event too. The first and the last may reach
 * beyond the range; days have the hours that the clocks give them, and an hour that is told twice is two pieces of one
 * name. Throws `Failure` (400) when they are more than 20,000.
 */
export function bucketsOf(range: TimeRange, interval: IntervalUnit, calendar: Calendar): Bucket[] {
  const starts = startsOf(range, interval, calendar);
  return starts.slice(0, -1).map((start, n) => {
    const end = starts[n + 1] as number;
    const at = zoned(start, calendar).toPlainDateTime();
    return { start, end, day: dayOf(at, interval), label: LABELS[interval](at, range, calendar) };
  });
}

/** Returns the starts of the intervals of a range in order, and the end of the last. */
function startsOf(range: TimeRange, interval: IntervalUnit, calendar: Calendar): number[] {
  if (range.to < range.from) return [];
  const [first, last] = [zoned(range.from, calendar), zoned(range.to, calendar)];
  const starts: number[] = [];
  const add = (start: number): void => {
    // Where clocks are moved, a day may not happen, and two hours may begin together.
    if (starts.length === 0 || start > (starts.at(-1) as number)) starts.push(start);
    if (starts.length > MAX_BUCKETS + 1) {
      const piece = interval === 'hour' ? 'an hour' : `a ${interval}`;
      const detail = `The range has more than ${MAX_BUCKETS} intervals of ${piece}. Choose a longer interval, or a shorter range.`;
      invalid('interval', detail);
    }
  };
  if (interval !== 'hour' && interval !== 'minute') {
    const begin = startOf(interval, first, calendar).toPlainDate();
    for (let n = 0; starts.length === 0 || (starts.at(-1) as number) <= range.to; n++) {
      add(begin.add(durationOf(interval, n)).toZonedDateTime(calendar.timezone).epochMilliseconds);
    }
    return starts;
  }
  const [begin, lengthMs] = [startOf(interval, first, calendar).epochMilliseconds, LENGTHS_MS[interval]];
  for (let day = first.startOfDay(); day.epochMilliseconds <= last.epochMilliseconds; ) {
    const next = day.add({ days: 1 }).startOfDay();
    const isRegular = day.offsetNanoseconds === next.offsetNanoseconds;
    const until = Math.min(next.epochMilliseconds, range.to + 1);
    const stepMs = isRegular ? lengthMs : Math.min(lengthMs, CLOCK_STEP_MS);
    for (let at = Math.max(day.epochMilliseconds, begin); at < until; at += stepMs) {
      add(isRegular ? at : startOf(interval, zoned(at, calendar), calendar).epochMilliseconds);
    }
    day = next;
  }
  const count = starts.length;
  for (let n = 1; starts.length === count; n++) add(addIntervals(starts.at(-1) as number, n, interval, calendar));
  return starts;
}

/** Clocks are moved by some of these. */
const CLOCK_STEP_MS = 15 * MINUTE_MS;
const LENGTHS_MS = { minute: MINUTE_MS, hour: HOUR_MS };

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

type LocalDate = Pick<Temporal.PlainDate, 'year' | 'month' | 'day'>;

const monthOf = ({ month }: LocalDate): string => MONTHS[month - 1] as string;
const dayAndMonth = (date: LocalDate): string => `${date.day}-${monthOf(date)}`;
const fullDate = (date: LocalDate): string => `${dayAndMonth(date)}-${date.year}`;
const isoDate = (at: Temporal.PlainDateTime): string => at.toPlainDate().toString();
const clockOf = (at: Temporal.PlainDateTime): string => at.toPlainTime().toString({ smallestUnit: 'minute' });

const dayOf = (at: Temporal.PlainDateTime, interval: IntervalUnit): string =>
  interval === 'hour' || interval === 'minute' ? `${isoDate(at)} ${clockOf(at)}:00` : isoDate(at);

const clockLabel = (at: Temporal.PlainDateTime): string => `${dayAndMonth(at)} ${clockOf(at)}`;

const LABELS: Readonly<
  Record<IntervalUnit, (at: Temporal.PlainDateTime, range: TimeRange, calendar: Calendar) => string>
> = {
  minute: clockLabel,
  hour: clockLabel,
  day: fullDate,
  week: (at, range, calendar) => weekLabel(at.toPlainDate(), range, calendar),
  month: (at) => `${monthOf(at)} ${at.year}`,
};

/** The days of a week that lie in the range. */
function weekLabel(week: Temporal.PlainDate, range: TimeRange, calendar: Calendar): string {
  const [from, to] = [zoned(range.from, calendar).toPlainDate(), zoned(range.to, calendar).toPlainDate()];
  const [first, last] = [week, week.add({ days: 6 })];
  const start = Temporal.PlainDate.compare(first, from) < 0 ? from : first;
  const end = Temporal.PlainDate.compare(last, to) > 0 ? to : last;
  if (start.equals(end)) return fullDate(start);
  if (start.year !== end.year) return `${fullDate(start)} – ${fullDate(end)}`;
  if (start.month !== end.month) return `${dayAndMonth(start)} – ${dayAndMonth(end)}`;
  return `${start.day}–${end.day} ${monthOf(end)}`;
}

/** Returns the condition of the events of a range, or of those up to its end. */
export const inRange = ({ from, to }: EndingRange, at = field('timestamp')): Syntax =>
  all([
    ...(from === undefined ? [] : [call('greaterOrEquals', at, instantConstant(from))]),
    call('less', at, instantConstant(to + 1)),
  ]);

/** Returns the syntax of an instant, in milliseconds since 1970. */
export const instantConstant = (instant: number): Syntax => call('fromUnixTimestamp64Milli', constant(instant));

/** Returns an instant as answers tell it: ISO 8601 with the offset of the project's zone, which of UTC is `Z`. */
export function wireInstantOf(instant: number, calendar: Calendar): string {
  const at = zoned(instant, calendar);
  const hasFraction = instant % 1000 !== 0;
  const text = at.toString({ timeZoneName: 'never', fractionalSecondDigits: hasFraction ? 3 : 0 });
  return text.replace(/[+-]00:00$/, 'Z');
}

/** Returns `resolved_date_range` of an answer. */
export const resolvedDateRange = (
  range: TimeRange,
  calendar: Calendar,
): NonNullable<Answer['resolved_date_range']> => ({
  date_from: wireInstantOf(range.from, calendar),
  date_to: wireInstantOf(range.to, calendar),
});

/**
 * Returns the bucket that a caller means by one of `days`, or by its instant. Throws `Failure` (400) when there is none.
 */
export function bucketOfDay(buckets: readonly Bucket[], day: string | number, calendar: Calendar): Bucket {
  const found = buckets.find((bucket) => bucket.day === day || wireInstantOf(bucket.start, calendar) === day);
  return found ?? invalid('source__day', 'The day is none of the answer.');
}
