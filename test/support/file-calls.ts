/** Calls of the file system, watched. */
import files, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { relative } from 'node:path';
import { onEnd } from './on-end.ts';

interface FileCalls {
  /** Stops the watching. */
  readonly stop: () => void;
  /** How many of the files that were opened while it watched are open still. */
  readonly stillOpen: () => number;
}

/**
 * Calls `before` with the name, and the paths that it is about, ahead of every call of the file system, which fails with
 * what that throws, and waits for what it returns.
 */
export async function watchFileCalls(
  before: (name: string, paths: readonly string[]) => void | Promise<void>,
): Promise<FileCalls> {
  const undo: (() => void)[] = [];
  const opened = new Map<FileHandle, string>();
  const watch = (target: object, name: string): void => {
    const original: unknown = Reflect.get(target, name);
    if (typeof original !== 'function') throw new Error(`no function '${name}'`);
    Reflect.set(target, name, function (this: unknown, ...given: unknown[]): unknown {
      const call = (): unknown => Reflect.apply(original, this, given);
      const path = opened.get(this as FileHandle);
      const held = before(name, path === undefined ? given.filter((one) => typeof one === 'string') : [path]);
      return held === undefined ? call() : held.then(call);
    });
    undo.push(() => Reflect.set(target, name, original));
  };
  const handle = await files.open(import.meta.filename);
  for (const name of ['appendFile', 'writeFile', 'utimes', 'sync', 'datasync', 'stat'])
    watch(Object.getPrototypeOf(handle) as object, name);
  await handle.close();
  const { open } = files;
  files.open = async (...given) => {
    const file = await open(...given);
    opened.set(file, String(given[0]));
    return file;
  };
  undo.push(() => Object.assign(files, { open }));
  const names = 'copyFile link lstat mkdir open readdir readFile realpath rename rm rmdir stat unlink writeFile';
  for (const name of names.split(' ')) watch(files, name);
  syncBuiltinESMExports();
  const stop = (): void => {
    for (const restore of undo.splice(0).toReversed()) restore();
    syncBuiltinESMExports();
  };
  // The file system is that of the whole process: a test that fails before it stops must not fail those of other files.
  onEnd(stop);
  return {
    stop,
    // A file that was closed has no number.
    stillOpen: () => [...opened.keys()].filter(({ fd }) => fd !== -1).length,
  };
}

interface FailingFileCalls extends FileCalls {
  /** Whether there were so many calls that one failed. */
  readonly hasFailed: () => boolean;
}

/** Has the n-th call of the file system fail, counted from 1, and `andLater` those behind it, as of a dead process. */
export async function failFileCalls(
  n: number,
  { andLater }: { readonly andLater: boolean },
): Promise<FailingFileCalls> {
  let calls = 0;
  const watched = await watchFileCalls(() => {
    calls += 1;
    if (calls === n || (andLater && calls > n)) throw new Error('the call fails');
  });
  return { ...watched, hasFailed: () => calls >= n };
}

const ID = /[^/]*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Returns the calls of these names that the work makes of the file system, in their order, each with its paths below the
 * folder, in which all of a name up to an id is `*`.
 */
export async function fileCallsOf(
  folder: string,
  names: readonly string[],
  work: () => Promise<unknown>,
): Promise<string[]> {
  const made: string[] = [];
  const watched = await watchFileCalls((name, paths) => {
    if (!names.includes(name)) return;
    made.push([name, ...paths.map((path) => relative(folder, path).replace(ID, '*') || '.')].join(' '));
  });
  await work().finally(watched.stop);
  return made;
}
