/** The data intervals of an export: pure arithmetic on UTC instants in milliseconds. */

export const INTERVALS = ['hour', 'day', 'week', 'every 5 minutes', 'every 15 minutes'] as const;
export type Interval = (typeof INTERVALS)[number];

/** One data interval of one export: [start, end) of arrival, in milliseconds since 1970. */
export interface Slot {
  readonly start: number;
  readonly end: number;
}
