/** Rows of a Parquet file as events, in constant memory. */
import { open } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { isObject } from '../../basics/json.ts';
import { messageOf } from '../../basics/text.ts';
import { type DatabaseLimits, identifier, openDatabase, parquet } from '../../duckdb/database.ts';
import { parseAsWritten } from './exact-json.ts';
import type { Line } from './lines.ts';
import type { SourceRecord } from './record.ts';
import { type RowReader, rowReader, type TableMapping, typedCell } from './table-rows.ts';

const MAGIC = 'PAR1';

/** Returns whether a file begins as one of Parquet does. */
export async function beginsAsParquet(path: string): Promise<boolean> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
  return buffer.toString('latin1', 0, bytesRead) === MAGIC;
}

interface ParquetRows {
  /** A record's line is the row as JSON, by its number from 1. Read it once. */
  batches(): AsyncGenerator<readonly SourceRecord[]>;
  /** The names of its columns, once it is read; null: they cannot be read. */
  columns(): string[] | null;
  /** The part of all rows that was read, up to 1. */
  progress(): number;
  /** What is wrong with the file; what came before it was given. */
  problem(): string | undefined;
}

export function parquetRows(path: string, mapping: TableMapping, limits: DatabaseLimits): ParquetRows {
  let problem: string | undefined;
  let columns: string[] | null = null;
  let rows = 0;
  let total = 1;

  async function* read(connection: DuckDBConnection): AsyncGenerator<readonly SourceRecord[]> {
    const answer = await connection.runAndReadAll(`SELECT * FROM ${parquet([path])} LIMIT 0`);
    const header = answer.columnNames();
    columns = header;
    const types = answer.columnTypes().map(String);
    const reader = rowReader(header, mapping, typedCell);
    if (typeof reader === 'string') {
      problem = reader;
      return;
    }
    const [[count] = []] = (await connection.runAndReadAll(`SELECT count(*) FROM ${parquet([path])}`)).getRows();
    total = Math.max(1, Number(count));
    // A name that a column has too would mean the column, and not the row.
    const row = 't'.repeat(1 + Math.max(0, ...header.map(({ length }) => length)));
    const finites = header.filter((_, n) => FLOATS.has(types[n] ?? '')).map((name) => finite(identifier(name)));
    const read = finites.length === 0 ? '*' : `* REPLACE (${finites.join(', ')})`;
    const found = `(SELECT ${read} FROM ${parquet([path])})`;
    const texts = await connection.stream(`SELECT to_json(${row})::VARCHAR FROM ${found} ${row}`);
    for await (const chunk of texts) {
      const [column = []] = chunk.getColumns() as [string[]?];
      yield column.map((text, n) => recordOf({ number: rows + n + 1, text, encoding: 'utf8' }, header, reader));
      rows += column.length;
    }
  }

  return {
    columns: () => columns,
    progress: () => rows / total,
    problem: () => problem,
    batches: async function* () {
      const database = await openDatabase({ ...limits, places: [path] });
      const connection = await database.connect();
      try {
        yield* failing(read(connection), (error) => {
          problem = `it cannot be read as Parquet: ${toldOf(error, path)}`;
        });
      } finally {
        connection.closeSync();
        database.closeSync();
      }
    },
  };
}

/** What DuckDB says of a file, to whoever sent it: without the path, and what was asked of it, which are ours. */
function toldOf(error: unknown, path: string): string {
  const [line = ''] = messageOf(error).split('\n', 1);
  return [`file '${path}'`, `file "${path}"`, path].reduce((told, name) => told.replaceAll(name, 'the file'), line);
}

/** DuckDB's types of numbers that JSON may have no words for. */
const FLOATS: ReadonlySet<string> = new Set(['FLOAT', 'DOUBLE']);

/** SQL of a column in which what is no number is nothing, as in what SDKs send. */
const finite = (column: string): string => `CASE WHEN isfinite(${column}) THEN ${column} END AS ${column}`;

/** What a source gives; where it fails, it ends, and its failure is told. What the reader throws is not. */
async function* failing<T>(source: AsyncGenerator<T>, tell: (error: unknown) => void): AsyncGenerator<T> {
  try {
    for (;;) {
      const next = await source.next().catch((error: unknown) => {
        tell(error);
        return { done: true, value: undefined } as const;
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await source.return(undefined);
  }
}

function recordOf(line: Line, header: readonly string[], read: RowReader): SourceRecord {
  try {
    const row = parseAsWritten(line.text);
    if (isObject(row)) return { line, ...read(header.map((name) => row[name])) };
  } catch {
    // Numbers within lists and structures that JSON has no words for.
  }
  return { line, content: 'the row cannot be written as JSON', identity: '' };
}
