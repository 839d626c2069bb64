import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { v7 } from 'uuid';
import { pooledCompiler } from '../../lib/exports/query/compiler.ts';
import type { Context } from '../../lib/ports/context.ts';
import { folderFiles } from '../../lib/ports/files/folder.ts';
import type { Log } from '../../lib/ports/log.ts';
import { loggedMetrics } from '../../lib/ports/metrics/logged.ts';
import { openOutbound } from '../../lib/ports/outbound/outbound.ts';
import { LOCAL_SETTINGS } from '../../lib/ports/settings.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { MINUTE_MS, SECOND_MS } from '../../lib/ports/units.ts';
import { keyfileVault } from '../../lib/ports/vault/keyfile.ts';
import { pooledWarehouse } from '../../lib/warehouse/pooled.ts';
import type { RowWorkerOptions } from '../../lib/warehouse/row-worker.ts';
import { workerPool } from '../../lib/workers/pool.ts';

/** Where one machine keeps everything: `WORKSPACE_HOME`, by default `.workspace` in the folder of the project. */
export function dataDirectoryPath(environment: NodeJS.ProcessEnv = process.env): string {
  return resolve(environment.WORKSPACE_HOME || '.workspace');
}

/** Where exports spill to and make files, while they run; only the service runs any. */
export const temporaryIn = (folder: string): string => join(folder, 'temporary');

/** What DuckDB may hold in each worker that selects rows; the process has some 100 MB beside that. */
const DATABASE_MEMORY = '400MB';
const ROW_MEMORY_MB = { each: 700, all: 1_100 };
/** A large Parquet file is made before its first byte is told: 8 GB, the most that a run may read, take minutes. */
const ROW_SILENCE_MS = 10 * MINUTE_MS;
/** A query of a thousand columns takes 1.3 s, and 100 MB. */
const QUERY_SILENCE_MS = 10 * SECOND_MS;
const QUERY_MEMORY_MB = { each: 250, all: 400 };
/** Those that wait are requests: an organization that sends what takes long waits for itself. */
const QUERY_TURNS = { atOnce: 2, each: 1, waiting: { each: 4, all: 32 } };

/** Those that wait are deliveries, of which the engine runs so many at a time. */
const ROW_TURNS = { atOnce: 4, each: 2 };

/** All that a data directory holds, opened: every port but the workflow, which only the running service has. */
interface DataDirectory extends Omit<Context, 'workflow'> {
  readonly folder: string;
  close(): Promise<void>;
}

/** Opens (and at first makes) the data directory. Several processes may have it open; one may serve it: `claimDataDirectory`. */
export function openDataDirectory(folder: string, log: Log): DataDirectory {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  const clock = Date.now;
  const lake = folderFiles(join(folder, 'lake'));
  const table = sqliteTable(join(folder, 'workspace.db'), { clock });
  const rows = workerPool({
    program: join(import.meta.dirname, '../../lib/warehouse/row-worker.ts'),
    options: { lake: join(folder, 'lake'), memoryLimit: DATABASE_MEMORY } satisfies RowWorkerOptions,
    what: 'Selecting its rows',
    turns: ROW_TURNS,
    memory: ROW_MEMORY_MB,
    silenceMs: ROW_SILENCE_MS,
    folder: temporaryIn(folder),
    deaths: join(folder, 'under-way'),
    log,
  });
  const queries = workerPool({
    program: join(import.meta.dirname, '../../lib/exports/query/query-worker.ts'),
    options: null,
    what: 'Reading the query',
    turns: QUERY_TURNS,
    memory: QUERY_MEMORY_MB,
    silenceMs: QUERY_SILENCE_MS,
    folder: temporaryIn(folder),
    log,
  });
  return {
    folder,
    table,
    lake,
    runFiles: folderFiles(join(folder, 'runs')),
    warehouse: pooledWarehouse(rows),
    vault: keyfileVault(join(folder, 'vault.key')),
    events: null,
    outbound: openOutbound(LOCAL_SETTINGS),
    compiler: pooledCompiler(queries),
    clock,
    newId: v7,
    random: randomBytes,
    log,
    metrics: loggedMetrics(log),
    settings: LOCAL_SETTINGS,
    close: async () => {
      table.close();
      await Promise.all([rows.close(), queries.close()]);
    },
  };
}

/** Another process serves this data directory. */
class DataDirectoryInUse extends Error {
  override readonly name = 'DataDirectoryInUse';
}

/**
 * Makes this process the one that serves the data directory, until `release` or its death. The claim is an exclusive lock on a
 * small database: the operating system drops it with the process, so no stale claim survives a kill.
 */
export function claimDataDirectory(folder: string): { release(): void } {
  mkdirSync(folder, { recursive: true });
  const lock = new DatabaseSync(join(folder, 'service.lock'));
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch {
    lock.close();
    throw new DataDirectoryInUse(
      `Another service is running on ${folder}. Stop it first, or give this one a data directory of its own with WORKSPACE_HOME.`,
    );
  }
  return { release: () => lock.close() };
}
