/**
 * The clock that a query reads times by: the zone of its author, and the day that begins their weeks. A check is one
 * synchronous piece of work, and all that is built in it goes by the clock that it was begun with, but for times that the
 * query has moved into another zone.
 */
import type { Expression } from './expression.ts';

export interface Clock {
  /** As IANA names it. */
  readonly zone: string;
  /** 0 is Sunday, 1 is Monday. */
  readonly weekStartDay: 0 | 1;
}

/** The clock of exports: what they deliver does not depend on settings that change. */
const UTC: Clock = { zone: 'UTC', weekStartDay: 0 };

let current = UTC;

/** Returns the clock of the query that is being checked. */
export const clockOfQuery = (): Clock => current;

/** Returns what the work gives while queries go by this clock. */
export function withClock<T>(clock: Clock, work: () => T): T {
  const before = current;
  current = clock;
  try {
    return work();
  } finally {
    current = before;
  }
}

/** The zones that times, and lists of times, were moved into: only what reads their clock shows it. */
const zones = new WeakMap<Expression, string>();

/** Returns the zone that a time was moved into; undefined: it is in that of the query. */
export const zoneOf = (time: Expression): string | undefined => zones.get(time);

/** Returns the time, a node of its own, in a zone; undefined: in that of the query. */
export function movedInto(zone: string | undefined, time: Expression): Expression {
  if (zone !== undefined && (time.type === 'instant' || time.type === 'instants')) zones.set(time, zone);
  return time;
}

/** Returns the zone of the first of the times that was moved into one. */
export const zoneAmong = (times: readonly Expression[]): string | undefined =>
  times.map(zoneOf).find((zone) => zone !== undefined);

/** Returns what the work gives while queries go by the clock of the first of the times that was moved into a zone. */
export function withClockOf<T>(times: readonly Expression[], work: () => T): T {
  const zone = zoneAmong(times);
  return zone === undefined ? work() : withClock({ ...current, zone }, work);
}
