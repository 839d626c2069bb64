/**
 * The warehouse on one machine: DuckDB over the lake's files, as they lie there. Nothing is unloaded first, and no
 * result is held: rows stream from the files, through one text column, into the destination.
 */
import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance } from '@duckdb/node-api';
import bindings from '@duckdb/node-bindings';
import type { Slot } from '../batch-exports/intervals.ts';
import { messageOf, Transient } from '../errors.ts';
import { FILE_ORDER } from '../lake/schema.ts';
import type { Spool } from '../spool/spool.ts';
import { type DatabaseLimits, literal, openDatabase, parquet, pathList } from './embedded-database.ts';
import { EVENT_LINE } from './json-lines.ts';
import { type RowGroup, type Stretch, stretches } from './row-order.ts';
import type { Form, FrozenPlan, RowQuery, Warehouse } from './warehouse.ts';

/** Lines are handed on in pieces of at least this many bytes. */
const PIECE = 256 * 1024;

export interface DuckdbWarehouseOptions extends DatabaseLimits {
  readonly lake: Spool;
}

/**
 * A warehouse over the lake's files. Rows come by arrival, timestamp and uuid; two reads of one plan give the same
 * bytes. Memory is bounded by the limit, whatever a slot holds. `Transient` when it does not suffice for all that is
 * read at this moment.
 */
export function duckdbWarehouse(options: DuckdbWarehouseOptions): Warehouse & { close(): Promise<void> } {
  let database: Promise<DuckDBInstance> | undefined;

  const connect = async (): Promise<DuckDBConnection> => (await (database ??= openDatabase(options))).connect();

  async function* read(plan: FrozenPlan, slot: Slot, _form: Form, signal: AbortSignal): AsyncGenerator<Buffer> {
    signal.throwIfAborted();
    const files = filesOf(plan, slot);
    if (files.length === 0) return;
    const connection = await connect();
    const interrupt = (): void => connection.interrupt();
    signal.addEventListener('abort', interrupt);
    try {
      for (const part of await inOrder(connection, options.lake, files, slot))
        yield* inPieces(lines(connection, part, plan.query), signal);
    } catch (error) {
      throw signal.aborted ? signal.reason : explained(error);
    } finally {
      signal.removeEventListener('abort', interrupt);
      connection.closeSync();
    }
  }

  return {
    read,
    unload: () => Promise.resolve(null),
    count: async (plan, slot, signal) => {
      signal.throwIfAborted();
      const files = filesOf(plan, slot);
      if (files.length === 0) return 0;
      const connection = await connect();
      const interrupt = (): void => connection.interrupt();
      signal.addEventListener('abort', interrupt);
      try {
        const where = conditions(microseconds(slot), plan.query);
        const paths = files.map(({ path }) => options.lake.address(path));
        const answer = await connection.runAndReadAll(`SELECT count(*) FROM ${parquet(paths)} WHERE ${where}`);
        return Number(answer.getRows()[0]?.[0]);
      } catch (error) {
        throw signal.aborted ? signal.reason : explained(error);
      } finally {
        signal.removeEventListener('abort', interrupt);
        connection.closeSync();
      }
    },
    close: async () => {
      (await database)?.closeSync();
      database = undefined;
    },
  };
}

type Files = FrozenPlan['files'];

function filesOf(plan: FrozenPlan, slot: Slot): Files {
  if (plan.model !== 'events') throw new Error(`the warehouse does not hold ${plan.model}`);
  return plan.files.filter(({ from, to }) => from < slot.end && to >= slot.start).toSorted((a, b) => a.from - b.from);
}

const microseconds = ({ start, end }: Slot): { from: bigint; to: bigint } => ({
  from: BigInt(start) * 1000n,
  to: BigInt(end) * 1000n,
});

/** One query when the files' arrivals do not overlap; else their row groups say how to cut the slot. */
async function inOrder(connection: DuckDBConnection, lake: Spool, files: Files, slot: Slot): Promise<Stretch[]> {
  const paths = files.map(({ path }) => lake.address(path));
  const { from, to } = microseconds(slot);
  const overlap = files.some((file, n) => n > 0 && file.from <= Number(files[n - 1]?.to));
  if (!overlap) return [{ from, to, paths, sorted: false }];
  return stretches(await rowGroups(connection, paths), from, to);
}

async function rowGroups(connection: DuckDBConnection, paths: readonly string[]): Promise<RowGroup[]> {
  const answer = await connection.runAndReadAll(`
    SELECT file_name AS path, any_value(row_group_num_rows)::DOUBLE AS rows, sum(total_uncompressed_size)::DOUBLE AS bytes,
      (any_value(stats_min_value) FILTER (path_in_schema = 'inserted_us'))::BIGINT AS min,
      (any_value(stats_max_value) FILTER (path_in_schema = 'inserted_us'))::BIGINT AS max
    FROM parquet_metadata(${pathList(paths)}) GROUP BY file_name, row_group_id`);
  return answer.getRowObjects() as unknown as RowGroup[];
}

const literals = (texts: readonly string[]): string => texts.map(literal).join(', ');

function conditions({ from, to }: { from: bigint; to: bigint }, { includeEvents, excludeEvents }: RowQuery): string {
  return [
    `inserted_us >= ${from} AND inserted_us < ${to}`,
    ...(includeEvents === null || includeEvents.length === 0 ? [] : [`event IN (${literals(includeEvents)})`]),
    ...(excludeEvents === null || excludeEvents.length === 0 ? [] : [`event NOT IN (${literals(excludeEvents)})`]),
  ].join(' AND ');
}

async function* lines(connection: DuckDBConnection, part: Stretch, query: RowQuery): AsyncGenerator<Buffer> {
  const order = part.sorted ? `ORDER BY ${FILE_ORDER.join(', ')}` : '';
  const rows = `SELECT * FROM ${parquet(part.paths)} WHERE ${conditions(part, query)} ${order}`;
  const result = await connection.stream(`SELECT ${EVENT_LINE} AS line FROM (${rows})`);
  for await (const chunk of result) yield textOf(chunk);
}

async function* inPieces(source: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const buffer of source) {
    signal.throwIfAborted();
    waiting.push(buffer);
    bytes += buffer.length;
    if (bytes < PIECE) continue;
    yield waiting.length === 1 ? buffer : Buffer.concat(waiting, bytes);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}

/**
 * The bytes of a chunk's one text column, without nulls, one value after another. A value is 16 bytes: its length, then
 * the text itself (up to 12 bytes) or, at 8, where it lies. DuckDB lays the values of a chunk behind one another, so
 * a run of them is copied at once; a string for each would take three times as long as all the rest.
 */
function textOf(chunk: DuckDBDataChunk): Buffer {
  const rows = chunk.rowCount;
  const data = bindings.vector_get_data(bindings.data_chunk_get_vector(chunk.chunk, 0), rows * 16);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const runs: Uint8Array[] = [];
  for (let row = 0; row < rows; ) {
    const first = row * 16;
    let length = view.getUint32(first, true);
    row += 1;
    if (length <= 12) {
      runs.push(data.subarray(first + 4, first + 4 + length));
      continue;
    }
    const begin = view.getBigUint64(first + 8, true);
    for (; row < rows; row += 1) {
      const more = view.getUint32(row * 16, true);
      if (more <= 12 || view.getBigUint64(row * 16 + 8, true) !== begin + BigInt(length)) break;
      length += more;
    }
    runs.push(bindings.get_data_from_pointer(data.buffer as ArrayBuffer, data.byteOffset + first + 8, length));
  }
  return Buffer.concat(runs);
}

function explained(error: unknown): unknown {
  return messageOf(error).startsWith('Out of Memory')
    ? new Transient(`The warehouse is busy: ${messageOf(error)}`)
    : error;
}
