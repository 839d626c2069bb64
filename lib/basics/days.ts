/** Days and hours of instants, which are milliseconds, by UTC, as paths and keys have them. */

/** Returns the day of an instant: `2015-05-17`. */
export const dayOf = (instant: number): string => new Date(instant).toISOString().slice(0, 10);

/** Returns the hour of an instant: `2015-05-17T09`. */
export const hourOf = (instant: number): string => new Date(instant).toISOString().slice(0, 13);
