import { SECOND_MS } from '../../../lib/basics/units.ts';

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
