import type { Context } from '../ports/context.ts';
import { invalid } from '../ports/errors.ts';
import { READING_MS, type Reading, type ReadRows } from '../warehouse/reader.ts';

/** What reads for one answer. `Row` is what the reading's SQL makes of the lake's rows, which nothing but tests can hold it to. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- whoever writes the SQL says what its rows are
export type Look = <Row>(reading: Reading) => Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }>;

/**
 * Returns what reads the lake for one answer, in the turn of an organization and of who asks, for so long as somebody waits for it.
 * Throws a 400 where that is not offered.
 */
export function lookFor(
  { reader, callerLeft, callerUser: user }: Pick<Context, 'reader' | 'callerLeft' | 'callerUser'>,
  organization: string,
): Look {
  if (reader === null) return notOffered();
  const timeout = AbortSignal.timeout(READING_MS);
  const signal = callerLeft === undefined ? timeout : AbortSignal.any([callerLeft, timeout]);
  return (reading) => reader.read(reading, { organization, user, signal }) as Promise<ReadRows & { rows: never[] }>;
}

/** Throws the 400 of a place without the ports of reading. */
const notOffered = (): never =>
  invalid(null, 'Reading events, persons and their names is not offered here. Export them instead.');
