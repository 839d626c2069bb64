/** The port to who reads rows of the lake for somebody who waits for them: a page of events, a person, names. */
import { SECOND_MS } from '../basics/units.ts';
import type { Waiter } from '../workers/turns.ts';
import type { PlannedFile } from './warehouse.ts';

/** A query over files of the lake. */
export interface Reading {
  readonly files: readonly Pick<PlannedFile, 'path' | 'bytes' | 'sha256'>[];
  /** SQL of the service's own over `LAKE_ROWS`; what a caller sent is only ever a parameter of it. */
  readonly sql: string;
  /** Values by their names: `$name` in the SQL. They come as text; the SQL casts them. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** What a reading finds: its first rows, and whether there are more than could be told. */
export interface ReadRows {
  /** By the names of the query's columns. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly isCut: boolean;
}

export interface Reader {
  /** Fails with 429 when too much waits already, and with 503 when it takes more time or memory than there is. */
  read(reading: Reading, waiter: Waiter & { readonly signal: AbortSignal }): Promise<ReadRows>;
}

/** An answer has at most 5 MB; a reading's rows, in JSON, have about as much: of more it says that they were cut. */
export const MOST_READ_BYTES = 4_500_000;

/** The name of the rows of a reading's files in its SQL. */
export const LAKE_ROWS = 'lake_rows';

/** Somebody waits so long for all readings of one answer: API Gateway gives up after 29 s. */
export const READING_MS = 25 * SECOND_MS;
