import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { connected, type DatabaseLimits, identifier, openDatabase, ownFolder } from './database.ts';

/** What a job has to itself as long as it lasts. */
export interface DatabaseJob {
  /** It has no tables yet; those of its main schema are dropped afterwards. */
  readonly database: DuckDBInstance;
  /** Is closed afterwards. Others are for the job to close. */
  readonly connection: DuckDBConnection;
  /** For files, which the database may open. It is removed afterwards. */
  readonly folder: string;
}

/** DuckDBs of one process, which are lent to one job after another: to open one takes longer than a small job does. */
export interface DatabasePool {
  /** Returns what `work` does. */
  use<T>(work: (job: DatabaseJob) => Promise<T>): Promise<T>;
  close(): void;
}

interface PoolOptions extends Omit<DatabaseLimits, 'tempDirectory'> {
  /** Where jobs have their folders, and databases spill; these may open what is in it. Default: the system's temporary one. */
  readonly folder?: string | undefined;
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
    const isEmpty = await connected(database, empty).then(
      () => true,
      () => false,
    );
    if (isEmpty && kept === undefined && !isClosed) kept = database;
    else database.closeSync();
  };

  return {
    use: async (work) => {
      const own = await mkdtemp(join(folder, 'job-'));
      try {
        const database = await taken();
        try {
          return await connected(database, (connection) => work({ database, connection, folder: own }));
        } finally {
          await give(database);
        }
      } finally {
        await rm(own, { recursive: true, force: true });
      }
    },
    close: () => {
      isClosed = true;
      kept?.closeSync();
      kept = undefined;
    },
  };
}

async function empty(connection: DuckDBConnection): Promise<void> {
  const tables = await connection.runAndReadAll('SELECT table_name FROM duckdb_tables() WHERE NOT temporary');
  for (const [name] of tables.getRows()) await connection.run(`DROP TABLE ${identifier(String(name))}`);
}
