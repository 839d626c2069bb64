/** Imports files that grow, again and again, as `tail -F` shows them: what a writer adds, and the next file after a rotation. */
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inWords } from '../../ports/disk-failures.ts';
import { Transient } from '../../ports/errors.ts';
import { orAbsent } from '../../ports/files/or-absent.ts';
import { Busy } from '../../ports/table/table.ts';
import { SECOND_MS } from '../../ports/units.ts';
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

/** A file as it was when it was read. */
interface Seen {
  readonly inode: bigint;
  readonly size: bigint;
  /** When it was last written, nanoseconds. */
  readonly written: bigint;
}

const isSame = (a: Seen | undefined, b: Seen): boolean =>
  a !== undefined && a.inode === b.inode && a.size === b.size && a.written === b.written;

/**
 * Reads what files get until it is stopped. While another import into the project runs, it waits, and so it does for what
 * passes. Throws what else `read` does.
 */
export async function follow({ files, read, onRead, onTrouble, onLost, pause, stop }: FollowOptions): Promise<void> {
  let told: string | undefined;
  const seen = new Map<string, Seen>();
  /** Files that were moved away, by where they lie now, and how many times more they are looked at. */
  const moved = new Map<string, number>();
  /** What the last look has found in files that no reading has had since. */
  const changed = new Map<string, Seen>();
  while (!stop.aborted) {
    try {
      for (const file of files) {
        const last = seen.get(file);
        if (last === undefined || (await seenOf(file))?.inode === last.inode) continue;
        const place = await movedTo(file, last.inode);
        seen.delete(file);
        if (place === undefined) onLost(file);
        else {
          moved.set(place, LAST_LOOKS);
          seen.set(place, last);
        }
      }
      for (const file of moved.keys()) {
        if ((await seenOf(file)) !== undefined) continue;
        moved.delete(file);
        if (changed.has(file)) onLost(file);
      }
      changed.clear();
      for (const file of [...moved.keys(), ...files]) {
        const now = await seenOf(file);
        if (now !== undefined && !isSame(seen.get(file), now)) changed.set(file, now);
      }
      if (changed.size > 0) {
        onRead(await read([...changed.keys()]));
        told = undefined;
      }
      for (const [file, now] of changed) seen.set(file, now);
      changed.clear();
      for (const [file, looks] of moved) {
        if (looks > 1) moved.set(file, looks - 1);
        else moved.delete(file);
      }
    } catch (error) {
      if (error instanceof ImportStopped) return;
      if (!(error instanceof ImportUnderWay) && !(await isAnyGone(changed))) {
        const reason = troubleOf(error);
        if (reason !== told) onTrouble(reason);
        told = reason;
      }
    }
    await pause(LOOK_MS, stop);
  }
}

/** Returns what may pass, in words. Throws what does not. */
function troubleOf(thrown: unknown): string {
  const error = inWords(thrown);
  if (error instanceof Busy || error instanceof LeaseLost || error instanceof Transient) return error.message;
  throw thrown;
}

/** Whether one of the files is not there any more, or is another one: a rotation goes on while they are read. */
async function isAnyGone(files: ReadonlyMap<string, Seen>): Promise<boolean> {
  for (const [file, { inode }] of files) if ((await seenOf(file))?.inode !== inode) return true;
  return false;
}

/** Undefined: the file is not there, as between the two steps of a rotation. */
async function seenOf(file: string): Promise<Seen | undefined> {
  const found = await stat(file, { bigint: true }).catch(() => undefined);
  return found === undefined ? undefined : { inode: found.ino, size: found.size, written: found.mtimeNs };
}

/** Where a file lies that was renamed within its folder. */
async function movedTo(file: string, inode: bigint): Promise<string | undefined> {
  const folder = dirname(file);
  for (const name of (await orAbsent(readdir(folder))) ?? []) {
    const path = join(folder, name);
    if ((await seenOf(path))?.inode === inode) return path;
  }
  return undefined;
}
