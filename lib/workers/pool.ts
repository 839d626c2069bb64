/**
 * Work in processes of their own, which can be killed: what a caller's query may do to memory and processor, it does
 * there. A worker does one task at a time, and is used again for the next.
 */
import { tmpdir } from 'node:os';
import { MIB, SECOND_MS } from '../basics/units.ts';
import { Permanent, Transient } from '../ports/errors.ts';
import type { Log } from '../ports/log.ts';
import { receivedError } from './errors.ts';
import { residentBytes } from './memory.ts';
import { type TurnLimits, Turns } from './turns.ts';
import { type Deaths, MOST_DEATHS, underWay } from './under-way.ts';
import { type Loss, type Reason, START_MS, WorkerProcess } from './worker-process.ts';

export interface PoolOptions {
  /** The file that a worker runs; it calls `serveTasks`. */
  readonly program: string;
  /** What each worker is told, as JSON. */
  readonly options: unknown;
  /** What the workers do, as messages name it: `Selecting its rows`. */
  readonly what: string;
  readonly turns: TurnLimits;
  /**
   * Resident memory in MB: of one worker while it works, and of all that work together. One that has more than `kept` after
   * a task, also when it has collected its garbage, is replaced; default: 0.6 of what it may have.
   */
  readonly memory: { readonly each: number; readonly all: number; readonly kept?: number };
  /** A worker that says nothing for so long, while it is listened to, is killed. The start of its process does not count. */
  readonly silenceMs: number;
  /** How far the workers stand back from the process that answers requests, as the system counts it, to 19. Default: 5. */
  readonly niceness?: number;
  /** Where each worker has a folder of its own. Default: the system's temporary one. */
  readonly folder?: string;
  /**
   * Where Node keeps the workers' programs compiled, so that all but the first start in half the time and with 30 MB less.
   * Only who may run the service may write there. Default: nowhere.
   */
  readonly compiled?: string;
  /** Where it is counted how often a piece of work took its process down; without it, in this process. */
  readonly deaths?: string;
  readonly log: Pick<Log, 'warning'>;
}

export interface PoolTask {
  readonly name: string;
  /** Plain JSON. */
  readonly input: unknown;
  /** Whose turn it takes: an organization. */
  readonly owner: string;
  /** Who has sent it, where users are told apart. */
  readonly user?: string | undefined;
  /** What it works on. A subject that took its process down too often is refused. Absent: it is not counted. */
  readonly subject?: string;
  /** How often is too often. Default: three times, and ten times together with the whole service. */
  readonly mostDeaths?: number;
  readonly signal?: AbortSignal | undefined;
  /** Is called when it has its turn. */
  readonly begins?: () => void;
}

export interface WorkerPool {
  /**
   * Yields the bytes that a task gives, in parts of any length (an empty one is kept), and what it hands over, as one part of
   * JSON: it goes on when the next one is asked for. Returns its result. Throws what the task throws; the signal's reason on
   * abort; `LineFull`; `WorkerLost` when its process was killed or died; `Permanent` when that was too often, and
   * `Transient` when it had to go because all together took too much memory, or could not be started. Who stops early kills the worker.
   */
  stream(task: PoolTask): AsyncGenerator<Buffer, unknown>;
  /** The result of a task that gives no bytes. */
  run(task: PoolTask): Promise<unknown>;
  /** Whether a task is under way. */
  readonly isBusy: boolean;
  /** Kills all workers. The pool can be used again. */
  close(): Promise<void>;
}

/**
 * A worker's process ended before its task. Its name is the one by which Lambda tells that a function's process ended, so
 * that a state machine tries the step again as often.
 */
export class WorkerLost extends Error {
  override readonly name = 'Runtime.ExitError';
  readonly loss: Loss;
  constructor(loss: Loss, message: string) {
    super(message);
    this.loss = loss;
  }
}

/** How often the memory of those that work is looked at. */
const WATCH_MS = process.platform === 'linux' ? 50 : 500;
/** A worker that has nothing to do is kept for so long. */
const IDLE_MS = 30 * SECOND_MS;
/** Requests, and what keeps the time, go first. */
const NICENESS = 5;
/** A worker that has more than this share of its memory after a task is replaced, if nothing else is said. */
const KEPT_BELOW = 0.6;

export const workerPool = (options: PoolOptions): WorkerPool => new Pool(options);

class Pool implements WorkerPool {
  readonly #options: PoolOptions;
  readonly #turns: Turns;
  readonly #deaths: ReturnType<typeof underWay>;
  readonly #idle: WorkerProcess[] = [];
  readonly #all = new Set<WorkerProcess>();
  readonly #busy = new Set<WorkerProcess>();
  #watch: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#turns = new Turns(options.turns);
    this.#deaths = underWay(options.deaths);
  }

  async *stream(task: PoolTask): AsyncGenerator<Buffer, unknown> {
    const giveBack = await this.#turns.take(task.owner, task.signal, task.user);
    try {
      task.begins?.();
      return yield* this.#counted(task);
    } finally {
      giveBack();
    }
  }

  async run(task: PoolTask): Promise<unknown> {
    const steps = this.stream(task);
    for (;;) {
      const step = await steps.next();
      if (step.done === true) return step.value;
    }
  }

  async close(): Promise<void> {
    const gone = [...this.#all].map((worker) => worker.kill('closed'));
    await Promise.all(gone);
  }

  /** Refuses a task whose subject took its process down too often, and counts when it does so again. */
  async *#counted(task: PoolTask): AsyncGenerator<Buffer, unknown> {
    const { subject, mostDeaths } = task;
    if (subject === undefined) return yield* this.#done(task);
    const most: Deaths = mostDeaths === undefined ? MOST_DEATHS : { own: mostDeaths, withService: mostDeaths };
    const { own, withService } = this.#deaths.begin(subject);
    let hasDied = false;
    try {
      if (own >= most.own) throw this.#tooOften(own, '');
      if (withService >= most.withService) throw this.#tooOftenWithService(withService);
      return yield* this.#done(task);
    } catch (error) {
      if (!(error instanceof WorkerLost)) throw error;
      hasDied = true;
      throw own + 1 < most.own ? error : this.#tooOften(own + 1, ` ${error.message}`);
    } finally {
      this.#deaths.end(subject, hasDied);
    }
  }

  #tooOften(times: number, last: string): Permanent {
    return new Permanent(
      `${this.#options.what} took its process down ${times} times, so it is not tried again.${last} ` +
        'Make the query and the filters simpler, or the interval shorter.',
    );
  }

  /** What is not known is not said: that the work was why. */
  #tooOftenWithService(times: number): Permanent {
    return new Permanent(
      `${this.#options.what} was under way each of the ${times} times that the service itself ended, so it is not tried ` +
        'again by itself. The log of the system may say why the service ended.',
    );
  }

  async *#done({ name, input, signal }: PoolTask): AsyncGenerator<Buffer, unknown> {
    signal?.throwIfAborted();
    const worker = this.#waiting() ?? this.#start();
    this.#begin(worker);
    let isDone = false;
    const abort = (): void => void worker.kill('aborted');
    signal?.addEventListener('abort', abort);
    try {
      worker.give({ name, input });
      for (;;) {
        const frame = await worker.next(this.#options.silenceMs);
        if (frame === undefined) throw await this.#lost(worker, signal);
        if (frame.kind === 'bytes' || frame.kind === 'handed') {
          yield frame.body;
          if (frame.kind === 'handed') worker.goOn();
          continue;
        }
        isDone = true;
        if (this.#isTooLarge(worker)) await this.#measure(worker);
        const value = JSON.parse(frame.body.toString());
        if (frame.kind === 'error') throw receivedError(value);
        return value;
      }
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#end(worker, isDone);
    }
  }

  get isBusy(): boolean {
    return this.#busy.size > 0;
  }

  /** Returns a worker that has nothing to do. One that has just been let go may still stand among them. */
  #waiting(): WorkerProcess | undefined {
    for (;;) {
      const worker = this.#idle.pop();
      if (worker === undefined || !worker.isLeaving) return worker;
    }
  }

  #start(): WorkerProcess {
    const { program, options, what, memory, folder = tmpdir(), compiled, niceness = NICENESS, log } = this.#options;
    const limit = memory.each * MIB;
    const worker = new WorkerProcess({ program, options, what, folder, compiled, niceness, limit, log });
    this.#all.add(worker);
    void worker.ended.then(({ lastWords, reason }) => {
      this.#all.delete(worker);
      const at = this.#idle.indexOf(worker);
      if (at >= 0) this.#idle.splice(at, 1);
      if (reason === 'died' || reason === 'memory' || reason === 'silence' || reason === 'unstarted')
        log.warning('a worker process was lost', { worker: worker.pid, reason, said: lastWords });
    });
    return worker;
  }

  #begin(worker: WorkerProcess): void {
    worker.wake();
    this.#busy.add(worker);
    this.#watch ??= setInterval(() => void this.#look(), WATCH_MS).unref();
  }

  #end(worker: WorkerProcess, isDone: boolean): void {
    this.#busy.delete(worker);
    if (this.#busy.size === 0) {
      clearInterval(this.#watch);
      this.#watch = undefined;
    }
    const isWanted = isDone && !worker.isLeaving;
    const isTooLarge = this.#isTooLarge(worker);
    if (!isWanted || isTooLarge) void worker.kill('retired');
    if (isWanted) this.#keep(isTooLarge ? this.#successor() : worker);
  }

  /** Whether a worker was seen with more than it may have after a task. */
  #isTooLarge({ memory }: WorkerProcess): boolean {
    const { each, kept = each * KEPT_BELOW } = this.#options.memory;
    return memory > kept * MIB;
  }

  /** Looks at what a worker has now, which may be less than when it was looked at last. */
  async #measure(worker: WorkerProcess): Promise<void> {
    const { pid = 0 } = worker;
    worker.memory = (await residentBytes([pid])).get(pid) ?? worker.memory;
  }

  #keep(worker: WorkerProcess | undefined): void {
    if (worker === undefined) return;
    worker.rest(IDLE_MS);
    this.#idle.push(worker);
  }

  /** Starts a worker so that the next task need not wait for it. When that fails, the next task is told. */
  #successor(): WorkerProcess | undefined {
    try {
      return this.#start();
    } catch {
      return undefined;
    }
  }

  /** Kills whoever has more memory than they may; of those that have too much together the one that has most. */
  async #look(): Promise<void> {
    const { each, all } = this.#options.memory;
    const sizes = await residentBytes([...this.#busy].flatMap(({ pid }) => pid ?? []));
    let [sum, largest]: [number, WorkerProcess | undefined] = [0, undefined];
    for (const worker of this.#busy) {
      worker.memory = sizes.get(worker.pid ?? 0) ?? 0;
      sum += worker.memory;
      if (worker.memory > each * MIB) void worker.kill('memory');
      if (largest === undefined || worker.memory > largest.memory) largest = worker;
    }
    if (sum > all * MIB && largest !== undefined) void largest.kill('crowded');
  }

  /** Returns what a task fails with whose process has ended. */
  async #lost(worker: WorkerProcess, signal: AbortSignal | undefined): Promise<Error> {
    const { reason } = await worker.ended;
    const { what, memory, silenceMs } = this.#options;
    const crowded = 'too much is being done at this moment for the memory that there is';
    const closing = new Transient(`${what} was interrupted: the service is closing.`, { isOwn: true });
    const errors: Readonly<Record<Reason, Error>> = {
      memory: new WorkerLost('memory', `${what} needs more than ${memory.each} MB of memory.`),
      silence: new WorkerLost('silence', `${what} takes longer than ${silenceMs / 1000} s.`),
      died: new WorkerLost('died', `${what} ended before its time: its process died.`),
      unstarted: new Transient(`${what} has to wait: its process was not ready after ${START_MS / SECOND_MS} s.`, {
        isOwn: true,
      }),
      crowded: new Transient(`${what} has to wait: ${crowded}.`, { isOwn: true }),
      aborted: signal?.reason instanceof Error ? signal.reason : closing,
      closed: closing,
      retired: closing,
    };
    return errors[reason];
  }
}
