/** Continuous integration gives every property all of its runs, anybody else a fifth; `PROPERTY_RUNS=10` ten times all. */
const SHARE = Number(process.env['PROPERTY_RUNS'] ?? (process.env['CI'] ? 1 : 0.2));

/**
 * How many runs a property gets of those that are enough for a merge; at least two. A property that also counts what it
 * has met, or must find a planted fault, has a number of its own instead.
 */
export const propertyRuns = (enough: number): number => Math.max(2, Math.round(enough * SHARE));
