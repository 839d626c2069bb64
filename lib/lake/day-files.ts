/** Rows of a DuckDB as files of the lake: one for each day of arrival, sorted, with what its FILE item tells. */
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { dayOf } from '../basics/days.ts';
import { DAY_MS, MIB } from '../basics/units.ts';
import { literal, parquet } from '../duckdb/database.ts';
import { rowsPerGroup } from '../duckdb/parquet.ts';
import type { FileStore } from '../ports/files/files.ts';
import { toJsonText } from '../ports/table/json-text.ts';
import { type LakeFile } from './catalog.ts';
import { shortProperties, withHotColumns } from './hot-columns.ts';
import { digestOf, type FileDigest } from './intact.ts';
import type { WrittenFile } from './publish.ts';
import { LAKE_MODELS, type Model, ROW_GROUP } from './schema.ts';

/** Where files are made, and where in the lake they go then. */
interface DayFilesTarget {
  /** A folder of the local disk, that is made when it is needed. */
  readonly scratch: string;
  readonly folder: string;
  readonly lake: FileStore;
  /** Default: `<model>-<day>.parquet`. */
  readonly nameOf?: (model: Model, day: string) => string;
  /** The rows come in the order of the lake's files. Default: they are sorted. */
  readonly isSorted?: boolean;
  /** Properties that have columns beside the hot ones, where they are short. Default: none. */
  readonly learned?: readonly string[];
}

/** SQL of how many bytes a row's texts have on average; 0: there are no rows. */
export const meanBytes = (model: Model): string => {
  const texts = LAKE_MODELS[model].columns.filter(({ type }) => type === 'VARCHAR');
  return `coalesce(avg(${texts.map(({ name }) => `coalesce(strlen(${name}), 0)`).join(' + ')}), 0)::BIGINT`;
};

/**
 * A writer keeps room for a dictionary of each text column of each row group that it has in hand. With DuckDB's 1 MB, the
 * columns of events and properties take more than their rows: days of 140,000 events did not fit. Of 256 KB, files have
 * the same size.
 */
const DICTIONARY_BYTES = 256 * 1024;

/** How a file of the lake is written, whose rows have so many bytes on average. */
export const fileForm = (rowBytes: number, compression: 'zstd' | 'lz4' = 'zstd'): string =>
  `FORMAT parquet, COMPRESSION ${compression}, ROW_GROUP_SIZE ${rowsPerGroup(rowBytes, ROW_GROUP)},
    STRING_DICTIONARY_PAGE_SIZE_LIMIT ${DICTIONARY_BYTES}`;

/**
 * Rows are sorted in memory, and what sorts them hands on some 120,000 at a time, so what has more bytes of text than
 * these is sorted in pieces.
 */
const SORTED_BYTES = 48 * MIB;
/** So many rows tell where pieces begin. */
const SAMPLE = 2_000;

/** Writes rows, given as SQL that may stand behind FROM, that hold a model's columns. */
export async function writeDayFiles(
  connection: DuckDBConnection,
  model: Model,
  rows: string,
  target: DayFilesTarget,
): Promise<WrittenFile[]> {
  const { scratch, folder, lake, nameOf = (ofModel, day) => `${ofModel}-${day}.parquet`, isSorted = false } = target;
  const { columns, order } = LAKE_MODELS[model];
  const names = columns.map(({ name }) => name);
  const days = await contentByDay(connection, rows, model === 'events' ? 'timestamp_us' : 'inserted_us');
  const mean = await connection.runAndReadAll(`SELECT ${meanBytes(model)} FROM ${rows}`);
  const rowBytes = Number(mean.getRows()[0]?.[0]);
  const form = fileForm(rowBytes);
  const learned = model === 'events' ? await shortProperties(connection, rows, target.learned ?? []) : [];
  await mkdir(scratch, { recursive: true });
  const written: WrittenFile[] = [];
  for (const about of days) {
    const day = dayOf(about.min_arrival);
    const name = nameOf(model, day);
    const path = join(scratch, name);
    const from = Date.parse(day) * 1000;
    const ofDay = `SELECT ${names.join(', ')} FROM ${rows}
        WHERE inserted_us >= ${from} AND inserted_us < ${from + DAY_MS * 1000}`;
    const sorted = isSorted
      ? ofDay
      : await sortedRows(connection, ofDay, order, join(scratch, 'sorted'), about.rows, rowBytes);
    const content = model === 'events' ? withHotColumns(`(${sorted})`, names, learned) : sorted;
    await connection.run(`COPY (${content}) TO ${literal(path)} (${form})`);
    const { size: bytes } = await stat(path);
    const sha256 = await digestOf(path);
    await lake.take(path, `${folder}${name}`);
    written.push({ name, model, bytes, sha256, ...about });
  }
  await rm(scratch, { recursive: true, force: true });
  return written;
}

/**
 * Returns SQL of so many rows, each of so many bytes of text, in order. Many of them are sorted piece by piece into files
 * of this folder, which stay until the next rows are sorted.
 */
async function sortedRows(
  connection: DuckDBConnection,
  rows: string,
  order: readonly string[],
  folder: string,
  count: number,
  rowBytes: number,
): Promise<string> {
  const by = order.join(', ');
  const pieces = Math.ceil((count * rowBytes) / SORTED_BYTES);
  if (pieces <= 1) return `${rows} ORDER BY ${by}`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const sample = await connection.runAndReadAll(
    `SELECT * FROM (SELECT ${by} FROM (${rows}) USING SAMPLE reservoir(${SAMPLE} ROWS)) ORDER BY ${by}`,
  );
  const keys = sample.getRows();
  const starts = Array.from({ length: pieces - 1 }, (_, n) => keys[Math.floor(((n + 1) * keys.length) / pieces)] ?? []);
  const files: string[] = [];
  for (let n = 0; n < pieces; n += 1) {
    const [start, next] = [starts[n - 1], starts[n]];
    const isFrom = start === undefined ? 'true' : isNotBefore(order, start);
    const isBefore = next === undefined ? 'true' : `NOT ${isNotBefore(order, next)}`;
    const file = join(folder, `${n}.parquet`);
    await connection.run(`COPY (SELECT * FROM (${rows}) WHERE ${isFrom} AND ${isBefore} ORDER BY ${by})
        TO ${literal(file)} (${fileForm(rowBytes, 'lz4')})`);
    files.push(file);
  }
  return `SELECT * FROM ${parquet(files)}`;
}

/** SQL of whether a row does not come before the one with this key. */
function isNotBefore([column = '', ...columns]: readonly string[], [value, ...values]: readonly DuckDBValue[]): string {
  const bound = typeof value === 'string' ? literal(value) : String(value);
  if (columns.length === 0) return `${column} >= ${bound}`;
  return `(${column} > ${bound} OR (${column} = ${bound} AND ${isNotBefore(columns, values)}))`;
}

type Content = Omit<LakeFile, 'path' | keyof FileDigest>;

/** What each arrival day of the rows holds, in order. */
async function contentByDay(connection: DuckDBConnection, rows: string, timestamp: string): Promise<Content[]> {
  const answer = await connection.runAndReadAll(`
    SELECT inserted_us // 3600000000 AS hour, count(*), min(inserted_us), max(inserted_us), min(${timestamp}), max(${timestamp})
    FROM ${rows} GROUP BY hour ORDER BY hour`);
  const days = new Map<number, Omit<Content, 'hours'> & { readonly counts: number[] }>();
  for (const [hour = 0, count = 0, ...instants] of answer.getRows().map((values) => values.map(Number))) {
    const [minArrival = 0, maxArrival = 0, minTimestamp = 0, maxTimestamp = 0] = instants.map((us) =>
      Math.floor(us / 1000),
    );
    const day = Math.floor(hour / 24);
    const found = days.get(day);
    const counts = found?.counts ?? Array.from({ length: 24 }, () => 0);
    counts[hour % 24] = count;
    days.set(day, {
      rows: (found?.rows ?? 0) + count,
      min_arrival: found?.min_arrival ?? minArrival,
      max_arrival: maxArrival,
      min_timestamp: Math.min(found?.min_timestamp ?? minTimestamp, minTimestamp),
      max_timestamp: Math.max(found?.max_timestamp ?? maxTimestamp, maxTimestamp),
      counts,
    });
  }
  return [...days.values()].map(({ counts, ...about }) => ({ ...about, hours: toJsonText(counts) }));
}
