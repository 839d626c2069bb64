import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** How much of the machine a DuckDB may take. */
export interface DatabaseLimits {
  /** What DuckDB holds at most, as it writes sizes. Default 400MB: with what Node holds, well under 700 MB. */
  readonly memoryLimit?: string;
  /** Default: one for each core. */
  readonly threads?: number;
  /** Where it spills to, and Parquet files are made. Default: a folder of its own below the system's temporary one. */
  readonly tempDirectory?: string;
  /** The files, and folders with all below them, that it may open beside that directory. Default: none. */
  readonly places?: readonly string[];
  /**
   * Whether what the metadata of Parquet files says is kept until memory is needed: queries that follow one another over the
   * same files read it once. It is read anew when the time of a file's last change is another one, or less than ten seconds
   * ago; so it is for files that nobody writes again. Default: no.
   */
  readonly keepsMetadata?: boolean;
}

/** A folder for a DuckDB's temporary files that nobody else has. It is made when it is needed. */
export const ownFolder = (parent: string = tmpdir()): string => join(parent, `duckdb-${randomUUID()}`);

/**
 * A DuckDB in memory that spills to disk, lives in UTC, opens only the places that it is given, and never loads anything
 * from the network. No statement can change that.
 */
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
  await connected(database, async (connection) => {
    await connection.run("SET GLOBAL TimeZone = 'UTC'");
    if (limits.keepsMetadata === true) await connection.run('SET GLOBAL parquet_metadata_cache = true');
    await confine(connection, limits.places ?? []);
  });
  return database;
}

/** Returns what `work` does with a connection, which is closed then. */
export async function connected<T>(
  database: DuckDBInstance,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const connection = await database.connect();
  try {
    return await work(connection);
  } finally {
    connection.closeSync();
  }
}

/**
 * Ends all access to files but these places and the temporary directory, and all change of settings, for the whole
 * database and for good. DuckDB resolves the links in a path before it compares.
 */
async function confine(connection: DuckDBConnection, places: readonly string[]): Promise<void> {
  const written = [...new Set([...places, ...places.map(asPattern)])].map(literal).join(', ');
  for (const setting of ['allowed_directories', 'allowed_paths'])
    await connection.run(`SET GLOBAL ${setting} = [${written}]`);
  await connection.run('SET GLOBAL enable_external_access = false');
  await connection.run('SET GLOBAL lock_configuration = true');
}

/** Makes a table anew, of columns as SQL writes them, and with these rows: of texts and whole numbers. */
export async function makeTable(
  connection: DuckDBConnection,
  name: string,
  columns: string,
  rows: Iterable<readonly (string | number)[]>,
): Promise<void> {
  await connection.run(`CREATE OR REPLACE TABLE ${name} (${columns})`);
  const appender = await connection.createAppender(name);
  for (const row of rows) {
    for (const value of row)
      if (typeof value === 'string') appender.appendVarchar(value);
      else appender.appendBigInt(BigInt(value));
    appender.endRow();
  }
  appender.closeSync();
}

/** A name as it is written in SQL. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** A text as an SQL literal. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The pattern that only this path fits, as it is written. */
const asPattern = (path: string): string => path.replace(/[*?[]/g, '[$&]');

/** Parquet files as an SQL list of literals; what would be a pattern in a path is taken as it is written. */
export const pathList = (paths: readonly string[]): string =>
  `[${paths.map((path) => literal(asPattern(path))).join(', ')}]`;

/** Rows of Parquet files, in the order of the list; a column that a file lacks is null. */
export const parquet = (paths: readonly string[]): string =>
  `read_parquet(${pathList(paths)}, union_by_name = true, hive_partitioning = false)`;

/** The same of one file: only rows with these numbers in it, the second exclusive. */
export const parquetRows = ([path = '']: readonly string[], [from, to]: readonly [number, number]): string =>
  `(SELECT * EXCLUDE (file_row_number) FROM read_parquet(${pathList([path])}, file_row_number = true,
    hive_partitioning = false) WHERE file_row_number >= ${from} AND file_row_number < ${to})`;
