import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { v7 } from 'uuid';
import { threadParser } from '../../lib/hogql/parse.ts';
import type { Context } from '../../lib/ports/context.ts';
import { folderFiles } from '../../lib/ports/files/folder.ts';
import type { Log } from '../../lib/ports/log.ts';
import { loggedMetrics } from '../../lib/ports/metrics/logged.ts';
import { openOutbound } from '../../lib/ports/outbound/outbound.ts';
import { LOCAL_SETTINGS } from '../../lib/ports/settings.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { keyfileVault } from '../../lib/ports/vault/keyfile.ts';
import { duckdbWarehouse } from '../../lib/warehouse/duckdb.ts';

/** Where one machine keeps everything: `WORKSPACE_HOME`, by default `.workspace` in the folder of the project. */
export function dataDirectoryPath(environment: NodeJS.ProcessEnv = process.env): string {
  return resolve(environment.WORKSPACE_HOME || '.workspace');
}

/** Where exports spill to and make files, while they run; only the service runs any. */
export const temporaryIn = (folder: string): string => join(folder, 'temporary');

/** All that a data directory holds, opened: every port but the workflow, which only the running service has. */
interface DataDirectory extends Omit<Context, 'workflow'> {
  readonly folder: string;
  /** Reads the whole table. Returns what is wrong with it. */
  tableProblems(): string[];
  close(): void;
}

/** Opens (and at first makes) the data directory. Several processes may have it open; one may serve it: `claimDataDirectory`. */
export function openDataDirectory(folder: string, log: Log): DataDirectory {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  const clock = Date.now;
  const lake = folderFiles(join(folder, 'lake'));
  const table = sqliteTable(join(folder, 'workspace.db'), { clock });
  return {
    folder,
    table,
    lake,
    runFiles: folderFiles(join(folder, 'runs')),
    warehouse: duckdbWarehouse({ lake, tempDirectory: temporaryIn(folder) }),
    vault: keyfileVault(join(folder, 'vault.key')),
    events: null,
    outbound: openOutbound(LOCAL_SETTINGS),
    parser: threadParser(),
    clock,
    newId: v7,
    random: randomBytes,
    log,
    metrics: loggedMetrics(log),
    settings: LOCAL_SETTINGS,
    tableProblems: () => table.problems(),
    close: () => table.close(),
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
