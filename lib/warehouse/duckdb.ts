/**
 * The warehouse on one machine: DuckDB over the lake's files, as they lie there. Nothing is unloaded first, and no
 * result is held: rows stream from the files, through one text column, into the destination.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type DatabaseLimits, literal, parquet, parquetRows } from '../duckdb/database.ts';
import { rowGroups } from '../duckdb/parquet.ts';
import { duckdbColumn, duckdbText } from '../hogql/duckdb.ts';
import { readsNow } from '../hogql/facts.ts';
import { intactFiles } from '../lake/intact.ts';
import type { Interval } from '../lake/intervals.ts';
import { LAKE_MODELS } from '../lake/schema.ts';
import type { FileStore } from '../ports/files/files.ts';
import { countedLines, lineDatabase, linesOf, type Rows } from './line-database.ts';
import { newestRows } from './newest.ts';
import { packed, packedApart, packingOf } from './packing.ts';
import { computedColumns } from './query-columns.ts';
import { cutLongRows, type Stretch, stretches } from './row-order.ts';
import type { FrozenPlan, LineForm, PlannedFile, RowQuery, Warehouse } from './warehouse.ts';

interface DuckdbWarehouseOptions extends DatabaseLimits {
  readonly lake: FileStore;
}

/** A warehouse that also reads several intervals at once: what lies in one file is then read once for all of them. */
export interface BatchWarehouse extends Warehouse {
  /** How many rows each of the intervals delivers. They must be `together`. */
  counts(plan: FrozenPlan, intervals: readonly Interval[], signal: AbortSignal): Promise<number[]>;
  /**
   * The rows of the intervals, one after another, in their final form, with `INTERVAL_END` behind those of each. It ends
   * early when their lines have `most` bytes: then it gives fewer intervals.
   */
  readAll(wanted: AllWanted, signal: AbortSignal): AsyncGenerator<Buffer>;
}

export interface AllWanted {
  readonly plan: FrozenPlan;
  /** They must be `together`. */
  readonly intervals: readonly Interval[];
  readonly counts: readonly number[];
  readonly form: LineForm;
  readonly most: number;
}

/** Stands behind the bytes of an interval. */
const INTERVAL_END: Buffer = Buffer.alloc(0);

/** May these intervals be read at once: events whose query does not ask for the time, without gaps, of equal length? */
export function areTogether({ model, query }: FrozenPlan, intervals: readonly Interval[]): boolean {
  const [first] = intervals;
  if (model !== 'events' || first === undefined || readsNow(query)) return false;
  const length = first.end - first.start;
  return intervals.every(({ start, end }, n) => start === first.start + n * length && end - start === length);
}

/** From the start of the first to the end of the last one. */
const span = (intervals: readonly Interval[]): Interval => ({
  start: intervals[0]?.start ?? 0,
  end: intervals.at(-1)?.end ?? 0,
});

/**
 * A warehouse over the lake's files. Rows come in the order of their model; two reads of one plan give the same bytes.
 * Memory is bounded by the limit, whatever an interval holds. `Permanent` when it does not suffice, `Damaged` when a file
 * is not what was written.
 */
export function duckdbWarehouse(options: DuckdbWarehouseOptions): BatchWarehouse & { close(): Promise<void> } {
  const { lake } = options;
  const database = lineDatabase({ ...options, places: [lake.root] });
  const isIntact = intactFiles();

  /** Returns the interval's files. Throws `Damaged` when one of them is not what was written. */
  const opened = async (plan: FrozenPlan, interval: Interval, signal: AbortSignal): Promise<Files> => {
    const files = filesOf(plan, interval).map((file) => ({ ...file, local: lake.address(file.path) }));
    for (const file of files) await isIntact(file, signal);
    return files;
  };

  /** What `form` makes of the interval's rows, stretch after stretch; nothing when no file may hold any. */
  async function* formed<T>(
    plan: FrozenPlan,
    interval: Interval,
    signal: AbortSignal,
    cut: (connection: DuckDBConnection, files: Files) => Promise<Stretch[]>,
    form: (connection: DuckDBConnection, rows: Rows) => AsyncGenerator<T>,
  ): AsyncGenerator<T> {
    signal.throwIfAborted();
    const files = await opened(plan, interval, signal);
    if (files.length === 0) return;
    yield* database.during(signal, async function* (connection) {
      const isDelivered = await deliveredRows(connection, plan, interval, files);
      for (const part of await cut(connection, files))
        yield* form(connection, rowsOf(part, plan, interval, isDelivered));
    });
  }

  const lines = (plan: FrozenPlan, interval: Interval, form: LineForm, signal: AbortSignal): AsyncGenerator<Buffer> =>
    formed(
      plan,
      interval,
      signal,
      (connection, files) => inOrder(connection, files, interval),
      (connection, rows) => linesOf(connection, rows, form, signal),
    );

  return {
    read: (plan, interval, form, signal) => packed(lines(plan, interval, form, signal), packingOf(form)),
    files: (plan, interval, form, signal) =>
      formed(
        plan,
        interval,
        signal,
        async (_connection, files) => [atOnce(files, interval)],
        (connection, rows) => database.files(connection, rows, form),
      ),
    unload: () => Promise.resolve(null),
    count: async (plan, interval, signal) => {
      signal.throwIfAborted();
      const files = await opened(plan, interval, signal);
      if (files.length === 0) return 0;
      const where = conditions(microseconds(interval), plan.query, interval);
      const counted = plan.model === 'persons' ? 'DISTINCT distinct_id' : '*';
      return database.number(`SELECT count(${counted}) FROM ${parquet(pathsOf(files))} WHERE ${where}`, signal);
    },
    counts: async (plan, intervals, signal) => {
      const whole = span(intervals);
      const found = intervals.map(() => 0);
      const files = await opened(plan, whole, signal);
      if (files.length === 0) return found;
      const { from, to } = microseconds(whole);
      const sql = `SELECT ((inserted_us - ${from}) // ${(to - from) / BigInt(intervals.length)})::INTEGER AS n, count(*)::DOUBLE
        FROM ${parquet(pathsOf(files))} WHERE ${conditions({ from, to }, plan.query, whole)} GROUP BY n`;
      for (const [n, rows] of await database.rows(sql, signal)) found[n as number] = rows as number;
      return found;
    },
    readAll: async function* ({ plan, intervals, counts, form, most }, signal) {
      const whole = span(intervals);
      const files = await opened(plan, whole, signal);
      yield* database.during(signal, async function* (connection) {
        const parts = await inOrder(connection, files, whole);
        const queries = parts.map((part) => rowsOf(part, plan, whole, () => 'true').sql);
        for await (const pieces of packedApart(countedLines(connection, queries, form, counts, most), form)) {
          yield* pieces;
          yield INTERVAL_END;
        }
      });
    },
    close: () => database.close(),
  };
}

/** Files of a plan, and where they lie on this machine. */
type Files = readonly (PlannedFile & { readonly local: string })[];

const pathsOf = (files: Files): string[] => files.map(({ local }) => local);

/** Returns the plan's files that may hold rows of an interval, in the order of their arrivals. */
export const filesOf = (plan: FrozenPlan, interval: Interval): FrozenPlan['files'] =>
  plan.files.filter(({ from, to }) => from < interval.end && to >= interval.start).toSorted((a, b) => a.from - b.from);

const microseconds = ({ start, end }: Interval): { from: bigint; to: bigint } => ({
  from: BigInt(start) * 1000n,
  to: BigInt(end) * 1000n,
});

/** All rows of the interval by one query, which sorts them when the files' arrivals overlap. A Parquet file is made so. */
function atOnce(files: Files, interval: Interval): Stretch {
  const overlap = files.some((file, n) => n > 0 && file.from <= Number(files[n - 1]?.to));
  return { ...microseconds(interval), paths: pathsOf(files), sorted: overlap };
}

/** Files that have fewer bytes hold no rows that are too long to be read together. */
const SHORT_BYTES = 256 * 1024;

/** The same, but cut where it would have to sort, or where rows are long, as the files' row groups tell. */
async function inOrder(connection: DuckDBConnection, files: Files, interval: Interval): Promise<Stretch[]> {
  const whole = atOnce(files, interval);
  if (!whole.sorted && files.every(({ bytes = Infinity }) => bytes < SHORT_BYTES)) return [whole];
  const groups = await rowGroups(connection, whole.paths);
  return cutLongRows(whole.sorted ? stretches(groups, whole.from, whole.to) : [whole], groups);
}

const literals = (texts: readonly string[]): string => texts.map(literal).join(', ');

/** The end of the interval, which is what `now()` means in its rows. */
const nowOf = (interval: Interval): bigint => microseconds(interval).to;

function conditions(
  { from, to }: { from: bigint; to: bigint },
  { includeEvents, excludeEvents, where = null }: RowQuery,
  interval: Interval,
): string {
  return [
    `inserted_us >= ${from} AND inserted_us < ${to}`,
    ...(includeEvents === null || includeEvents.length === 0 ? [] : [`event IN (${literals(includeEvents)})`]),
    ...(excludeEvents === null || excludeEvents.length === 0 ? [] : [`event NOT IN (${literals(excludeEvents)})`]),
    ...(where === null ? [] : [duckdbText(where, nowOf(interval))]),
  ].join(' AND ');
}

/** SQL of what holds for the interval's rows in some of the files, beside the conditions of the query. */
type Delivered = (paths: readonly string[]) => string;

async function deliveredRows(
  connection: DuckDBConnection,
  { model, query }: FrozenPlan,
  interval: Interval,
  files: Files,
): Promise<Delivered> {
  if (model === 'events') return () => 'true';
  return newestRows(connection, pathsOf(files), conditions(microseconds(interval), query, interval));
}

/** The lake's columns, and what the query computes beside them. */
function rowsOf(part: Stretch, { model, query }: FrozenPlan, interval: Interval, isDelivered: Delivered): Rows {
  const computed = computedColumns(query.select ?? null).map(
    ({ field, column }) => `${duckdbColumn(column, nowOf(interval))} AS ${field}`,
  );
  const order = part.sorted ? `ORDER BY ${LAKE_MODELS[model].order.join(', ')}` : '';
  const where = `${conditions(part, query, interval)} AND ${isDelivered(part.paths)}`;
  const files = part.rows === undefined ? parquet(part.paths) : parquetRows(part.paths, part.rows);
  const sql = `SELECT ${['*', ...computed].join(', ')} FROM ${files} WHERE ${where} ${order}`;
  return { sql, paths: part.paths };
}
