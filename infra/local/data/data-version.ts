/**
 * Which layout a data directory has, and which database belongs to it: `version.json`, beside the database. What an
 * older program has left is brought up to date, step by step, each noted when it is done.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Log } from '../../../lib/ports/log.ts';
import type { DATA_LAYOUT } from '../../../lib/ports/table/data-layout.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { isDamage } from '../../../lib/ports/table/sqlite.ts';
import { refuseLostCommits } from '../../../lib/ports/table/sqlite-mark.ts';
import { VERSION } from '../version.ts';
import { databaseIn, refuseFolder, UnusableDataDirectory } from './data-folder.ts';

/** Brings a data directory from one version to the next. It may have been killed at any point, and is then run again. */
type Upgrade = (folder: string) => void;

/**
 * The n-th brings version n to n + 1; how many there are is the version that this program reads and writes, `DATA_LAYOUT`. The
 * directory of a first start is of version 0, and goes through all of them.
 */
const UPGRADES = [nameDatabase, findProjectsByToken, renameInPlans] as const satisfies readonly Upgrade[] & {
  readonly length: typeof DATA_LAYOUT;
};

const versionFileIn = (folder: string): string => join(folder, 'version.json');

interface Version {
  readonly version: number;
  /** What the database names itself by. Null: it has no name yet. */
  readonly database: string | null;
  /** Which program brought it to this layout; absent: one that did not say so. */
  readonly program?: string | undefined;
}

const LOCK_TIMEOUT_MS = 5_000;
const NEW: Version = { version: 0, database: null };

/**
 * Throws `UnusableDataDirectory` for what must not be opened, before anything of it is changed: a layout that only a
 * newer program knows, the one of 0.1.0, and a database that is gone or empty though the directory was in use. Throws
 * `CommitsLost` for one whose log is gone or damaged.
 */
export function checkDataDirectory(folder: string, upgrades: readonly Upgrade[] = UPGRADES): void {
  const { version, database, program } = versionOf(folder);
  const newer = newerThan(upgrades, { version, program });
  if (newer !== undefined) {
    throw new UnusableDataDirectory(
      `${folder} was last used by ${newer} Start the newer one again, or restore a backup that this one has made.`,
    );
  }
  const wasUsed = database !== null || existsSync(join(folder, 'welcomed'));
  const isThere = (statSync(databaseIn(folder), { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (wasUsed && !isThere) throw lost(folder);
  refuseLostCommits(databaseIn(folder));
  if (version === 0 && isThere && isOfFirstRelease(folder)) {
    throw new UnusableDataDirectory(
      `${folder} is of version 0.1.0, which this version cannot go on with: start anew in an empty folder, and import its ` +
        'events again (docs/operate-one-machine.md, "Upgrade").',
    );
  }
}

/** Throws `UnusableDataDirectory` for a backup that cannot become a data directory of this program. */
export function checkBackup(source: string): void {
  const newer = newerThan(UPGRADES, versionOf(source));
  if (newer !== undefined) {
    throw new UnusableDataDirectory(
      `${source} is a backup of ${newer} Restore it with the newer one, or restore a backup that this one has made.`,
    );
  }
  checkDataDirectory(source);
}

/** Returns whose a layout is that this program does not know, as the end of a sentence; undefined: it knows the layout. */
function newerThan(
  upgrades: readonly Upgrade[],
  { version, program }: Pick<Version, 'version' | 'program'>,
): string | undefined {
  if (version <= upgrades.length) return undefined;
  const whose = program === undefined || program === VERSION ? '' : `, of version ${program}`;
  return `a newer version of this program: it has layout ${version}${whose}, and this version knows layouts up to ${upgrades.length}.`;
}

/** Throws `UnusableDataDirectory` where there is no data directory yet, for another user's, one that a restore has not made whole, and one that must not be opened. */
export function findDataDirectory(folder: string): void {
  refuseFolder(folder);
  checkDataDirectory(folder);
  if (existsSync(databaseIn(folder))) return;
  throw new UnusableDataDirectory(`There is no data directory at ${folder}: say with WORKSPACE_HOME where it is.`);
}

interface UpgradeOptions {
  readonly alone: (work: () => void) => void;
  readonly log: Log;
  readonly upgrades?: readonly Upgrade[];
}

/**
 * Brings the directory, whose database is open, up to date. Throws `UnusableDataDirectory` when it is another database
 * than the directory had. `alone` runs what may not run while anybody else uses the directory; it is given only when
 * there is something to do. An upgrade is told in the log.
 */
export function upgradeDataDirectory(folder: string, { alone, log, upgrades = UPGRADES }: UpgradeOptions): void {
  if (versionOf(folder).version < upgrades.length) {
    alone(() => {
      // Somebody else may have been first.
      const { version: before } = versionOf(folder);
      for (let version = before; version < upgrades.length; version += 1) {
        upgrades[version]?.(folder);
        writeVersion(folder, { version: version + 1, database: nameIn(folder), program: VERSION });
      }
      if (before === NEW.version || before >= upgrades.length) return;
      log.info(
        `brought the data directory from layout ${before} to ${upgrades.length}: earlier versions refuse it now`,
      );
    });
  }
  if (nameIn(folder) !== versionOf(folder).database) throw lost(folder);
}

const lost = (folder: string): UnusableDataDirectory =>
  new UnusableDataDirectory(
    `${databaseIn(folder)} is not the database that this data directory had: it is gone, empty or another one. Put the ` +
      'right one back, or restore a backup. To begin anew, choose another folder with WORKSPACE_HOME.',
  );

function versionOf(folder: string): Version {
  const file = versionFileIn(folder);
  if (!existsSync(file)) return NEW;
  try {
    const { version, database, program } = JSON.parse(readFileSync(file, 'utf8')) as Version;
    if (Number.isInteger(version) && typeof database === 'string') return { version, database, program };
  } catch {
    // Told below.
  }
  throw new UnusableDataDirectory(`${file} cannot be read. Restore it from a backup.`);
}

/** Whole or not at all, also after a power cut. */
function writeVersion(folder: string, version: Version): void {
  const file = versionFileIn(folder);
  writeFileSync(`${file}.new`, `${JSON.stringify(version)}\n`, { flush: true });
  renameSync(`${file}.new`, file);
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

function withDatabase<T>(folder: string, work: (database: DatabaseSync) => T): T {
  using database = new DatabaseSync(databaseIn(folder), { timeout: LOCK_TIMEOUT_MS });
  return work(database);
}

/** Gives the database a name of its own, by which an empty one that takes its place is noticed. */
function nameDatabase(folder: string): void {
  withDatabase(folder, (database) => {
    database.exec('CREATE TABLE IF NOT EXISTS data_directory (database TEXT NOT NULL)');
    database
      .prepare('INSERT INTO data_directory SELECT ? WHERE NOT EXISTS (SELECT * FROM data_directory)')
      .run(randomUUID());
  });
}

/** Makes the items by which projects are found by their tokens, for projects from before events came live. */
function findProjectsByToken(folder: string): void {
  withDatabase(folder, (database) => {
    const projects = database.prepare(
      "SELECT value->>'id' AS id, value->>'api_token' AS token FROM item " +
        "WHERE sk = ? AND value->>'api_token' IS NOT NULL AND value->>'deleted_at' IS NULL",
    );
    const insert = database.prepare('INSERT OR IGNORE INTO item (pk, sk, value) VALUES (?, ?, ?)');
    for (const { id, token } of projects.all(keys.project(0).sk)) {
      const item = { ...keys.projectToken(String(token)), project_id: Number(id) };
      insert.run(item.pk, item.sk, JSON.stringify(item));
    }
  });
}

/**
 * Names in plans of exports, as 0.1.0 had them and as they are. Its plans hold no words but these, ids and frequencies.
 * Versions of layouts 1 and 2 took its directories as they were.
 */
const PLAN_NAMES = { interval: 'frequency', holder: 'execution', chunk: 'batch' };

/** Gives what plans of exports hold today's names: without them the intervals that an export has run have no edges. */
function renameInPlans(folder: string): void {
  withDatabase(folder, (database) => {
    for (const field of ['ran', 'claimed', 'active']) {
      for (const [old, name] of Object.entries(PLAN_NAMES)) {
        database
          .prepare(
            'UPDATE item SET value = json_set(value, ?1, replace(value->>?1, ?2, ?3)) ' +
              'WHERE sk = ?4 AND instr(value->>?1, ?2) > 0',
          )
          .run(`$.${field}`, `"${old}":`, `"${name}":`, keys.plan('').sk);
      }
    }
  });
}

function nameIn(folder: string): string | null {
  return withDatabase(folder, (database) => {
    if (!hasTable(database, 'data_directory')) return null;
    return (database.prepare('SELECT database FROM data_directory').get()?.['database'] as string | undefined) ?? null;
  });
}

/** Returns whether items are in a database without a name, as 0.1.0 left it: a first start names it before it has any. */
function isOfFirstRelease(folder: string): boolean {
  const file = databaseIn(folder);
  const hasLog = existsSync(`${file}-wal`);
  // What a kill has left SQLite mends where it may write.
  if (existsSync(`${file}-journal`)) return false;
  const address = pathToFileURL(file);
  // So it gets no files beside it: without a log nobody has it open.
  if (!hasLog) address.searchParams.set('immutable', '1');
  try {
    using database = new DatabaseSync(address, { timeout: LOCK_TIMEOUT_MS, readOnly: true });
    return hasItemsAndNoName(database);
  } catch (error) {
    // Whoever opens it tells what is wrong with it.
    if (isDamage(error)) return false;
    throw error;
  }
}

const hasItemsAndNoName = (database: DatabaseSync): boolean =>
  !hasTable(database, 'data_directory') &&
  hasTable(database, 'item') &&
  database.prepare('SELECT 1 FROM item LIMIT 1').get() !== undefined;

const hasTable = (database: DatabaseSync, name: string): boolean =>
  database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined;
