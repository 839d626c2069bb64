/** Programs in processes of their own, so that the memory and time of one are not counted for another. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Bench } from './bench.ts';

type Where = Pick<Bench, 'folder' | 'signal'>;

const root = join(import.meta.dirname, '../..');

/** Starts a program of `programs/` and leaves it running. */
export function startProgram(name: string, input: object, where: Where): Started {
  const file = join(where.folder, `${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(input));
  return start(join(import.meta.dirname, 'programs', name), [file], {}, where);
}

/** Runs a program of `programs/` to its end; its output is the last thing that it told. */
export async function run(name: string, input: object, where: Where): Promise<{ output: unknown; peakMb: number }> {
  const started = startProgram(name, input, where);
  const peakMb = await started.ended();
  return { output: JSON.parse(started.lines().at(-1) ?? 'null'), peakMb };
}

interface Started {
  /** Returns the processor time that it has taken, in milliseconds, without its workers; NaN where the system has no /proc. */
  readonly processorMs: () => number;
  /** Returns what it has written so far. */
  readonly lines: () => string[];
  /** Resolves to the line with this text in it, as soon as it is there. */
  readonly line: (text: string) => Promise<string>;
  /** Ends it with SIGTERM; returns the most memory that it ever had with its workers (resident, in MB). */
  readonly stop: () => Promise<number>;
  /** The same, once it has ended by itself. */
  readonly ended: () => Promise<number>;
}

/** Starts a program of the project and leaves it running; it is killed with the bench. */
export function start(
  file: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  { folder, signal }: Where,
): Started {
  const name = join(folder, randomUUID());
  const [out, errors, peak] = [`${name}.out`, `${name}.err`, `${name}.peak`];
  const child = spawn(process.execPath, ['--import', join(import.meta.dirname, 'peak.ts'), file, ...words], {
    cwd: root,
    env: { ...process.env, ...environment, PEAK_FILE: peak },
    stdio: ['ignore', openSync(out, 'w'), openSync(errors, 'w')],
    signal,
    killSignal: 'SIGKILL',
  });
  const withWorkers = watchMemory(child);
  const lines = (): string[] => readFileSync(out, 'utf8').split('\n').slice(0, -1);
  const ended = async (): Promise<number> => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal });
    if (child.exitCode !== 0) throw new Error(`${file} ended with ${child.exitCode}:\n${readFileSync(errors, 'utf8')}`);
    return Math.max(Number(readFileSync(peak, 'utf8')), withWorkers());
  };
  child.on('error', () => {});
  return {
    processorMs: () => processorMs(child.pid),
    lines,
    ended,
    async line(text) {
      for (;;) {
        const found = lines().find((line) => line.includes(text));
        if (found !== undefined) return found;
        if (hasEnded(child)) throw new Error(`${file} ended too soon:\n${readFileSync(errors, 'utf8')}`);
        await setTimeout(20, undefined, { signal });
      }
    },
    stop() {
      child.kill('SIGTERM');
      return ended();
    },
  };
}

/** How often the memory of a program and its workers is looked at. */
const WATCH_MS = 100;

/**
 * Looks at the memory of a process and of those that it started, all together, as long as it runs. Returns what tells
 * the most that was seen, in MB: 0 where the system has no /proc. Pages that several of them have count once.
 */
function watchMemory(child: ChildProcess): () => number {
  let most = 0;
  const look = (): void => {
    const pids = child.pid === undefined ? [] : [child.pid, ...childrenOf(child.pid)];
    most = Math.max(most, pids.reduce((sum, pid) => sum + proportionalKb(pid), 0) / 1024);
  };
  const timer = setInterval(look, WATCH_MS).unref();
  child.once('exit', () => clearInterval(timer));
  return () => most;
}

function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const text = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')).join(' ');
    return text.split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function proportionalKb(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Linux counts processor time in pieces of so many milliseconds. */
const TICK_MS = 10;

function processorMs(pid: number | undefined): number {
  try {
    const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
    const fields = after.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return Number.NaN;
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;
