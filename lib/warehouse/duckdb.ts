/**
 * The warehouse on one machine: DuckDB over the lake's files, as they lie there. Nothing is unloaded first, and no
 * result is held: rows stream from the files, through one text column, into the destination.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type DatabaseLimits, literal, parquet } from '../duckdb/database.ts';
import { rowGroups } from '../duckdb/parquet.ts';
import { duckdbColumn, duckdbText } from '../hogql/duckdb.ts';
import type { Slot } from '../lake/intervals.ts';
import { LAKE_MODELS } from '../lake/schema.ts';
import type { Spool } from '../ports/files/files.ts';
import { lineDatabase, type Rows } from './line-database.ts';
import { newestRows } from './newest.ts';
import { computedColumns } from './query-columns.ts';
import { type Stretch, stretches } from './row-order.ts';
import type { Form, FrozenPlan, RowQuery, Warehouse } from './warehouse.ts';

interface DuckdbWarehouseOptions extends DatabaseLimits {
  readonly lake: Spool;
}

/**
 * A warehouse over the lake's files. Rows come in the order of their model; two reads of one plan give the same bytes.
 * Memory is bounded by the limit, whatever a slot holds. `Transient` when it does not suffice for all that is read at
 * this moment.
 */
export function duckdbWarehouse(options: DuckdbWarehouseOptions): Warehouse & { close(): Promise<void> } {
  const { lake } = options;
  const database = lineDatabase(options);

  async function* read(plan: FrozenPlan, slot: Slot, form: Form, signal: AbortSignal): AsyncGenerator<Buffer> {
    signal.throwIfAborted();
    const files = filesOf(plan, slot);
    if (files.length === 0) return;
    yield* database.during(signal, async function* (connection) {
      const isDelivered = await deliveredRows(connection, lake, plan, slot, files);
      for (const part of await inOrder(connection, lake, files, slot, form))
        yield* database.formed(connection, rowsOf(part, plan, slot, isDelivered), form, signal);
    });
  }

  return {
    read,
    unload: () => Promise.resolve(null),
    count: async (plan, slot, signal) => {
      signal.throwIfAborted();
      const files = filesOf(plan, slot);
      if (files.length === 0) return 0;
      const where = conditions(microseconds(slot), plan.query, slot);
      const paths = files.map(({ path }) => lake.address(path));
      const counted = plan.model === 'persons' ? 'DISTINCT distinct_id' : '*';
      return database.number(`SELECT count(${counted}) FROM ${parquet(paths)} WHERE ${where}`, signal);
    },
    close: () => database.close(),
  };
}

type Files = FrozenPlan['files'];

const filesOf = (plan: FrozenPlan, slot: Slot): Files =>
  plan.files.filter(({ from, to }) => from < slot.end && to >= slot.start).toSorted((a, b) => a.from - b.from);

const microseconds = ({ start, end }: Slot): { from: bigint; to: bigint } => ({
  from: BigInt(start) * 1000n,
  to: BigInt(end) * 1000n,
});

/**
 * One query when the files' arrivals do not overlap; else their row groups say how to cut the slot. A Parquet file is
 * made by one query in any case, which may have to sort the whole slot.
 */
async function inOrder(
  connection: DuckDBConnection,
  lake: Spool,
  files: Files,
  slot: Slot,
  { format }: Form,
): Promise<Stretch[]> {
  const paths = files.map(({ path }) => lake.address(path));
  const { from, to } = microseconds(slot);
  const overlap = files.some((file, n) => n > 0 && file.from <= Number(files[n - 1]?.to));
  if (!overlap || format === 'Parquet') return [{ from, to, paths, sorted: overlap }];
  return stretches(await rowGroups(connection, paths), from, to);
}

const literals = (texts: readonly string[]): string => texts.map(literal).join(', ');

/** The end of the slot, which is what `now()` means in its rows. */
const nowOf = (slot: Slot): bigint => microseconds(slot).to;

function conditions(
  { from, to }: { from: bigint; to: bigint },
  { includeEvents, excludeEvents, where = null }: RowQuery,
  slot: Slot,
): string {
  return [
    `inserted_us >= ${from} AND inserted_us < ${to}`,
    ...(includeEvents === null || includeEvents.length === 0 ? [] : [`event IN (${literals(includeEvents)})`]),
    ...(excludeEvents === null || excludeEvents.length === 0 ? [] : [`event NOT IN (${literals(excludeEvents)})`]),
    ...(where === null ? [] : [duckdbText(where, nowOf(slot))]),
  ].join(' AND ');
}

/** SQL of what holds for the slot's rows in some of the files, beside the conditions of the query. */
type Delivered = (paths: readonly string[]) => string;

async function deliveredRows(
  connection: DuckDBConnection,
  lake: Spool,
  { model, query }: FrozenPlan,
  slot: Slot,
  files: Files,
): Promise<Delivered> {
  if (model === 'events') return () => 'true';
  const paths = files.map(({ path }) => lake.address(path));
  return newestRows(connection, paths, conditions(microseconds(slot), query, slot));
}

/** The lake's columns, and what the query computes beside them. */
function rowsOf(part: Stretch, { model, query }: FrozenPlan, slot: Slot, isDelivered: Delivered): Rows {
  const computed = computedColumns(query.select ?? null).map(
    ({ field, column }) => `${duckdbColumn(column, nowOf(slot))} AS ${field}`,
  );
  const order = part.sorted ? `ORDER BY ${LAKE_MODELS[model].order.join(', ')}` : '';
  const where = `${conditions(part, query, slot)} AND ${isDelivered(part.paths)}`;
  const sql = `SELECT ${['*', ...computed].join(', ')} FROM ${parquet(part.paths)} WHERE ${where} ${order}`;
  return { sql, paths: part.paths };
}
