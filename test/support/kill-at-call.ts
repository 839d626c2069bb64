/**
 * Loaded first (`node --import`), kills the process with SIGKILL before or after its n-th call of the file system:
 * `KILL_AT=<n> KILL_WHEN=before|after`.
 */
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const at = Number(process.env['KILL_AT']);
const isBefore = process.env['KILL_WHEN'] === 'before';
let calls = 0;

const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

function counted(target: object, name: string): void {
  const original: unknown = Reflect.get(target, name);
  if (typeof original !== 'function') throw new Error(`no function '${name}'`);
  Reflect.set(target, name, async function (this: unknown, ...given: unknown[]): Promise<unknown> {
    calls += 1;
    const isLast = calls === at;
    if (isLast && isBefore) die();
    const answer: unknown = await Reflect.apply(original, this, given);
    if (isLast) die();
    return answer;
  });
}

const handle = await files.open(import.meta.filename);
for (const name of ['writeFile', 'sync', 'stat']) counted(Object.getPrototypeOf(handle) as object, name);
for (const name of ['mkdir', 'open', 'realpath', 'rename', 'rm', 'stat']) counted(files, name);
syncBuiltinESMExports();
