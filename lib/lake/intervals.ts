/** The data intervals of an export: pure arithmetic on UTC instants in milliseconds. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../basics/units.ts';

export const FREQUENCIES = ['hour', 'day', 'week', 'every 5 minutes', 'every 15 minutes'] as const;
export type Frequency = (typeof FREQUENCIES)[number];

/** One data interval of one export: [start, end) of arrival, in milliseconds since 1970. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** Arrivals in [from, to), in milliseconds since 1970. */
export interface ArrivalRange {
  readonly from: number;
  readonly to: number;
}

/** Whole hours of arrival that have got rows. */
export interface ArrivalHours extends ArrivalRange {
  /** When the first of the rows arrived. Absent: it is not known. */
  readonly first?: number;
}

/** A row of intervals in order, of which none is made before it is asked for: 200,000 cost as much as one. */
export interface Intervals {
  readonly count: number;
  /** The n-th interval, from 0. Outside of 0 to count - 1: a RangeError. */
  at(n: number): Interval;
}

/** How long an interval is, in milliseconds. UTC has no daylight saving, so every one has one length. */
export const LENGTH: Readonly<Record<Frequency, number>> = {
  'every 5 minutes': 5 * MINUTE_MS,
  'every 15 minutes': 15 * MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
};

/** Where a grid stands: days at UTC midnight, weeks from Sunday, and 1970 began on a Thursday. */
const ORIGIN: Readonly<Record<Frequency, number>> = {
  'every 5 minutes': 0,
  'every 15 minutes': 0,
  hour: 0,
  day: 0,
  week: 3 * DAY_MS,
};

/** The last boundary of the interval's grid that is not after the instant. */
export function alignDown(instant: number, frequency: Frequency): number {
  const length = LENGTH[frequency];
  const origin = ORIGIN[frequency];
  return Math.floor((instant - origin) / length) * length + origin;
}

export function isOnGrid(instant: number, frequency: Frequency): boolean {
  return alignDown(instant, frequency) === instant;
}

/** [from, to) cut at every boundary in it. The first interval and the last one are short where the ends are off the grid. */
export function intervalsBetween(from: number, to: number, frequency: Frequency): Intervals {
  const length = LENGTH[frequency];
  const first = alignDown(from, frequency);
  const count = Math.max(0, Math.ceil((to - first) / length));
  return {
    count: from < to ? count : 0,
    at(n) {
      const start = first + n * length;
      if (!Number.isInteger(n) || n < 0 || n >= this.count) throw new RangeError(`there is no interval ${n}`);
      return { start: Math.max(start, from), end: Math.min(start + length, to) };
    },
  };
}

/** Rows of intervals one after the other, as one. */
export function chained(parts: readonly Intervals[]): Intervals {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    at(n) {
      let rest = n;
      for (const part of parts) {
        if (rest < part.count) return part.at(rest);
        rest -= part.count;
      }
      throw new RangeError(`there is no interval ${n}`);
    },
  };
}

/** At most `limit` intervals, from the n-th on. */
export function slice(intervals: Intervals, n: number, limit: number): Interval[] {
  const length = Math.max(0, Math.min(limit, intervals.count - n));
  return Array.from({ length }, (_, i) => intervals.at(n + i));
}

/** The intervals of one backfill: 2,084 batches of 96, whose history fits into an execution's 25,000 events. */
export const MAX_BACKFILL_INTERVALS = 200_000;

/**
 * The frequency by which a range has the most intervals. What its backfill may have, that of every other may, too, and of an
 * export whose frequency has changed: each edge that an interval ever had is one of its.
 */
const FINEST = 'every 5 minutes';

const isBackfill = ({ from, to }: ArrivalRange): boolean =>
  intervalsBetween(from, to, FINEST).count <= MAX_BACKFILL_INTERVALS;

/**
 * Returns the fewest ranges in which backfills of any export deliver these, which come in order: neighbours are one as long
 * as a backfill may have so many intervals, and what is longer is cut, where every frequency has an edge.
 */
export function backfillRanges(needed: readonly ArrivalRange[]): ArrivalRange[] {
  const backfills: ArrivalRange[] = [];
  for (const range of needed) {
    const last = backfills.at(-1) ?? { from: range.from, to: Number.NEGATIVE_INFINITY };
    const longer = { from: last.from, to: range.to };
    // Two backfills of one week would both deliver it, where that is an interval.
    const isNear = isBackfill(longer) || alignDown(range.from, 'week') < last.to;
    if (isNear) backfills.pop();
    backfills.push(...cut(isNear ? longer : range));
  }
  return backfills;
}

/** Returns a range in pieces that a backfill may have. */
function cut({ from, to }: ArrivalRange): ArrivalRange[] {
  if (isBackfill({ from, to })) return [{ from, to }];
  const edge = alignDown(alignDown(from, FINEST) + MAX_BACKFILL_INTERVALS * LENGTH[FINEST], 'week');
  return [{ from, to: edge }, ...cut({ from: edge, to })];
}
