import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { v7 } from 'uuid';
import { threadParser } from '../../lib/hogql/parse.ts';
import type { Context } from '../../lib/ports/context.ts';
import { messageOf } from '../../lib/ports/errors.ts';
import { folderFiles, removeLeftovers } from '../../lib/ports/files/folder.ts';
import type { Log } from '../../lib/ports/log.ts';
import { loggedMetrics } from '../../lib/ports/metrics/logged.ts';
import { openOutbound } from '../../lib/ports/outbound/outbound.ts';
import type { Settings } from '../../lib/ports/settings.ts';
import { isBusy, isDamage, sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { SECOND_MS } from '../../lib/ports/units.ts';
import { keyfileVault } from '../../lib/ports/vault/keyfile.ts';
import { duckdbWarehouse } from '../../lib/warehouse/duckdb.ts';
import { checkDataDirectory, databaseIn, UnusableDataDirectory, upgradeDataDirectory } from './data-version.ts';

const lakeIn = (folder: string): string => join(folder, 'lake');
const runFilesIn = (folder: string): string => join(folder, 'runs');

/** Removes what processes left unfinished that are not there any more. Only whoever has claimed the directory may. */
export async function removeUnfinished(folder: string): Promise<void> {
  rmSync(temporaryIn(folder), { recursive: true, force: true });
  await Promise.all([lakeIn(folder), runFilesIn(folder)].map(removeLeftovers));
}

/** Where exports spill to and make files, while they run; only the service runs any. */
const temporaryIn = (folder: string): string => join(folder, 'temporary');

/** All that a data directory holds, opened: every port but the workflow, which only the running service has. */
interface DataDirectory extends Omit<Context, 'workflow'> {
  readonly folder: string;
  close(): void;
}

/**
 * Opens (and at first makes) the data directory, and brings it up to date. Several processes may have it open; one may
 * serve it (`claimDataDirectory`), which says so by `isClaimed`. Throws `UnusableDataDirectory` or `DataDirectoryInUse`.
 */
export function openDataDirectory(folder: string, settings: Settings, log: Log, isClaimed = false): DataDirectory {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  checkDataDirectory(folder);
  const clock = Date.now;
  const lake = folderFiles(lakeIn(folder));
  const table = openDatabase(folder, clock, isClaimed);
  return {
    folder,
    table,
    lake,
    runFiles: folderFiles(runFilesIn(folder)),
    warehouse: duckdbWarehouse({ lake, tempDirectory: temporaryIn(folder) }),
    vault: keyfileVault(join(folder, 'vault.key')),
    events: null,
    outbound: openOutbound(settings),
    parser: threadParser(),
    clock,
    newId: v7,
    random: randomBytes,
    log,
    metrics: loggedMetrics(log),
    settings,
    close: () => table.close(),
  };
}

function openDatabase(folder: string, clock: () => number, isClaimed: boolean): ReturnType<typeof sqliteTable> {
  let table: ReturnType<typeof sqliteTable> | undefined;
  try {
    table = sqliteTable(databaseIn(folder), { clock });
    upgradeDataDirectory(folder, isClaimed ? (work) => work() : (work) => whileClaimed(folder, work));
    return table;
  } catch (error) {
    table?.close();
    if (!isDamage(error)) throw error;
    const why = `${databaseIn(folder)} cannot be read (${messageOf(error)}). Restore a backup.`;
    throw new UnusableDataDirectory(why, { cause: error });
  }
}

function whileClaimed(folder: string, work: () => void): void {
  const claim = claimDataDirectory(folder);
  try {
    work();
  } finally {
    claim.release();
  }
}

/** A claim of somebody else is waited for so long: a command of the line may have the directory to upgrade it. */
const CLAIM_TIMEOUT_MS = SECOND_MS;

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
  const file = join(folder, 'service.lock');
  const lock = new DatabaseSync(file, { timeout: CLAIM_TIMEOUT_MS });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (isDamage(error)) {
      const why = `${file} cannot be read (${messageOf(error)}). It holds nothing: if no service runs on ${folder}, remove it.`;
      throw new UnusableDataDirectory(why, { cause: error });
    }
    if (!isBusy(error)) throw error;
    throw new DataDirectoryInUse(
      `Another service is running on ${folder}. Stop it first, or give this one a data directory of its own with WORKSPACE_HOME.`,
    );
  }
  return { release: () => lock.close() };
}
