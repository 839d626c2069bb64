/** Calls of the file system, watched. */
import files, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

interface FileCalls {
  /** Stops the watching. */
  readonly stop: () => void;
  /** How many of the files that were opened while it watched are open still. */
  readonly stillOpen: () => number;
}

/**
 * Calls `before` with the name ahead of every call of the file system, which fails with what that throws, and waits for
 * what it returns.
 */
export async function watchFileCalls(before: (name: string) => void | Promise<void>): Promise<FileCalls> {
  const undo: (() => void)[] = [];
  const opened: FileHandle[] = [];
  const watch = (target: object, name: string): void => {
    const original: unknown = Reflect.get(target, name);
    if (typeof original !== 'function') throw new Error(`no function '${name}'`);
    Reflect.set(target, name, function (this: unknown, ...given: unknown[]): unknown {
      const call = (): unknown => Reflect.apply(original, this, given);
      const held = before(name);
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
    opened.push(file);
    return file;
  };
  undo.push(() => Object.assign(files, { open }));
  const names = 'link lstat mkdir open readdir readFile realpath rename rm rmdir stat unlink writeFile';
  for (const name of names.split(' ')) watch(files, name);
  syncBuiltinESMExports();
  return {
    stop: () => {
      for (const restore of undo.splice(0).toReversed()) restore();
      syncBuiltinESMExports();
    },
    // A file that was closed has no number.
    stillOpen: () => opened.filter(({ fd }) => fd !== -1).length,
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
