/** A worker's process: it is started, given a task, listened to, and killed. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { messageOf } from '../basics/text.ts';
import { MINUTE_MS } from '../basics/units.ts';
import { Transient } from '../ports/errors.ts';
import type { Log } from '../ports/log.ts';
import { type Frame, framesOf, jsonBody, writeFrame } from './frames.ts';
import { limitedTo } from './memory.ts';
import type { Start } from './serve.ts';

/** What is kept of the last words of a worker, in characters. */
const MAX_LAST_WORDS = 1_000;

/** Why a worker was killed; `died`: by itself, or by somebody else. */
export type Loss = 'memory' | 'silence' | 'died';

/** Why a process has ended. */
export type Reason = Loss | 'unstarted' | 'aborted' | 'crowded' | 'closed' | 'retired';

/** A process that is not ready for its first task after so long is killed. It takes a second, and many times that where much else runs. */
export const START_MS = MINUTE_MS;

interface Ended {
  readonly reason: Reason;
  /** What it wrote to its standard error at last, on one line. */
  readonly lastWords: string;
}

interface WorkerOptions {
  /** The file that it runs. */
  readonly program: string;
  /** What it is told, as JSON. */
  readonly options: unknown;
  /** What it does, as messages name it. */
  readonly what: string;
  /** Where it has a folder of its own, which goes with it. */
  readonly folder: string;
  /** Where Node keeps its program compiled; undefined: nowhere. */
  readonly compiled: string | undefined;
  readonly niceness: number;
  /** Of memory, in bytes, where the system can bound it. */
  readonly limit: number;
  readonly log: Pick<Log, 'warning'>;
}

/** A worker's process, which does one task at a time. */
export class WorkerProcess {
  readonly ended: Promise<Ended>;
  /** The memory that it was seen with last, in bytes. */
  memory = 0;
  readonly #child: ChildProcess;
  readonly #socket: Socket;
  readonly #words: Socket;
  readonly #frames: AsyncGenerator<Frame>;
  #isReady = false;
  #reason: Reason | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Throws `Transient` when the system starts no process now. */
  constructor({ program, options, what, folder, compiled, niceness, limit, log }: WorkerOptions) {
    const own = join(folder, `worker-${randomUUID()}`);
    mkdirSync(own, { recursive: true, mode: 0o700 });
    const start: Start = { parent: process.pid, folder: own, niceness, options };
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
    const command = limitedTo(limit, [process.execPath, ...flags, program, JSON.stringify(start)]);
    // It is given nothing of the environment: there may be secrets in it.
    const env = compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled };
    const child = started(command, { stdio: ['ignore', 'ignore', 'pipe', 'pipe'], env }, (reason) => {
      rmdirSync(own);
      log.warning('a worker process could not be started', { reason });
    });
    if (child === undefined)
      throw new Transient(`${what} has to wait: the system starts no process at this moment.`, { isOwn: true });
    this.#child = child;
    this.#socket = child.stdio[3] as Socket;
    this.#words = child.stderr as Socket;
    // Whoever reads learns of it, and the process's end says why.
    this.#socket.on('error', () => {});
    this.#frames = framesOf(this.#socket);
    let said = '';
    this.#words.on('data', (text: Buffer) => {
      said = `${said}${text.toString()}`.slice(-MAX_LAST_WORDS);
    });
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#socket.destroy();
        const ended: Ended = { reason: this.#reason ?? 'died', lastWords: said.replace(/\s+/g, ' ').trim() };
        rm(own, { recursive: true, force: true })
          .catch(() => {})
          .finally(() => resolve(ended));
      };
      this.#child.once('error', end).once('exit', () => {
        this.#reason ??= 'died';
        if (this.#words.closed) end();
        else this.#words.once('close', end);
      });
    });
  }

  /** It has ended, or is about to. */
  get isLeaving(): boolean {
    return this.#reason !== undefined;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  give(task: { readonly name: string; readonly input: unknown }): void {
    // A worker that is gone does not take it; the next frame tells.
    writeFrame(this.#socket, 'task', jsonBody(task)).catch(() => {});
  }

  /** What was handed over is not needed any more. */
  goOn(): void {
    writeFrame(this.#socket, 'next', Buffer.alloc(0)).catch(() => {});
  }

  /**
   * Returns the next frame; undefined when the process has ended. It is killed when there is none for so long, to which
   * its start does not count.
   */
  async next(silenceMs: number): Promise<Frame | undefined> {
    if (!this.#isReady) {
      if ((await this.#frame(START_MS, 'unstarted')) === undefined) return undefined;
      this.#isReady = true;
    }
    return this.#frame(silenceMs, 'silence');
  }

  async #frame(withinMs: number, reason: Reason): Promise<Frame | undefined> {
    const timer = setTimeout(() => void this.kill(reason), withinMs);
    try {
      const { value, done } = await this.#frames.next();
      return done === true ? undefined : value;
    } catch {
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Kills it, for the first reason that is given; resolves when it has ended. */
  async kill(reason: Reason): Promise<void> {
    this.#reason ??= reason;
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** It has a task again: this process does not end before it. */
  wake(): void {
    clearTimeout(this.#timer);
    for (const handle of [this.#child, this.#socket, this.#words]) handle.ref();
  }

  /** It has nothing to do, for so long at most; nobody waits for it. */
  rest(forMs: number): void {
    this.#timer = setTimeout(() => void this.kill('retired'), forMs).unref();
    for (const handle of [this.#child, this.#socket, this.#words]) handle.unref();
  }
}

/** Starts a program. Returns undefined when that cannot be, as of too many open files or processes, and tells why, if later. */
function started(
  [command, ...args]: readonly [string, ...string[]],
  options: SpawnOptions,
  tell: (reason: string) => void,
): ChildProcess | undefined {
  try {
    const child = spawn(command, args, options);
    if (child.pid !== undefined) return child;
    // It says why a moment later, which would end this process if nobody listened; it may have no streams at all.
    child.once('error', (error) => tell(messageOf(error)));
    for (const stream of child.stdio ?? []) stream?.destroy();
  } catch (error) {
    tell(messageOf(error));
  }
  return undefined;
}
