/** Imports files that grow, again and again, as `tail -F` shows them: what a writer adds, and the next file after a rotation. */
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../../basics/text.ts';
import { SECOND_MS } from '../../basics/units.ts';
import { inWords } from '../../ports/disk-failures.ts';
import { Transient } from '../../ports/errors.ts';
import { orNoFile } from '../../ports/files/or-absent.ts';
import { Busy } from '../../ports/table/table.ts';
import { ImportUnderWay, LeaseLost } from '../lease.ts';
import { type ImportReport, ImportStopped } from './import.ts';

export interface FollowOptions {
  readonly files: readonly string[];
  /** Imports whole lines of files. Throws `ImportStopped` when it was stopped on the way. */
  readonly read: (files: readonly string[]) => Promise<ImportReport>;
  /** Told of after each time that something was read. */
  readonly onRead: (report: ImportReport) => void;
  /** Told, in words, of what keeps files from being read now and may pass; once, until they were read or it is another. */
  readonly onTrouble: (reason: string) => void;
  /** A file was moved away or removed before its end was read, and cannot be found. */
  readonly onLost: (file: string) => void;
  /** Resolves after so many milliseconds, or when the signal is aborted. */
  readonly pause: (ms: number, stop: AbortSignal) => Promise<void>;
  readonly stop: AbortSignal;
}

/** How long after a reading files are looked at again. */
const LOOK_MS = 5 * SECOND_MS;

/** A file that was moved away is looked at so many times more: its writer takes a moment to open the next one. */
const LAST_LOOKS = 12;

/** A file as a look has found it. */
interface Found {
  /** What it keeps when it is renamed. */
  readonly inode: string;
  readonly path: string;
  /** Another one after each time that it was written. */
  readonly content: string;
}

interface Followed extends Found {
  /** The content that was read last; undefined: none. */
  readonly read?: string;
  /** How many times more it is looked at, if it was moved away. */
  readonly looks: number;
}

/**
 * Reads what files get until it is stopped. While another import into the project runs, it waits, and so it does for what
 * passes. Throws what else `read` does.
 */
export async function follow({ files, read, onRead, onTrouble, onLost, pause, stop }: FollowOptions): Promise<void> {
  let told: string | undefined;
  /** By inode, the older ones of a log first. */
  const followed = new Map<string, Followed>();

  /** Finds again what is followed, and forgets what is gone. */
  const findAgain = async (): Promise<void> => {
    for (const [inode, before] of followed) {
      const found = await foundAgain(before);
      if (found !== undefined) {
        followed.set(inode, { ...before, ...found });
        continue;
      }
      followed.delete(inode);
      if (files.includes(before.path) || before.read !== before.content) onLost(before.path);
    }
  };

  /** Follows what lies now where the files were named. */
  const addNew = async (): Promise<void> => {
    for (const file of files) {
      const found = await foundAt(file);
      if (found === undefined || followed.has(found.inode)) continue;
      followed.set(found.inode, { ...found, looks: LAST_LOOKS });
    }
  };

  const readAll = async (unread: readonly Followed[]): Promise<void> => {
    if (unread.length > 0) {
      onRead(await read(unread.map(({ path }) => path)));
      told = undefined;
    }
    // Where another one lies now, that one may have been read instead.
    for (const file of unread) if (await isThere(file)) followed.set(file.inode, { ...file, read: file.content });
  };

  /** Forgets what was moved away and has had its last look. */
  const forgetMoved = (): void => {
    for (const [inode, file] of followed) {
      const looks = files.includes(file.path) ? LAST_LOOKS : file.looks - 1;
      if (looks > 0) followed.set(inode, { ...file, looks });
      else followed.delete(inode);
    }
  };

  while (!stop.aborted) {
    let unread: readonly Followed[] = [];
    try {
      await findAgain();
      await addNew();
      unread = [...followed.values()].filter((file) => file.read !== file.content);
      await readAll(unread);
      forgetMoved();
    } catch (error) {
      if (error instanceof ImportStopped) return;
      const reason = await troubleWith(unread, error);
      if (reason !== undefined && reason !== told) onTrouble(reason);
      told = reason ?? told;
    }
    await pause(LOOK_MS, stop);
  }
}

/**
 * Returns what kept files from being read and may pass, in words; undefined: another import runs, or a rotation went on
 * while they were read. Throws what does not pass.
 */
async function troubleWith(files: readonly Followed[], error: unknown): Promise<string | undefined> {
  try {
    const areThere = await Promise.all(files.map(isThere));
    if (error instanceof ImportUnderWay || areThere.includes(false)) return undefined;
  } catch (cannotLook) {
    return troubleOf(cannotLook);
  }
  return troubleOf(error);
}

/** What keeps this process from a file until somebody changes who may read it, or to where it leads. */
const KEPT_FROM: readonly unknown[] = ['EACCES', 'EPERM', 'ELOOP'];

/** Returns what may pass, in words. Throws what does not. */
function troubleOf(thrown: unknown): string {
  const error = inWords(thrown);
  if (error instanceof Busy || error instanceof LeaseLost || error instanceof Transient) return error.message;
  if (KEPT_FROM.includes((thrown as NodeJS.ErrnoException).code)) return messageOf(thrown);
  throw thrown;
}

/** Returns what a look finds; undefined: nothing. Throws `Transient` for what keeps it from being looked at: somebody mends it. */
async function look<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await orNoFile(work);
  } catch (error) {
    throw new Transient(messageOf(inWords(error)), { cause: error });
  }
}

/** Undefined: no file is there, as between the two steps of a rotation. */
async function foundAt(path: string): Promise<Found | undefined> {
  const found = await look(stat(path, { bigint: true }));
  return found && { inode: `${found.dev} ${found.ino}`, path, content: `${found.size} ${found.mtimeNs}` };
}

const isThere = async ({ inode, path }: Found): Promise<boolean> => (await foundAt(path))?.inode === inode;

/** The file as it is now, also if it was renamed within its folder. */
async function foundAgain({ inode, path }: Found): Promise<Found | undefined> {
  const there = await foundAt(path);
  if (there?.inode === inode) return there;
  const folder = dirname(path);
  for (const name of (await look(readdir(folder))) ?? []) {
    // What else lies there may not be for this process to look at.
    const found = await foundAt(join(folder, name)).catch(() => undefined);
    if (found?.inode === inode) return found;
  }
  return undefined;
}
