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

/**
 * The zones that times, and lists of times, were moved into: only what reads their clock shows it. That of a tuple names
 * those of its parts, `Asia/Tokyo,`: nothing where a part is in that of the query.
 */
const zones = new WeakMap<Expression, string>();

/** Returns the zone that a time was moved into; undefined: it is in that of the query. */
export const zoneOf = (time: Expression): string | undefined => zones.get(time);

/** Returns the time, a node of its own, in a zone; undefined: in that of the query. */
export function movedInto(zone: string | undefined, time: Expression): Expression {
  if (zone && /^(?:instant|tuple)/.test(time.type)) zones.set(time, zone);
  return time;
}

/** Returns a tuple of these parts, a node of its own, whose times are in their zones. */
export const movedTogether = (parts: readonly Expression[], tuple: Expression): Expression =>
  zoneAmong(parts) === undefined ? tuple : movedInto(parts.map((part) => zoneOf(part) ?? '').join(','), tuple);

/** Returns the part of a tuple at a place, from 1, a node of its own, in its zone. */
export const movedApart = (tuple: Expression, place: number, part: Expression): Expression =>
  movedInto(zoneOf(tuple)?.split(',')[place - 1], part);

/** Returns the zone of the first of the times that was moved into one. */
export const zoneAmong = (times: readonly Expression[]): string | undefined =>
  times.map(zoneOf).find((zone) => zone !== undefined);

/** Returns what the work gives while queries go by the clock of the first of the times that was moved into a zone. */
export function withClockOf<T>(times: readonly Expression[], work: () => T): T {
  const zone = zoneAmong(times.filter(({ type }) => !type.startsWith('tuple')));
  return zone === undefined ? work() : withClock({ ...current, zone }, work);
}
