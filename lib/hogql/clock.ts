/**
 * The clock that a query reads times by: the zone of its author, and the day that begins their weeks. A check is one
 * synchronous piece of work, and all that is built in it goes by the clock that it was begun with.
 */
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
