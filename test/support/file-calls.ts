/** Calls of the file system, watched. */
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Calls `before` with the name ahead of every call of the file system, which fails with what that throws, and waits for
 * what it returns. Returns the function that stops the watching.
 */
export async function watchFileCalls(before: (name: string) => void | Promise<void>): Promise<() => void> {
  const undo: (() => void)[] = [];
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
  const names = ['link', 'lstat', 'mkdir', 'open', 'readdir', 'readFile', 'realpath', 'rename', 'rm', 'stat'];
  for (const name of names) watch(files, name);
  syncBuiltinESMExports();
  return () => {
    for (const restore of undo) restore();
    syncBuiltinESMExports();
  };
}
