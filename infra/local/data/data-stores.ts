/** What a data directory holds, as far as whoever adds to the lake needs it: the table and the lake. And the claim of who serves it. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { v7 } from 'uuid';
import type { Problem } from '../../../lib/admin/examination.ts';
import { messageOf } from '../../../lib/basics/text.ts';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import type { Publishing } from '../../../lib/lake/lease.ts';
import { folderFiles, removeLeftovers } from '../../../lib/ports/files/folder.ts';
import { damagedSegments } from '../../../lib/ports/inbox/folder.ts';
import type { Log } from '../../../lib/ports/log.ts';
import type { Settings } from '../../../lib/ports/settings.ts';
import { isDamage, sqliteTable } from '../../../lib/ports/table/sqlite.ts';
import { markLog } from '../../../lib/ports/table/sqlite-mark.ts';
import { databaseIn, IS_NO_FOLDER, makeDataDirectory, UnusableDataDirectory } from './data-folder.ts';
import { checkDataDirectory, upgradeDataDirectory } from './data-version.ts';
import { exclusiveLock } from './exclusive-lock.ts';

export const lakeIn = (folder: string): string => join(folder, 'lake');
export const runFilesIn = (folder: string): string => join(folder, 'runs');
/** Files that are uploaded to be imported, and copies of what was rejected of them. */
export const importsIn = (folder: string): string => join(folder, 'imports');
/** Where captured requests wait until they are in the lake. */
export const inboxIn = (folder: string): string => join(folder, 'inbox');

/**
 * Reads all events of a directory that are not in the lake yet, and tells what is damaged of them. Files that the service has
 * set aside lie in `inbox/damaged`.
 */
export const inboxProblemsIn = async (folder: string): Promise<Problem[]> =>
  (await damagedSegments(inboxIn(folder))).map(({ path, problem }) => ({ path: `inbox/${path}`, problem }));

/** Removes what processes left unfinished that are not there any more. Only whoever has claimed the directory may. */
export async function removeUnfinished(folder: string): Promise<void> {
  // The workers of a service that was killed may write for a moment longer, as they end: this waits some ten seconds in all.
  await rm(temporaryIn(folder), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  await Promise.all([lakeIn(folder), runFilesIn(folder), importsIn(folder)].map(removeLeftovers));
}

/** Where exports spill to and make files, while they run; only the service runs any. */
export const temporaryIn = (folder: string): string => join(folder, 'temporary');

/** Where the programs of workers are kept compiled, for those that start later. */
export const compiledIn = (folder: string): string => join(temporaryIn(folder), 'compiled');

/** What landings know of the lake from one to the next, whichever worker does them. */
export const uuidListsIn = (folder: string): string => join(temporaryIn(folder), 'uuids');

interface Stores extends Publishing {
  readonly table: ReturnType<typeof sqliteTable>;
}

/** How somebody opens a data directory. */
export interface Claim {
  /** By whoever has claimed it (`claimDataDirectory`). Default: not. */
  readonly isClaimed?: boolean;
}

/** Opens the table and the lake as `openDataDirectory` does, which opens all else with them. `table.close()` lets go of them. */
export function openStores(folder: string, settings: Settings, log: Log, { isClaimed = false }: Claim = {}): Stores {
  makeDataDirectory(folder);
  checkDataDirectory(folder);
  const clock = Date.now;
  return {
    table: openDatabase(folder, clock, log, isClaimed),
    lake: folderFiles(lakeIn(folder)),
    clock,
    newId: v7,
    random: randomBytes,
    log,
    settings: { ...settings, dataDirectory: folder },
  };
}

function openDatabase(
  folder: string,
  clock: () => number,
  log: Log,
  isClaimed: boolean,
): ReturnType<typeof sqliteTable> {
  let table: ReturnType<typeof sqliteTable> | undefined;
  try {
    table = sqliteTable(databaseIn(folder), { clock });
    upgradeDataDirectory(folder, { alone: isClaimed ? (work) => work() : (work) => whileClaimed(folder, work), log });
    // Upgrades write past the table.
    markLog(databaseIn(folder));
    return table;
  } catch (error) {
    table?.close();
    throw inWordsOf(folder, error);
  }
}

/**
 * Returns what was thrown because the database is damaged, or a file is where a folder of the data directory is to be, as
 * `UnusableDataDirectory` in words, and anything else as it is.
 */
export function inWordsOf(folder: string, error: unknown): unknown {
  const { code, syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall === 'mkdir' && path !== undefined && (code === 'EEXIST' || code === 'ENOTDIR'))
    return new UnusableDataDirectory(`${path} ${IS_NO_FOLDER}. Move it away.`, { cause: error });
  if (!isDamage(error)) return error;
  const why = `${databaseIn(folder)} cannot be read (${messageOf(error)}). Restore a backup.`;
  return new UnusableDataDirectory(why, { cause: error });
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

/** Makes this process the one that serves the data directory, until `release` or its death. */
export function claimDataDirectory(folder: string): { release(): void } {
  makeDataDirectory(folder);
  const file = join(folder, 'service.lock');
  const holder = join(folder, 'service.pid');
  const claim = claimed(file);
  if (claim !== undefined) {
    nameProcessIn(holder);
    return claim;
  }
  throw new DataDirectoryInUse(
    `Another service is running on ${folder}${processNamedIn(holder)}. Stop it first, or give this one a data directory of its own with WORKSPACE_HOME.`,
  );
}

/** It only tells: a disk that is full keeps nobody from starting. */
function nameProcessIn(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`);
  } catch {
    // What was opened is empty, and so names nobody.
  }
}

/** Returns ` (process 123)` of the process that has claimed the data directory; nothing where that is not known. */
function processNamedIn(file: string): string {
  const pid = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return /^\d+$/.test(pid) ? ` (process ${pid})` : '';
}

function claimed(file: string): { release(): void } | undefined {
  try {
    return exclusiveLock(file, CLAIM_TIMEOUT_MS);
  } catch (error) {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new UnusableDataDirectory(`${file} is a folder. Move it away.`, { cause: error });
    if (!isDamage(error)) throw error;
    const why = `${file} cannot be read (${messageOf(error)}). It holds nothing: if no service runs on ${dirname(file)}, remove it.`;
    throw new UnusableDataDirectory(why, { cause: error });
  }
}
