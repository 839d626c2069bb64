/** Queries on a DuckDB that form bytes: what the warehouse of one machine and the converter on AWS have in common. */
import { randomUUID } from 'node:crypto';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance } from '@duckdb/node-api';
import bindings from '@duckdb/node-bindings';
import { type DatabaseLimits, identifier, literal, openDatabase, ownFolder } from '../duckdb/database.ts';
import { isOutOfMemory } from '../duckdb/failures.ts';
import { rowBytesIn, rowGroups, rowsPerGroup } from '../duckdb/parquet.ts';
import { inWords } from '../ports/disk-failures.ts';
import { Permanent } from '../ports/errors.ts';
import { collectBuffersRarely } from '../workers/buffers.ts';
import { copyLine } from './copy-text.ts';
import { jsonLine } from './json-lines.ts';
import { parquetColumns } from './parquet-columns.ts';
import type { FormedFile, LineForm, ParquetForm } from './warehouse.ts';

/** Lines are handed on in pieces of at least this many bytes. What is smaller is copied once more, to be joined. */
const PIECE = 64 * 1024;
/** Rows of a file that is made, in a row group: with fewer than DuckDB's own 122,880 it needs less memory and time, and has fewer bytes. */
const ROW_GROUP = 20_480;

/**
 * Of zstd's levels the lowest, as for gzip: beside DuckDB's own 3 a file takes a fifth less processor time, and has 8 %
 * fewer bytes (events of web pages) to 3 % more (the bench's).
 */
const ZSTD_LEVEL = 1;

/** A query, and the Parquet files that it reads. */
export interface Rows {
  readonly sql: string;
  readonly paths: readonly string[];
}

/** A database that is opened when it is first needed. */
interface LineDatabase {
  /** What `work` yields over a connection of its own. Ends with the signal's reason on abort, `Permanent` without memory. */
  during<T, R>(signal: AbortSignal, work: (connection: DuckDBConnection) => AsyncGenerator<T, R>): AsyncGenerator<T, R>;
  /** The rows that a query answers, as Parquet files in the temporary directory: each until the next one is asked for. */
  files(connection: DuckDBConnection, rows: Rows, form: ParquetForm): AsyncGenerator<FormedFile>;
  /** All rows that a query answers. */
  rows(sql: string, signal: AbortSignal): Promise<unknown[][]>;
  /** The one number that a query answers. */
  number(sql: string, signal: AbortSignal): Promise<number>;
  /** Gives back memory and disk; it may be used again. */
  close(): Promise<void>;
}

export function lineDatabase(given: DatabaseLimits): LineDatabase {
  collectBuffersRarely();
  const folder = given.tempDirectory ?? ownFolder();
  const limits = { ...given, tempDirectory: folder };
  let database: Promise<DuckDBInstance> | undefined;

  async function* during<T, R>(
    signal: AbortSignal,
    work: (connection: DuckDBConnection) => AsyncGenerator<T, R>,
  ): AsyncGenerator<T, R> {
    signal.throwIfAborted();
    const connection = await (await (database ??= openDatabase(limits))).connect();
    const interrupt = (): void => connection.interrupt();
    signal.addEventListener('abort', interrupt);
    try {
      return yield* work(connection);
    } catch (error) {
      throw signal.aborted ? signal.reason : explained(error);
    } finally {
      signal.removeEventListener('abort', interrupt);
      connection.closeSync();
    }
  }

  const rows = async (sql: string, signal: AbortSignal): Promise<unknown[][]> => {
    const answers = during(signal, async function* (connection) {
      yield (await connection.runAndReadAll(sql)).getRows();
    });
    const { value } = await answers.next();
    await answers.return(undefined);
    return value ?? [];
  };

  return {
    during,
    files: (connection, rows, form) => parquetOf(connection, rows, form, folder),
    rows,
    number: async (sql, signal) => Number((await rows(sql, signal))[0]?.[0]),
    close: async () => {
      (await database)?.closeSync();
      database = undefined;
      if (given.tempDirectory === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The rows that a query answers, as lines in pieces of whole ones. */
export async function* linesOf(
  connection: DuckDBConnection,
  { sql }: Rows,
  form: LineForm,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const pieces = new Pieces();
  for await (const chunk of await lineStream(connection, sql, form)) {
    signal.throwIfAborted();
    for (const run of runsOf(chunk, 0, chunk.rowCount)) {
      pieces.add(run);
      if (pieces.isEnough) yield pieces.take();
    }
  }
  if (pieces.bytes > 0) yield pieces.take();
}

const lineStream = (connection: DuckDBConnection, sql: string, { format, columns }: LineForm) =>
  connection.stream(`SELECT ${format === 'JSONLines' ? jsonLine(columns) : copyLine(columns)} AS line FROM (${sql})`);

/**
 * The rows that queries answer, one after another, as lines: the pieces of so many lines each as `counts` say. Ends
 * early when there are `most` bytes, and before a count whose lines are more than that by themselves.
 */
export async function* countedLines(
  connection: DuckDBConnection,
  queries: readonly string[],
  form: LineForm,
  counts: readonly number[],
  most: number,
): AsyncGenerator<Buffer[]> {
  const pieces = new Pieces();
  let [n, left, sum, bytes] = [0, counts[0] ?? 0, 0, 0];
  let lines: Buffer[] = [];
  /** Hands over the lines of a count that has all of them, and those of the counts of none behind it. */
  function* complete(): Generator<Buffer[]> {
    while (left === 0 && n < counts.length) {
      if (pieces.bytes > 0) lines.push(pieces.take());
      yield lines;
      [n, sum, bytes, lines] = [n + 1, sum + bytes, 0, []];
      left = counts[n] ?? 0;
    }
  }
  yield* complete();
  if (n === counts.length) return;
  for (const sql of queries) {
    for await (const chunk of await lineStream(connection, sql, form)) {
      for (let row = 0; row < chunk.rowCount; ) {
        const taken = Math.min(left, chunk.rowCount - row);
        for (const run of runsOf(chunk, row, row + taken)) {
          bytes += run.length;
          pieces.add(run);
          if (pieces.isEnough) lines.push(pieces.take());
        }
        row += taken;
        left -= taken;
        if (bytes > most) return;
        yield* complete();
        if (n === counts.length || (bytes === 0 && sum >= most)) return;
      }
    }
  }
  throw new Error(`${n} of ${counts.length} intervals have all their rows`);
}

/**
 * All rows go into one file first: only then it is known how many bytes they take. A file that is too large is cut into
 * equal numbers of rows, so that the same rows always give the same files.
 */
async function* parquetOf(
  connection: DuckDBConnection,
  { sql, paths }: Rows,
  { columns, compression, fileBytes }: ParquetForm,
  folder: string,
): AsyncGenerator<FormedFile> {
  await mkdir(folder, { recursive: true });
  const pathOf = (name: string): string => join(folder, `${randomUUID()}.${name}.parquet`);
  const [file, part] = [pathOf('whole'), pathOf('part')];
  const rowGroup = rowsPerGroup(rowBytesIn(await rowGroups(connection, paths)), ROW_GROUP);
  const packing = `${compression ?? 'uncompressed'}${compression === 'zstd' ? `, COMPRESSION_LEVEL ${ZSTD_LEVEL}` : ''}`;
  const options = `FORMAT parquet, COMPRESSION ${packing}, ROW_GROUP_SIZE ${rowGroup}`;
  const copy = (select: string, to: string) => connection.run(`COPY (${select}) TO ${literal(to)} (${options})`);
  try {
    await copy(`SELECT ${parquetColumns(columns)} FROM (${sql})`, file);
    const files = Math.ceil((await stat(file)).size / fileBytes);
    if (files <= 1) {
      yield { path: file, isPart: false };
      return;
    }
    // By names of their own, for `file_row_number` may be one of the customer's.
    const plain = columns.map((_, n) => `c${n}`);
    const all = `read_parquet(${literal(file)}) AS whole(${plain.join(', ')})`;
    const named = columns.map(({ name }, n) => `${plain[n]} AS ${identifier(name)}`).join(', ');
    const count = Number((await connection.runAndReadAll(`SELECT count(*) FROM ${all}`)).getRows()[0]?.[0]);
    const most = Math.ceil(count / files);
    for (let from = 0; from < count; from += most) {
      const between = `file_row_number >= ${from} AND file_row_number < ${from + most}`;
      await copy(`SELECT ${named} FROM ${all} WHERE ${between}`, part);
      yield { path: part, isPart: true };
    }
  } finally {
    await Promise.all([file, part].map((one) => rm(one, { force: true })));
  }
}

/** Joins runs of bytes to pieces. */
class Pieces {
  bytes = 0;
  #waiting: Uint8Array[] = [];

  get isEnough(): boolean {
    return this.bytes >= PIECE;
  }

  add(run: Uint8Array): void {
    this.#waiting.push(run);
    this.bytes += run.length;
  }

  take(): Buffer {
    const [first] = this.#waiting;
    const piece =
      first !== undefined && this.#waiting.length === 1
        ? Buffer.from(first.buffer, first.byteOffset, first.length)
        : Buffer.concat(this.#waiting, this.bytes);
    this.#waiting = [];
    this.bytes = 0;
    return piece;
  }
}

/**
 * The bytes of rows [from, rows) of a chunk's one text column, without nulls, one value after another. A value is 16 bytes: its length, then
 * the text itself (up to 12 bytes) or, at 8, where it lies. DuckDB lays the values of a chunk behind one another, so
 * a run of them is copied at once; a string for each would take three times as long as all the rest.
 */
function* runsOf(chunk: DuckDBDataChunk, from: number, rows: number): Generator<Uint8Array> {
  const data = bindings.vector_get_data(bindings.data_chunk_get_vector(chunk.chunk, 0), rows * 16);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let row = from; row < rows; ) {
    const first = row * 16;
    let length = view.getUint32(first, true);
    row += 1;
    if (length <= 12) {
      yield data.subarray(first + 4, first + 4 + length);
      continue;
    }
    const begin = view.getBigUint64(first + 8, true);
    for (; row < rows; row += 1) {
      const more = view.getUint32(row * 16, true);
      if (more <= 12 || view.getBigUint64(row * 16 + 8, true) !== begin + BigInt(length)) break;
      length += more;
    }
    yield bindings.get_data_from_pointer(data.buffer as ArrayBuffer, data.byteOffset + first + 8, length);
  }
}

/** A database serves one delivery at a time where callers' queries run, so what takes too much memory always will. */
function explained(thrown: unknown): unknown {
  const error = inWords(thrown);
  if (!isOutOfMemory(error)) return error;
  return new Permanent(
    'Selecting its rows takes more memory than there is for one delivery. Make the query and the filters simpler, or ' +
      'the interval shorter.',
    { cause: error },
  );
}
