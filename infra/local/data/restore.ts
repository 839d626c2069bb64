/** A data directory made of a backup. */
import { mkdir, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../../lib/basics/text.ts';
import { restoredItem } from '../../../lib/exports/records/restored.ts';
import { isBelow } from '../../../lib/ports/files/below.ts';
import { orAbsent } from '../../../lib/ports/files/or-absent.ts';
import { syncPath } from '../../../lib/ports/files/sync-path.ts';
import { sqliteTable } from '../../../lib/ports/table/sqlite.ts';
import {
  BackupRefused,
  CONTENTS,
  type Contents,
  checkWhole,
  copyWhole,
  digestsIn,
  pathsBelow,
  sizeOf,
} from './backup-folder.ts';
import { databaseIn, isOthers, makeFolder, refuseOthersFolder, restoringIn } from './data-folder.ts';
import { checkBackup } from './data-version.ts';

/**
 * Makes a data directory at `folder` of a backup. The folder must not be there yet, or be as empty as a new disk is: it is
 * filled from within, for a disk that is mounted there gives way to nothing. Throws `BackupRefused` or `UnusableDataDirectory`.
 */
export async function restore(source: string, folder: string): Promise<Contents> {
  const contents = await contentsOf(source);
  checkBackup(source);
  refuseOthersFolder(folder);
  // It would be a part of what it copies.
  if (isBelow(folder, [source])) throw new BackupRefused(`${folder} is in the backup: choose a folder elsewhere.`);
  const names = (await readdir(source)).filter((name) => name !== CONTENTS);
  const left = await leftIn(folder, names);
  await checkWhole(source, contents, 'Restore another backup.');
  const wasThere = await sizeOf(folder);
  for (const name of left) await rm(join(folder, name), { recursive: true });
  makeFolder(folder);
  const restoring = restoringIn(folder);
  try {
    await rm(restoring, { recursive: true, force: true });
    await mkdir(restoring, { mode: 0o700 });
    for await (const path of pathsBelow(source)) await copyWhole(join(source, path), join(restoring, path));
    checkDatabase(databaseIn(restoring));
    await checkDigests(restoring, contents);
    await noteRestore(databaseIn(restoring), contents);
  } catch (error) {
    await rm(restoring, { recursive: true, force: true });
    if (wasThere === undefined) await rmdir(folder);
    throw error;
  }
  for (const name of await readdir(restoring)) await rename(join(restoring, name), join(folder, name));
  await syncPath(folder);
  await rmdir(restoring);
  await syncPath(folder);
  return contents;
}

/**
 * Returns what a restore that was killed has left in the folder, of what it moves there. Throws `BackupRefused` when
 * anything else is there.
 */
async function leftIn(folder: string, names: readonly string[]): Promise<string[]> {
  if (!((await orAbsent(stat(folder)))?.isDirectory() ?? true)) throw isThere(folder);
  const found = ((await orAbsent(readdir(folder))) ?? []).filter(isOthers);
  const left = (await sizeOf(restoringIn(folder))) === undefined ? [] : found.filter((name) => names.includes(name));
  if (left.length < found.length) throw isThere(folder);
  return left;
}

const isThere = (folder: string): BackupRefused =>
  new BackupRefused(`${folder} is there already: move it away, or choose another folder with WORKSPACE_HOME.`);

function checkDatabase(file: string): void {
  using database = new DatabaseSync(file);
  const found = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {});
  if (found[0] !== 'ok') throw new BackupRefused(`The database of the backup is damaged: ${String(found[0])}.`);
}

/** Throws `BackupRefused` where a file whose content nothing else tells is another one than was written. */
async function checkDigests(folder: string, { sha256 = {} }: Contents): Promise<void> {
  const found = await digestsIn(folder);
  const other = Object.keys(sha256).find((name) => found[name] !== sha256[name]);
  if (other !== undefined)
    throw new BackupRefused(`${other} of the backup is not what was written. Restore another backup.`);
}

/** Tells the service, which may have delivered more since then than it has now. */
async function noteRestore(file: string, { made_at }: Contents): Promise<void> {
  using table = sqliteTable(file, { clock: Date.now });
  await table.write([{ put: restoredItem(Date.parse(made_at), Date.now()) }]);
}

async function contentsOf(source: string): Promise<Contents> {
  try {
    return JSON.parse(await readFile(join(source, CONTENTS), 'utf8')) as Contents;
  } catch (error) {
    throw new BackupRefused(`${source} is no whole backup (${messageOf(error)}).`, { cause: error });
  }
}
