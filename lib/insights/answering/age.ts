/** How old PostHog lets an answer become. Here it is told, and decides nothing: an answer is given as long as it is true. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../basics/units.ts';
import type { SentQuery } from '../kinds/source.ts';

const AGES: ReadonlyMap<unknown, number> = new Map([
  ['minute', 5 * MINUTE_MS],
  ['hour', HOUR_MS],
  ['day', 6 * HOUR_MS],
  ['week', DAY_MS],
  ['month', 2 * DAY_MS],
]);

/** Returns PostHog's age of an answer, in milliseconds, by the interval of its query. */
export const answerAge = (query: SentQuery): number => AGES.get(query['interval']) ?? 6 * HOUR_MS;
