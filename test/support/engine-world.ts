/**
 * The embedded engine in a world that a test holds in its hand: time that moves only when told, tasks that are the
 * test's own functions, a table that survives the process, and processes that can be killed at any write.
 */

import type { Timer } from '../../lib/basics/timer.ts';
import { logTo } from '../../lib/ports/log.ts';
import { ranges } from '../../lib/ports/table/keys.ts';
import { listAll } from '../../lib/ports/table/list-all.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import type { Item, Op, Table } from '../../lib/ports/table/table.ts';
import { type Engine, startEngine } from '../../lib/workflow/engine.ts';
import type { EndedInput } from '../../lib/workflow/messages.ts';
import type { Definition } from '../../lib/workflow/states-language.ts';
import type { TurnOptions } from '../../lib/workflow/task-turns.ts';
import type { Json } from '../../lib/workflow/workflow.ts';
import type { LogLine } from './context.ts';
import { settableClock } from './context.ts';

export type Task = (input: Json, signal: AbortSignal) => Json | Promise<Json>;

/** Returns a promise that nobody ever keeps: a dead process waits for it. */
export const never = (): Promise<never> => new Promise(() => {});

/** Lets promises turn until it is so. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn += 1) {
    if (turn > 1000) throw new Error('it never came to be so');
    await new Promise(setImmediate);
  }
}

/** Returns a clock with the timers that depend on it. */
export function settableTime() {
  const clock = settableClock();
  let timers: { at: number; ring: () => void }[] = [];
  const timer: Timer = (milliseconds, ring) => {
    // setTimeout takes it for 1 ms.
    if (milliseconds > 2 ** 31 - 1) throw new RangeError(`a timer does not hold ${milliseconds} ms`);
    const entry = { at: clock() + milliseconds, ring };
    timers.push(entry);
    return () => {
      timers = timers.filter((each) => each !== entry);
    };
  };
  const next = (): { at: number; ring: () => void } | undefined =>
    timers.reduce<(typeof timers)[number] | undefined>((a, b) => (a !== undefined && a.at <= b.at ? a : b), undefined);
  return {
    clock,
    timer,
    /** How many timers are set. */
    pending: () => timers.length,
    /** Moves to the next timer and rings it; false when there is none (up to the instant). */
    ring(until = Number.POSITIVE_INFINITY): boolean {
      const first = next();
      if (first === undefined || first.at > until) return false;
      timers = timers.filter((each) => each !== first);
      clock.set(Math.max(first.at, clock()));
      first.ring();
      return true;
    },
    /** A process died: its timers are gone. */
    clear() {
      timers = [];
    },
  };
}

/** At which durable act (from 1; of the engine, a write) a process dies, and whether the act is done. */
export interface Death {
  readonly at: number;
  readonly when: 'before' | 'after';
}

export interface World {
  readonly table: Table;
  readonly time: ReturnType<typeof settableTime>;
  /** Calls of tasks, in order, of every process. */
  readonly calls: { readonly task: string; readonly input: Json; readonly at: number }[];
  /** The ends that `onEnded` was notified of. */
  readonly ended: EndedInput[];
  readonly lines: LogLine[];
  /** How many writes the current process has done. */
  writes(): number;
  /** Starts a process over the world's table; the one before must be dead or closed. */
  boot(options?: {
    death?: Death;
    onWrite?: (count: number, ops: readonly Op[]) => void;
    machines?: Machines;
  }): Process;
  /** The items that the engine keeps of an execution, and the names of those that are not done. */
  items(name: string): Promise<Item[]>;
  unfinished(): Promise<string[]>;
}

export interface Process {
  readonly engine: Engine;
  /** Lets time pass until nothing is left to wait for (or until the instant); false: the process died before. */
  readonly run: (until?: number) => Promise<boolean>;
  /** Calls the engine; false: the process died before it answered. */
  readonly call: (call: (engine: Engine) => Promise<unknown>) => Promise<boolean>;
}

type Machines = Readonly<Record<string, Definition>>;

/** Turns by which nobody shares places: each task is an owner's of its own. */
export function ownTurns(): TurnOptions {
  let tasks = 0;
  return {
    ownerOf: async () => `owner ${(tasks += 1)}`,
    userOf: async () => undefined,
    partOf: () => undefined,
    lineNameOf: () => '',
    onWaiting: async () => {},
  };
}

export function world({
  machines,
  tasks,
  random = () => 0.5,
  onEnded,
  slow = false,
  ...turns
}: {
  machines: Machines;
  tasks: Readonly<Record<string, Task>>;
  random?: () => number;
  onEnded?: (ended: EndedInput) => Promise<void>;
  /** Writes are answered only after whatever else can be done at once. */
  slow?: boolean;
} & Partial<TurnOptions>): World {
  const time = settableTime();
  const table = sqliteTable(':memory:', { clock: time.clock });
  const calls: World['calls'] = [];
  const ended: EndedInput[] = [];
  const lines: LogLine[] = [];
  let writes = 0;

  const boot: World['boot'] = ({ death, onWrite, machines: others = machines } = {}) => {
    writes = 0;
    let dead = false;
    const died = Promise.withResolvers<void>();
    // Writes that were on their way to the disk when the process died arrive there.
    const underWay = new Set<Promise<unknown>>();
    const isDead = async (): Promise<boolean> => {
      if (dead) await Promise.allSettled(underWay);
      return dead;
    };
    const die = (): Promise<never> => {
      dead = true;
      time.clear();
      died.resolve();
      return never();
    };
    const killable: Table = {
      get: (key) => (dead ? never() : table.get(key)),
      many: (all) => (dead ? never() : table.many(all)),
      list: (range, page) => (dead ? never() : table.list(range, page)),
      write: async (ops, options) => {
        if (dead) return never();
        writes += 1;
        const count = writes;
        if (death?.at === count && death.when === 'before') return die();
        const writing = table.write(ops, options);
        underWay.add(writing);
        const written = await writing;
        onWrite?.(count, ops);
        if (dead) return never();
        if (death?.at === count) return die();
        if (slow) await new Promise(setImmediate);
        return written;
      },
    };
    const engine = startEngine({
      table: killable,
      clock: time.clock,
      timer: (milliseconds, ring) => (dead ? () => {} : time.timer(milliseconds, ring)),
      log: logTo((line) => lines.push(line), time.clock, 'DEBUG'),
      machines: others,
      random,
      ...ownTurns(),
      ...turns,
      tasks:
        (task) =>
        async (input, signal = new AbortController().signal) => {
          if (dead) return never();
          calls.push({ task, input, at: time.clock() });
          const run = tasks[task];
          if (run === undefined) throw new Error(`this test has no task ${task}`);
          return run(input, signal);
        },
      onEnded: async (input) => {
        if (dead) return never();
        const told = input as unknown as EndedInput;
        await onEnded?.(told);
        ended.push(told);
        return null;
      },
    });
    const run = async (until?: number): Promise<boolean> => {
      for (;;) {
        await Promise.race([engine.idle(), died.promise]);
        if (await isDead()) return false;
        if (!time.ring(until)) return true;
      }
    };
    const call: Process['call'] = async (of) => {
      await Promise.race([of(engine), died.promise]);
      return !(await isDead());
    };
    return { engine, run, call };
  };

  return {
    table,
    time,
    calls,
    ended,
    lines,
    writes: () => writes,
    boot,
    items: (name) => listAll(table, { partition: `X#${name}` }),
    unfinished: async () => (await listAll(table, ranges.runningExecutions())).map(({ pk }) => pk.slice(2)),
  };
}

/** Returns an error as a step throws it: machines match its name. */
export function named(name: string, message = 'as the test wants it'): Error {
  return Object.assign(new Error(message), { name });
}
