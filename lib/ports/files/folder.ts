/**
 * Files in a folder. A file is written beside its place, brought to the disk, and moved there by one rename, so a
 * reader sees the whole file or none, also after a power cut.
 */

import { randomUUID } from 'node:crypto';
import { constants, createReadStream, type Dirent } from 'node:fs';
import { access, copyFile, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isRunning } from '../../basics/process.ts';
import { DAY_MS, SECOND_MS } from '../../basics/units.ts';
import { compareText } from '../table/semantics.ts';
import type { FileStore, ListedFile } from './files.ts';
import { isAbsence, orNoFile } from './or-absent.ts';
import { partsOf, UNFINISHED } from './path.ts';
import { syncPath } from './sync-path.ts';

/** What is unfinished for a day is left over, whoever wrote it. */
const LEFTOVER_AGE_MS = DAY_MS;

/** When this process began, in milliseconds since 1970, and by how much clocks of files may differ from its own. */
const STARTED_AT = Date.now() - process.uptime() * SECOND_MS;
const FILE_CLOCK_MS = SECOND_MS;

/** Returns the files below `root`, which is made when the first file is written. */
export function folderFiles(root: string): FileStore {
  const base = resolve(root);
  const unfinished = join(base, UNFINISHED);
  let swept: Promise<void> | undefined;

  const place = (path: string): string => join(base, ...partsOf(path));

  /** Returns the place of a file or folder: `folder/` is fine, and an empty path is all of them. */
  const placeOf = (prefix: string): string => (prefix === '' ? base : place(prefix.replace(/\/$/, '')));

  const write: FileStore['write'] = async (path, content) => {
    const target = place(path);
    await (swept ??= removeLeftovers(base));
    const temporary = join(unfinished, unfinishedName());
    try {
      const file = await inFolder(unfinished, () => open(temporary, 'wx'));
      try {
        await file.writeFile(content);
        await file.sync();
      } finally {
        await file.close();
      }
      await putInPlace(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  };

  return {
    root: base,
    write,
    read: async (path) => orNoFile(readFile(place(path))),
    list: (prefix) => filesBelow(placeOf(prefix), prefix.replace(/\/$/, '')),
    move: async (from, to) => {
      const target = place(to);
      try {
        await putInPlace(place(from), target);
        await syncPath(dirname(place(from)));
      } catch (error) {
        if (!isAbsence(error) || !(await orNoFile(stat(target)))?.isFile()) throw error;
      }
    },
    take: async (localFile, path) => {
      await syncPath(localFile);
      try {
        await putInPlace(localFile, place(path));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
        await write(path, createReadStream(localFile));
        await rm(localFile);
      }
    },
    save: async (path, localFile, signal) => {
      signal?.throwIfAborted();
      await copyFile(place(path), localFile, constants.COPYFILE_FICLONE);
    },
    local: async (paths) => {
      for (const path of paths) await access(place(path));
      return paths.map(place);
    },
    remove: async (prefix) => {
      if (prefix === '') throw new TypeError(`removing all files of ${base}`);
      await rm(placeOf(prefix), { recursive: true, force: true });
    },
    removeFiles: async (paths) => {
      for (const path of paths) await rm(place(path), { force: true });
    },
    address: place,
  };
}

async function putInPlace(from: string, target: string): Promise<void> {
  const folder = dirname(target);
  await inFolder(folder, () => rename(from, target));
  await syncPath(folder);
}

/**
 * Does what needs a folder, which is nearly always there. One that had to be made is on the disk before that is done; where two
 * make it at one time, for the one who came first.
 */
async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await makeFolder(folder);
    return work();
  }
}

/** Makes a folder and its parents, and brings their names to the disk, each of which is in the parent. */
async function makeFolder(folder: string): Promise<void> {
  const firstMade = await mkdir(folder, { recursive: true });
  if (firstMade === undefined) return;
  for (let made = folder; made.length >= firstMade.length; made = dirname(made)) await syncPath(dirname(made));
}

/** Lists the file of this path, or all below it. Folders sort as their name and `/`: so the order is that of paths. */
async function* filesBelow(place: string, path: string): AsyncGenerator<ListedFile> {
  const entries = await entriesOf(place);
  if (entries === undefined) {
    const found = await orNoFile(stat(place));
    if (found?.isFile()) yield { path, size: found.size, writtenAt: found.mtimeMs };
    return;
  }
  const named = entries
    .filter((entry) => (entry.isFile() || entry.isDirectory()) && (path !== '' || entry.name !== UNFINISHED))
    .map((entry) => ({ entry, order: entry.isDirectory() ? `${entry.name}/` : entry.name }))
    .toSorted((a, b) => compareText(a.order, b.order));
  for (const { entry } of named)
    yield* filesBelow(join(place, entry.name), path === '' ? entry.name : `${path}/${entry.name}`);
}

/** Returns undefined when this is no folder, or not there. */
const entriesOf = (place: string): Promise<Dirent[] | undefined> => orNoFile(readdir(place, { withFileTypes: true }));

/** Returns a name that nobody else has, and that tells who writes: the process, and the machine that knows it. */
const unfinishedName = (): string => `${process.pid}@${hostname()}.${randomUUID()}`;

/** Removes unfinished files below `root` whose process is gone, and those that are a day old. */
export async function removeLeftovers(root: string): Promise<void> {
  const folder = join(root, UNFINISHED);
  for (const { name } of (await entriesOf(folder)) ?? []) {
    const file = join(folder, name);
    const found = await orNoFile(stat(file));
    if (found !== undefined && isLeftOver(name, found.mtimeMs)) await rm(file, { force: true });
  }
}

function isLeftOver(name: string, writtenAt: number): boolean {
  if (writtenAt < Date.now() - LEFTOVER_AGE_MS) return true;
  const [, pid, machine] = /^(\d+)@(.+)\.[^.]+$/.exec(name) ?? [];
  if (machine !== hostname()) return false;
  // A process that was restarted in its container has the number of the one before.
  return Number(pid) === process.pid ? writtenAt < STARTED_AT - FILE_CLOCK_MS : !isRunning(Number(pid));
}
