/** The data intervals of an export: pure arithmetic on UTC instants in milliseconds. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../ports/units.ts';

export const INTERVALS = ['hour', 'day', 'week', 'every 5 minutes', 'every 15 minutes'] as const;
export type Interval = (typeof INTERVALS)[number];

/** One data interval of one export: [start, end) of arrival, in milliseconds since 1970. */
export interface Slot {
  readonly start: number;
  readonly end: number;
}

/** Arrivals in [from, to), in milliseconds since 1970. */
export interface ArrivalRange {
  readonly from: number;
  readonly to: number;
}

/** A row of slots in order, of which none is made before it is asked for: 200,000 cost as much as one. */
export interface Slots {
  readonly count: number;
  /** The n-th slot, from 0. Outside of 0 to count - 1: a RangeError. */
  at(n: number): Slot;
}

/** How long an interval is, in milliseconds. UTC has no daylight saving, so every one has one length. */
export const LENGTH: Readonly<Record<Interval, number>> = {
  'every 5 minutes': 5 * MINUTE_MS,
  'every 15 minutes': 15 * MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
};

/** Where a grid stands: days at UTC midnight, weeks from Sunday, and 1970 began on a Thursday. */
const ORIGIN: Readonly<Record<Interval, number>> = {
  'every 5 minutes': 0,
  'every 15 minutes': 0,
  hour: 0,
  day: 0,
  week: 3 * DAY_MS,
};

/** The last boundary of the interval's grid that is not after the instant. */
export function alignDown(instant: number, interval: Interval): number {
  const length = LENGTH[interval];
  const origin = ORIGIN[interval];
  return Math.floor((instant - origin) / length) * length + origin;
}

export function isOnGrid(instant: number, interval: Interval): boolean {
  return alignDown(instant, interval) === instant;
}

/** [from, to) cut at every boundary in it. The first slot and the last one are short where the ends are off the grid. */
export function slotsBetween(from: number, to: number, interval: Interval): Slots {
  const length = LENGTH[interval];
  const first = alignDown(from, interval);
  const count = Math.max(0, Math.ceil((to - first) / length));
  return {
    count: from < to ? count : 0,
    at(n) {
      const start = first + n * length;
      if (!Number.isInteger(n) || n < 0 || n >= this.count) throw new RangeError(`there is no slot ${n}`);
      return { start: Math.max(start, from), end: Math.min(start + length, to) };
    },
  };
}

/** Rows of slots one after the other, as one. */
export function chained(parts: readonly Slots[]): Slots {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    at(n) {
      let rest = n;
      for (const part of parts) {
        if (rest < part.count) return part.at(rest);
        rest -= part.count;
      }
      throw new RangeError(`there is no slot ${n}`);
    },
  };
}

/** At most `limit` slots, from the n-th on. */
export function slice(slots: Slots, n: number, limit: number): Slot[] {
  const length = Math.max(0, Math.min(limit, slots.count - n));
  return Array.from({ length }, (_, i) => slots.at(n + i));
}
