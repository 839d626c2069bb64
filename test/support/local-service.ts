/** `npm start` and `npm run admin` as a person has them: processes of their own over one data directory. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { COMPILE_CACHE } from './compile-cache.ts';

const root = join(import.meta.dirname, '../..');

/** One line of the service's log. */
type Line = Readonly<Record<string, unknown>> & { readonly message: string };

export interface LocalService {
  readonly process: ChildProcess;
  readonly address: string;
  /** The lines that it has logged so far. */
  readonly lines: Line[];
  /** Resolves to what the first start tells: the key, which it leaves in a file, and the project. */
  welcome(): Promise<{ readonly key: string; readonly project: string; readonly keyFile: string }>;
  /** Resolves to the first line whose message begins so. Rejects when the service ends before. */
  line(beginning: string): Promise<Line>;
  /** Sends the signal and waits for the end; returns the exit code, null after a kill. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/**
 * Starts the service on a data directory, on any free port, and waits until it listens. `program` is the folder of its
 * sources, `variables` are more of its environment.
 */
export async function startLocally(
  dataDirectory: string,
  program = root,
  variables: Readonly<Record<string, string>> = {},
): Promise<LocalService> {
  const child = spawn(process.execPath, ['infra/local/main.ts'], {
    cwd: program,
    env: {
      ...process.env,
      ...COMPILE_CACHE,
      WORKSPACE_HOME: dataDirectory,
      PORT: '0',
      HOST: '127.0.0.1',
      RATE_LIMIT: 'off',
      ...variables,
    },
    // As the program starts it, so that it ends with this process, too.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  }) as ChildProcessByStdio<null, Readable, Readable>;
  const lines: Line[] = [];
  const watchers = new Set<() => void>();
  let errors = '';
  let rest = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  child.stdout.on('data', (chunk) => {
    const parts = (rest + String(chunk)).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((text) => JSON.parse(text) as Line));
    for (const look of watchers) look();
  });
  const line = (beginning: string): Promise<Line> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.find(({ message }) => message.startsWith(beginning));
        if (found === undefined) return;
        watchers.delete(look);
        resolve(found);
      };
      watchers.add(look);
      child.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${errors}`)));
      look();
    });
  const { address } = await line('listening');
  return {
    process: child,
    address: String(address),
    lines,
    line,
    welcome: async () => {
      const { key_file: file, project_id: project } = await line('first start');
      return { key: readFileSync(String(file), 'utf8').trim(), project: String(project), keyFile: String(file) };
    },
    end: async (signal) => {
      const ended = once(child, 'exit');
      child.kill(signal);
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}

/** Runs a program of the project to its end. */
export async function run(
  program: 'infra/local/main.ts' | 'infra/local/admin.ts',
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ code: number | null; out: string; errors: string }> {
  const child = spawn(process.execPath, [program, ...words], {
    cwd: root,
    env: { ...process.env, ...COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, errors };
}
