/** The folder of a data directory: whose it is, and whether it may be one. Nothing in it is opened here. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A data directory that cannot be used as it is; the message says what to do. */
export class UnusableDataDirectory extends Error {
  override readonly name = 'UnusableDataDirectory';
}

export const databaseIn = (folder: string): string => join(folder, 'workspace.db');

/** One of these tells a folder of the service: the first start makes one before all else. Of a damaged one only the key may be left. */
const MARKS = ['service.lock', 'workspace.db', 'version.json', 'welcomed', 'vault.key'];

export const IS_NO_FOLDER = 'cannot be a folder: a file is in the way';

/** Why a folder cannot be made with all that are above it, or not be used, by Node's codes: there, ENOENT stands for EROFS, too. */
const OBSTACLES: Readonly<Record<string, string>> = {
  EEXIST: IS_NO_FOLDER,
  ENOTDIR: IS_NO_FOLDER,
  ENOENT: 'cannot be made: its disk is read-only, or a link leads nowhere',
  EACCES: 'may not be made, or read and written, by the user of this process',
  EPERM: 'may not be made, or read and written, by the user of this process',
  EROFS: 'cannot be written: its disk is read-only',
};

/** Where a restore copies to, in the folder of which it makes a data directory: until it is gone, the folder is none. */
export const restoringIn = (folder: string): string => join(folder, '.restoring');

/** Returns whether something in a folder keeps it from becoming a data directory. A new disk has `lost+found`, and many a folder hides something. */
export const isOthers = (name: string): boolean => !name.startsWith('.') && name !== 'lost+found';

/**
 * Makes the folder, where it is not there yet, and closes it to all but its user. Throws `UnusableDataDirectory` for what
 * is no folder, may not be used or is somebody else's, and for a folder with others' things, such as /etc, which is left open.
 */
export function makeDataDirectory(folder: string): void {
  refuseFolder(folder);
  makeFolder(folder);
}

/** Makes the folder as `makeDataDirectory` does, for a restore. */
export function makeFolder(folder: string): void {
  const names = inWords(folder, () => {
    mkdirSync(folder, { recursive: true });
    return readdirSync(folder);
  });
  const other = names.find(isOthers);
  if (other !== undefined && !MARKS.some((mark) => names.includes(mark))) {
    throw new UnusableDataDirectory(
      `${folder} holds other things, such as ${other}. Choose a folder of its own for the service with WORKSPACE_HOME.`,
    );
  }
  inWords(folder, () => chmodSync(folder, 0o700));
}

/** Throws `UnusableDataDirectory` for another user's directory, and for one that a restore has not made whole. Nothing of it is touched. */
export function refuseFolder(folder: string): void {
  refuseOthersFolder(folder);
  if (!existsSync(restoringIn(folder))) return;
  throw new UnusableDataDirectory(`A restore into ${folder} did not end: restore the backup again.`);
}

function inWords<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const why = OBSTACLES[(error as NodeJS.ErrnoException).code ?? ''];
    if (why === undefined) throw error;
    throw new UnusableDataDirectory(`${folder} ${why}. Choose another one with WORKSPACE_HOME.`, { cause: error });
  }
}

/**
 * Throws `UnusableDataDirectory` when the directory is another user's than whom this process runs as. What one of them
 * makes there, be it root, the other could not open; the service stops landing events then.
 */
export function refuseOthersFolder(folder: string): void {
  const user = process.geteuid?.();
  const owner = ownerOf(databaseIn(folder)) ?? ownerOf(folder);
  if (user === undefined || owner === undefined || owner === user) return;
  throw new UnusableDataDirectory(
    `${folder} belongs to user ${owner}, and this is user ${user}: what one of them makes there, the other could not open. ` +
      `Run this as user ${owner} (sudo -u $(id -nu ${owner}) WORKSPACE_HOME=${folder}, and then the command). Or stop the service ` +
      `and give the folder to user ${user} (chown -R ${user} ${folder}), or choose another one with WORKSPACE_HOME.`,
  );
}

/** Returns undefined for what is not there, or may not be looked at. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}
