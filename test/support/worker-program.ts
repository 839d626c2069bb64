/** What a worker of the tests can do: well, badly, and never. */
import { serveTasks } from '../../lib/workers/serve.ts';

const PIECE = 1024 * 1024;
const kept: Buffer[] = [];

await serveTasks(async ({ options }) => ({
  answers: async (input: unknown) => ({ input, pid: process.pid, environment: Object.keys(process.env) }),
  tells: async () => options,
  /** Gives so many pieces; each is filled with its number. */
  gives: async function* (pieces: number): AsyncGenerator<Uint8Array, unknown> {
    for (let n = 0; n < pieces; n += 1) yield Buffer.alloc(PIECE, n);
    yield Buffer.alloc(0);
    return pieces;
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
  /** Takes so many megabytes and keeps them. */
  takes: async function* (megabytes: number): AsyncGenerator<Uint8Array, unknown> {
    yield Buffer.alloc(1);
    for (let n = 0; n < megabytes; n += 1) {
      kept.push(Buffer.alloc(PIECE, 1));
      if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return kept.length;
  },
}));
