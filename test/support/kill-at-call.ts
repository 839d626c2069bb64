/**
 * Loaded first (`node --import`), kills the process with SIGKILL before its n-th call of the file system, n from
 * `KILL_AT`. To die after a call is to die before the next.
 */
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const at = Number(process.env['KILL_AT']);
let calls = 0;

function counted(target: object, name: string): void {
  const original: unknown = Reflect.get(target, name);
  if (typeof original !== 'function') throw new Error(`no function '${name}'`);
  Reflect.set(target, name, function (this: unknown, ...given: unknown[]): unknown {
    calls += 1;
    if (calls === at) process.kill(process.pid, 'SIGKILL');
    return Reflect.apply(original, this, given);
  });
}

const handle = await files.open(import.meta.filename);
for (const name of ['writeFile', 'sync', 'stat']) counted(Object.getPrototypeOf(handle) as object, name);
for (const name of ['mkdir', 'open', 'realpath', 'rename', 'rm', 'stat']) counted(files, name);
syncBuiltinESMExports();
