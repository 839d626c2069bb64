import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/** How much of the machine a DuckDB may take. */
export interface DatabaseLimits {
  /** What DuckDB holds at most, as it writes sizes. Default 400MB: with what Node holds, well under 700 MB. */
  readonly memoryLimit?: string;
  /** Default: one for each core. */
  readonly threads?: number;
  /** Where it spills to, and Parquet files are made. Default: a folder of its own below the system's temporary one. */
  readonly tempDirectory?: string;
}

/** A folder below the system's temporary one that nobody else has. It is made when it is needed. */
export const ownFolder = (): string => join(tmpdir(), `duckdb-${randomUUID()}`);

/** A DuckDB in memory that spills to disk, lives in UTC, and never loads anything from the network. */
export async function openDatabase(limits: DatabaseLimits): Promise<DuckDBInstance> {
  const database = await DuckDBInstance.create(':memory:', {
    memory_limit: limits.memoryLimit ?? '400MB',
    ...(limits.threads === undefined ? {} : { threads: String(limits.threads) }),
    temp_directory: limits.tempDirectory ?? ownFolder(),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // Where files follow one another in one place, it gives rows of one before, if that was of the same size.
    enable_external_file_cache: 'false',
  });
  const connection = await database.connect();
  await connection.run("SET GLOBAL TimeZone = 'UTC'");
  connection.closeSync();
  return database;
}

/** A name as it is written in SQL. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** A text as an SQL literal. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Parquet files as an SQL list of literals; what would be a pattern in a path is taken as it is written. */
export const pathList = (paths: readonly string[]): string =>
  `[${paths.map((path) => literal(path.replace(/[*?[]/g, '[$&]'))).join(', ')}]`;

/** Rows of Parquet files, in the order of the list; a column that a file lacks is null. */
export const parquet = (paths: readonly string[]): string =>
  `read_parquet(${pathList(paths)}, union_by_name = true, hive_partitioning = false)`;
