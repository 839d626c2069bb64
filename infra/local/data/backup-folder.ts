/** A folder that holds a backup: what is in it, and whether that is all. */
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { digestOf } from '../../../lib/lake/intact.ts';
import { orAbsent } from '../../../lib/ports/files/or-absent.ts';
import { UNFINISHED } from '../../../lib/ports/files/path.ts';
import { syncPath } from '../../../lib/ports/files/sync-path.ts';

/** A backup that cannot be made or used; the message says why, and what to do. */
export class BackupRefused extends Error {
  override readonly name = 'BackupRefused';
}

export interface Size {
  readonly files: number;
  readonly bytes: number;
}

/** What a backup holds; it is written last, so a folder without it is no whole backup. */
export interface Contents extends Size {
  /** Of when its state is: ISO 8601, UTC. */
  readonly made_at: string;
  /** Of files whose content nothing else tells: SHA-256, in hexadecimal digits. Absent: the backup is older than they are. */
  readonly sha256?: Readonly<Record<string, string>>;
}

/** Files whose content nothing else tells: those of the lake have their digests in the database. */
const DIGESTED = ['workspace.db', 'vault.key', 'version.json'];

/** Returns the digests of a folder's files whose content nothing else tells. */
export async function digestsIn(folder: string): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const name of DIGESTED) {
    const digest = await orAbsent(digestOf(join(folder, name)));
    if (digest !== undefined) digests[name] = digest;
  }
  return digests;
}

export const CONTENTS = 'backup.json';

/** Whoever makes a backup holds it until it is there, for another one would begin anew in the same folder. */
export const LOCK = 'backup.lock';

/** Lists the files below a folder, by their paths with `/`; not those that are unfinished, nor the contents and the lock of a backup. */
export async function* pathsBelow(folder: string, path = ''): AsyncGenerator<string> {
  for (const entry of (await orAbsent(readdir(join(folder, path), { withFileTypes: true }))) ?? []) {
    const below = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory() && entry.name !== UNFINISHED) yield* pathsBelow(folder, below);
    else if (entry.isFile() && below !== CONTENTS && below !== LOCK) yield below;
  }
}

/** Throws `BackupRefused` when a folder does not hold as much as it should. */
export async function checkWhole(folder: string, should: Size, whatToDo: string): Promise<void> {
  let [files, bytes] = [0, 0];
  for await (const path of pathsBelow(folder)) {
    files += 1;
    bytes += (await sizeOf(join(folder, path))) ?? 0;
  }
  if (files === should.files && bytes === should.bytes) return;
  const had = `it has ${files} files of ${bytes} bytes, and had ${should.files} of ${should.bytes}`;
  throw new BackupRefused(`${folder} is not whole: ${had}. ${whatToDo}`);
}

export const sizeOf = async (file: string): Promise<number | undefined> => (await orAbsent(stat(file)))?.size;

/** Copies a file, with its mode, to the disk. */
export async function copyWhole(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await syncPath(to);
}
