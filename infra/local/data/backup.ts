/**
 * A backup of a data directory, made while the service runs. It is the state of one instant: the database as it was, and
 * every file that it names.
 */
import { lstat, mkdir, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { backup as copyDatabase, DatabaseSync } from 'node:sqlite';
import { projectsOfAll } from '../../../lib/admin/commands.ts';
import { examine, type Problem } from '../../../lib/admin/examination.ts';
import { silentProgress } from '../../../lib/admin/progress.ts';
import { messageOf } from '../../../lib/basics/text.ts';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import { digestOf } from '../../../lib/lake/intact.ts';
import { isDiskBroken, isDiskFull, UNREADABLE } from '../../../lib/ports/disk-failures.ts';
import { isBelow } from '../../../lib/ports/files/below.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { orAbsent } from '../../../lib/ports/files/or-absent.ts';
import { syncPath } from '../../../lib/ports/files/sync-path.ts';
import { isBusy, isDamage, sqliteTable } from '../../../lib/ports/table/sqlite.ts';
import {
  BackupRefused,
  CONTENTS,
  type Contents,
  checkWhole,
  copyWhole,
  digestsIn,
  LOCK,
  pathsBelow,
  type Size,
  sizeOf,
} from './backup-folder.ts';
import { databaseIn } from './data-folder.ts';
import { inboxProblemsIn, lakeIn, runFilesIn } from './data-stores.ts';
import { findDataDirectory } from './data-version.ts';
import { exclusiveLock } from './exclusive-lock.ts';

/** What is not copied: the database is copied by SQLite, the rest is of no use without the process that has it. */
const LEFT_OUT =
  /^(workspace\.db|workspace\.db-\w+|service\.lock|service\.lock-\w+|service\.pid|service\.address|temporary|version\.json\.new)$/;

/** Files below it are never changed once they are there. */
const LAKE = 'lake/';

/**
 * Events that are not in the lake yet. They come all the time, so that a look which finds nothing else new is the last:
 * whatever was acknowledged before it is in the copy, in here or in the lake. What is in both lands to no effect.
 */
const INBOX = 'inbox/';

/** Damaged files of the inbox that the service has set aside. */
const SET_ASIDE = `${INBOX}damaged/`;

/** The lock on the database is waited for so long. */
const LOCK_TIMEOUT_MS = 30 * SECOND_MS;

/** How often files are looked through while the database is locked, until nothing has changed. */
const MAX_LOOKS = 20;

/** Pages of the database that are copied at a time: 100 MB. */
const PAGES = 25_000;

/**
 * Copies a data directory into `target`, which must not be there yet. Others may use the directory meanwhile: their
 * writes wait while the last few files are copied. The copy is read: one of what is damaged is kept under another name, and
 * told. Throws `BackupRefused` or `UnusableDataDirectory`.
 */
export async function backUp(folder: string, target: string): Promise<Contents> {
  findDataDirectory(folder);
  // It would be a part of what it copies, and of each later backup.
  if (isBelow(target, [folder]))
    throw new BackupRefused(`${target} is in the data directory: choose a folder elsewhere.`);
  const unfinished = unfinishedIn(target);
  const lock = await makeRoom(target, unfinished);
  if (lock === undefined)
    throw new BackupRefused(`Another backup to ${target} is being made: wait for it, or choose another folder.`);
  try {
    for (const name of await readdir(unfinished)) {
      if (name !== LOCK) await rm(join(unfinished, name), { recursive: true });
    }
    const { unreadable, ...copied } = await copyAll(folder, target);
    await checkWhole(unfinished, copied, 'Something has changed it: make the backup again.');
    const found = (await problemsIn(unfinished)).filter(({ path }) => !unreadable.includes(path));
    const problems = [...unreadable.map((path) => ({ path, problem: UNREADABLE })), ...found];
    const place = problems.length === 0 ? target : await damagedAs(target);
    const contents: Contents = { ...copied, sha256: await digestsIn(unfinished) };
    await writeFile(join(unfinished, CONTENTS), `${JSON.stringify(contents)}\n`, { flush: true });
    await rename(unfinished, place);
    await rm(join(place, LOCK));
    await syncPath(dirname(place));
    if (problems.length > 0) throw damaged(folder, place, problems);
    return contents;
  } finally {
    lock.release();
  }
}

/**
 * Makes a folder that may take the place of the target, which is then not there. What cannot be is told before anything is
 * copied. Returns the lock of the folder; undefined: somebody else has it.
 */
async function makeRoom(target: string, unfinished: string): Promise<ReturnType<typeof exclusiveLock>> {
  const left: readonly string[] = await readdir(unfinished).catch(() => []);
  // It would be cleared.
  if (left.length > 0 && !left.includes(LOCK))
    throw new BackupRefused(
      `${unfinished} is there already, and no backup: choose another folder, or remove it if an older version has left it.`,
    );
  try {
    // A disk that is mounted there does not give way.
    await orAbsent(rmdir(target));
    await mkdir(unfinished, { recursive: true, mode: 0o700 });
    return exclusiveLock(join(unfinished, LOCK), 0);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (path === target && ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(code ?? ''))
      throw new BackupRefused(`${target} is there already: choose another folder.`, { cause: error });
    if (isDiskFull(error)) throw diskFull(target, error);
    const why = `${target} cannot be made (${messageOf(error)}). Choose another folder, such as ${join(target, '1')}.`;
    throw new BackupRefused(why, { cause: error });
  }
}

/**
 * The name of a copy of what is damaged: nobody is to take it for a backup, and its disk may soon give nothing better. It is
 * one that nothing has, for that may be another such copy, or the data directory itself.
 */
async function damagedAs(target: string): Promise<string> {
  const name = `${target}.damaged`;
  let free = name;
  for (let n = 2; (await orAbsent(lstat(free))) !== undefined; n += 1) free = `${name}-${n}`;
  return free;
}

/** So many are named; `doctor` names all. */
const NAMED_PROBLEMS = 10;

function damaged(folder: string, place: string, problems: readonly Problem[]): BackupRefused {
  const named = problems.slice(0, NAMED_PROBLEMS).map(({ path, problem }) => `\n  ${path}: ${problem}`);
  const more = problems.length > NAMED_PROBLEMS ? `\n  and ${problems.length - NAMED_PROBLEMS} more` : '';
  return new BackupRefused(
    `${folder} is damaged, so there is no new backup. Keep the older ones, and bring back from them what is named here; ` +
      `\`doctor\` looks again. The copy is kept as ${place}.${named.join('')}${more}`,
  );
}

/**
 * Reads a copy, and returns what in it is not as it was written. Damaged files of the inbox that the service has set aside
 * do not count: it has told of them.
 */
async function problemsIn(copy: string): Promise<readonly Problem[]> {
  try {
    using table = sqliteTable(databaseIn(copy), { clock: Date.now });
    const kept = { table, lake: folderFiles(lakeIn(copy)), runFiles: folderFiles(runFilesIn(copy)) };
    const inboxProblems = async () => (await inboxProblemsIn(copy)).filter(({ path }) => !path.startsWith(SET_ASIDE));
    const examined = { ...kept, tableProblems: () => table.problems(), inboxProblems };
    return (await examine(examined, () => projectsOfAll(kept), silentProgress())).problems;
  } catch (error) {
    if (isDamage(error)) return [{ path: basename(databaseIn(copy)), problem: messageOf(error) }];
    throw error;
  }
}

const unfinishedIn = (target: string): string => `${target}.unfinished`;

/** Why a backup has no room. What was copied of it stays, to be cleared by the next one into the same folder. */
const diskFull = (target: string, cause: unknown): BackupRefused =>
  new BackupRefused(
    `The disk of ${target} is full. Free space there, or choose a folder on another disk and remove ${unfinishedIn(target)}.`,
    { cause },
  );

/** Does what writes to the disk of a backup. */
async function writing<T>(target: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isDiskFull(error) ? diskFull(target, error) : error;
  }
}

/** Returns what was copied, and the paths of what the disk does not give. */
async function copyAll(folder: string, target: string): Promise<Contents & { readonly unreadable: readonly string[] }> {
  // Whoever has the database open by itself, as here after a kill, closes it by the table's rules.
  using _table = sqliteTable(databaseIn(folder), { clock: Date.now });
  const unfinished = unfinishedIn(target);
  const copy = new GrowingCopy(folder, target);
  // What takes long is done first; what has changed meanwhile is little.
  await copy.catchUp();
  await copy.catchUp();
  const [snapshot, madeAt] = await withoutWrites(databaseIn(folder), async () => {
    for (let looks = 1; await copy.catchUp(); looks += 1) {
      if (looks === MAX_LOOKS) throw new BackupRefused(`The files of ${folder} change too fast. Try again.`);
    }
    return [openSnapshot(databaseIn(folder)), new Date()] as const;
  });
  try {
    await writing(target, copyDatabase(snapshot, databaseIn(unfinished), { rate: PAGES }));
  } finally {
    snapshot.close();
  }
  await syncPath(databaseIn(unfinished));
  const { files, bytes } = copy.size();
  return {
    made_at: madeAt.toISOString(),
    files: files + 1,
    bytes: bytes + ((await sizeOf(databaseIn(unfinished))) ?? 0),
    unreadable: copy.unreadable(),
  };
}

/** A copy of a data directory for a backup, which is brought up to date again and again. */
class GrowingCopy {
  readonly #from: string;
  readonly #target: string;
  readonly #to: string;
  /**
   * What was copied, by path: what tells a file from another that takes its place, and the size of the copy; undefined: there
   * is none, for the disk does not give it.
   */
  readonly #copied = new Map<string, { readonly mark: string; readonly bytes: number | undefined }>();

  constructor(from: string, target: string) {
    this.#from = from;
    this.#target = target;
    this.#to = unfinishedIn(target);
  }

  /** What the copy should hold. */
  size(): Size {
    const sizes = [...this.#copied.values()].flatMap(({ bytes }) => bytes ?? []);
    return { files: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
  }

  /** The paths of what cannot be copied, for the disk does not give it. */
  unreadable(): string[] {
    return [...this.#copied].flatMap(([path, { bytes }]) => (bytes === undefined ? path : []));
  }

  /** Copies what is new or another file, and removes what is gone. Returns whether anything had changed, but for the inbox. */
  async catchUp(): Promise<boolean> {
    let hasChanged = false;
    const gone = new Set(this.#copied.keys());
    for await (const path of pathsBelow(this.#from)) {
      if (LEFT_OUT.test(path.split('/', 1)[0] ?? '')) continue;
      gone.delete(path);
      if ((await this.#copy(path)) && !path.startsWith(INBOX)) hasChanged = true;
    }
    for (const path of gone) {
      this.#copied.delete(path);
      await rm(join(this.#to, path), { force: true });
      if (!path.startsWith(INBOX)) hasChanged = true;
    }
    return hasChanged;
  }

  async #copy(path: string): Promise<boolean> {
    const known = this.#copied.get(path);
    if (known !== undefined && path.startsWith(LAKE)) return false;
    const [source, copy] = [join(this.#from, path), join(this.#to, path)];
    try {
      const { ino, size, mtimeNs } = await stat(source, { bigint: true });
      const mark = `${ino}-${size}-${mtimeNs}`;
      if (known?.mark === mark) return false;
      const isCopied = await writing(this.#target, copyOfWhole(source, copy));
      // More than that is copied of one that grows.
      this.#copied.set(path, { mark, bytes: isCopied ? (await stat(copy)).size : undefined });
    } catch (error) {
      // It went while it was copied: the next look finds what became of it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    return true;
  }
}

/** Copies a file, unless the disk does not give it: then nothing is left of the copy. Returns whether it was copied. */
async function copyOfWhole(source: string, copy: string): Promise<boolean> {
  try {
    await copyWhole(source, copy);
    return true;
  } catch (error) {
    // The disk of the copy may be the broken one.
    if (!isDiskBroken(error) || !(await digestOf(source).then(() => false, isDiskBroken))) throw error;
    await rm(copy, { force: true });
    return false;
  }
}

/** Does the work while nobody can write to the database. */
async function withoutWrites<T>(file: string, work: () => Promise<T>): Promise<T> {
  using database = new DatabaseSync(file, { timeout: LOCK_TIMEOUT_MS });
  try {
    database.exec('BEGIN IMMEDIATE');
    return await work();
  } catch (error) {
    if (isBusy(error))
      throw new BackupRefused('The database was written to all the time. Try again.', { cause: error });
    throw error;
  }
}

/** Opens the database as it is now: later writes are not seen. */
function openSnapshot(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { readOnly: true, timeout: LOCK_TIMEOUT_MS });
  database.exec('BEGIN');
  database.prepare('SELECT count(*) FROM sqlite_schema').get();
  return database;
}
