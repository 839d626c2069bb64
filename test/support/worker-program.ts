/** What a worker of the tests can do: well, badly, and never. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { serveTasks } from '../../lib/workers/serve.ts';

const PIECE = 1024 * 1024;
const kept: Buffer[] = [];

interface Options {
  /** It is ready for tasks once this file is there. */
  readonly waitsFor?: string;
}

const tasksWith = (options: unknown) => ({
  answers: async (input: unknown) => ({ input, pid: process.pid, environment: Object.keys(process.env) }),
  tells: async () => options,
  /** The niceness of each of its threads, once there are those that read files; empty where the system has no /proc. */
  stands: async () => {
    const threads = await readdir('/proc/self/task').catch(() => []);
    return threads.map((id) => getPriority(Number(id)));
  },
  /** Gives so many pieces; each is filled with its number. */
  gives: async function* (pieces: number): AsyncGenerator<Uint8Array, unknown> {
    for (let n = 0; n < pieces; n += 1) yield Buffer.alloc(PIECE, n);
    yield Buffer.alloc(0);
    return pieces;
  },
  /** Hands over so many files, one after another. */
  hands: async function* ({ folder, count }: { folder: string; count: number }): AsyncGenerator<object> {
    for (let n = 0; n < count; n += 1) {
      const path = join(folder, String(n));
      writeFileSync(path, '');
      yield { name: String(n) };
      rmSync(path);
    }
  },
  fails: async ({ name, message }: { name: string; message: string }) => {
    throw Object.assign(new Error(message), { name });
  },
  dies: async () => {
    process.stderr.write('the last words\n');
    process.exit(7);
  },
  /** Keeps its thread busy for ever. */
  turns: async () => {
    for (;;);
  },
  /** Holds so many megabytes until its next step. */
  holds: async function* (megabytes: number): AsyncGenerator<Uint8Array, unknown> {
    const held = Array.from({ length: megabytes }, () => Buffer.alloc(PIECE, 1));
    yield Buffer.alloc(1);
    return held.length;
  },
  /** Takes so many megabytes and keeps them. */
  takes: async function* (megabytes: number): AsyncGenerator<Uint8Array, unknown> {
    yield Buffer.alloc(1);
    for (let n = 0; n < megabytes; n += 1) {
      kept.push(Buffer.alloc(PIECE, 1));
      if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return kept.length;
  },
});

await serveTasks<Options | null>(async ({ options }) => {
  const awaited = options?.waitsFor;
  if (awaited !== undefined) while (!existsSync(awaited)) await pause(5);
  return tasksWith(options);
});
