import { tmpdir } from 'node:os';
import type { DuckDBInstance } from '@duckdb/node-api';
import { type DatabaseLimits, identifier, openDatabase, ownFolder } from './database.ts';

/** DuckDBs of one process, which are lent to one job after another: to open one takes longer than a small job does. */
export interface DatabasePool {
  /** Where jobs make their files, in folders of their own, and databases spill. These may open what is in it. */
  readonly folder: string;
  /**
   * Returns what `work` does with a database that nobody else has meanwhile, and that has no tables yet. Tables of its main
   * schema are gone afterwards; connections are for `work` to close.
   */
  use<T>(work: (database: DuckDBInstance) => Promise<T>): Promise<T>;
  close(): void;
}

interface PoolOptions extends Omit<DatabaseLimits, 'tempDirectory'> {
  /** Default: the system's temporary folder. */
  readonly folder?: string;
}

/** Returns a pool that opens a DuckDB when it has none left, and keeps one. */
export function databasePool({ folder = tmpdir(), places = [], ...limits }: PoolOptions): DatabasePool {
  let kept: DuckDBInstance | undefined;
  let isClosed = false;

  const open = () => openDatabase({ ...limits, tempDirectory: ownFolder(folder), places: [folder, ...places] });

  const taken = async (): Promise<DuckDBInstance> => {
    const database = kept ?? open();
    kept = undefined;
    return database;
  };

  const give = async (database: DuckDBInstance): Promise<void> => {
    // One that fails even at that is of no use to the next job.
    const isEmpty = await empty(database).then(
      () => true,
      () => false,
    );
    if (isEmpty && kept === undefined && !isClosed) kept = database;
    else database.closeSync();
  };

  return {
    folder,
    use: async (work) => {
      const database = await taken();
      try {
        return await work(database);
      } finally {
        await give(database);
      }
    },
    close: () => {
      isClosed = true;
      kept?.closeSync();
      kept = undefined;
    },
  };
}

async function empty(database: DuckDBInstance): Promise<void> {
  const connection = await database.connect();
  try {
    const tables = await connection.runAndReadAll('SELECT table_name FROM duckdb_tables() WHERE NOT temporary');
    for (const [name] of tables.getRows()) await connection.run(`DROP TABLE ${identifier(String(name))}`);
  } finally {
    connection.closeSync();
  }
}
