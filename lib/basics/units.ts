/** Units of time in milliseconds, as clocks count. */
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A kibibyte, in bytes. */
export const KIB = 1024;

/** A mebibyte, in bytes. */
export const MIB = 1024 * KIB;

/** A gibibyte, in bytes. */
export const GIB = 1024 * MIB;
