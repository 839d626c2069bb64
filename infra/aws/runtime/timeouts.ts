import { MINUTE_MS, SECOND_MS } from '../../../lib/basics/units.ts';

/** A function that walks through what there is has 15 minutes: what it begins last has five. */
export const WALK_MS = 10 * MINUTE_MS;

/** To connect takes a few milliseconds. */
const CONNECT_TIMEOUT_MS = SECOND_MS;

/**
 * Returns what tells a client of AWS how long each attempt may wait for an answer. A connection that died while the function
 * was frozen is silent: who waits for it without this does so until the function ends.
 */
export const answersWithin = (ms: number) => ({
  connectionTimeout: CONNECT_TIMEOUT_MS,
  requestTimeout: ms,
  throwOnRequestTimeout: true,
});
