/** The worker's side: takes one task after another from the process that started it. */
import { existsSync, readdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { Socket } from 'node:net';
import { getPriority, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { MIB } from '../basics/units.ts';
import { collectBuffers } from './buffers.ts';
import { sentError } from './errors.ts';
import { type Frame, framesOf, jsonBody, writeFrame } from './frames.ts';

/**
 * Does a task: yields bytes and returns its result, or just resolves to that. Input and result are JSON. Any other object
 * that it yields is handed over as JSON, and it goes on when it is asked for the next.
 */
type Work = (input: never) => Steps | Promise<unknown>;

type Steps = AsyncGenerator<object, unknown>;

/** What a worker process is told when it is started. */
export interface Start<Options = unknown> {
  /** The process that it works for: it ends with it. */
  readonly parent: number;
  /** A folder of its own; it is removed when the process has ended. */
  readonly folder: string;
  /** How far it stands back from other processes, as the system counts it. */
  readonly niceness: number;
  readonly options: Options;
}

/** The file descriptor of the socket to the parent. */
const SOCKET_FD = 3;

/** Where Linux lists the threads of a process. */
const THREADS = '/proc/self/task';

/** So many pieces, of 64 KB to 1 MB, are made while the reader is behind: it works on one meanwhile. */
const MOST_AHEAD = 4;

/**
 * A task may leave so much in buffers that nobody needs. What the next one fills meanwhile is memory that the system does
 * not get back, and a worker that has much of it is replaced.
 */
const MOST_LEFT_BYTES = 32 * MIB;

/**
 * With all threads. Linux knows a niceness of each, where others know one of a process, and a new thread has that of the
 * one that makes it: those that are there by now had none. A service that stands further back itself is not overtaken.
 */
function standBack(niceness: number): void {
  const threads = existsSync(THREADS) ? readdirSync(THREADS).map(Number) : [0];
  for (const thread of threads)
    try {
      setPriority(thread, Math.max(niceness, getPriority(thread)));
    } catch {
      // It has ended meanwhile.
    }
}

/**
 * Ends the process once its parent is gone, whatever the process does: a thread looks, as a task may keep the main one
 * busy for ever.
 */
const WATCH = `
  const { workerData } = require('node:worker_threads');
  setInterval(() => { if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL'); }, 500);
`;

/** Serves tasks until the parent is gone. `works` is told how the process was started and returns its tasks by name. */
export async function serveTasks<Options>(
  works: (start: Start<Options>) => Promise<Readonly<Record<string, Work>>>,
): Promise<void> {
  const start = JSON.parse(process.argv[2] ?? '') as Start<Options>;
  standBack(start.niceness);
  new Worker(WATCH, { eval: true, workerData: start.parent, stdout: true, stderr: true }).unref();
  const socket = new Socket({ fd: SOCKET_FD, readable: true, writable: true });
  const tasks = await works(start);
  // It is killed at last, and would not do so by itself.
  flushCompileCache();
  await writeFrame(socket, 'ready', Buffer.alloc(0));
  const frames = framesOf(socket);
  for await (const { body } of frames) {
    const { name, input } = JSON.parse(body.toString()) as { name: string; input: never };
    try {
      const work = tasks[name];
      if (work === undefined) throw new Error(`there is no task ${name}`);
      const doing = work(input);
      const result = 'next' in doing ? await written(socket, frames, doing) : await doing;
      if (process.memoryUsage().arrayBuffers > MOST_LEFT_BYTES) collectBuffers();
      await writeFrame(socket, 'result', jsonBody(result));
    } catch (error) {
      await writeFrame(socket, 'error', jsonBody(sentError(error)));
    }
  }
  // At once, and not in order: to close what it has open takes time, in which the next service may look at it.
  process.kill(process.pid, 'SIGKILL');
}

/** Writes what is yielded, and returns the result. */
async function written(socket: Socket, frames: AsyncGenerator<Frame>, steps: Steps): Promise<unknown> {
  const ahead: Promise<void>[] = [];
  for (;;) {
    const { done, value } = await steps.next();
    if (done === true) return value;
    if (!(value instanceof Uint8Array)) {
      await writeFrame(socket, 'handed', jsonBody(value));
      await frames.next();
      continue;
    }
    ahead.push(writeFrame(socket, 'bytes', value));
    if (ahead.length > MOST_AHEAD) await ahead.shift();
  }
}
