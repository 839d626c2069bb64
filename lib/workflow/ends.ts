/**
 * How executions end. SUCCEEDED and FAILED by the machine, TIMED_OUT by its TimeoutSeconds (counted from when this process
 * took it up: while a machine is switched off nothing runs too long), ABORTED by `stop`. A child whose parent ends is
 * stopped. `onEnded` is notified of whatever did not succeed until it resolves (12 times at most), also after a crash. An
 * ended execution is known by name for 7 days more.
 */
import { getOrMake } from '../basics/maps.ts';
import { messageOf } from '../basics/text.ts';
import { MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import type { Log } from '../ports/log.ts';
import { fromJsonText, toJsonText } from '../ports/table/json-text.ts';
import { keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import { MAX_TRANSACTION, Refused, type Table } from '../ports/table/table.ts';
import type { Background } from './background.ts';
import { Halt } from './call-step.ts';
import { type ExecutionItem, endedTtl, INDEX, nameOf, POSITION } from './execution-items.ts';
import type { EndedInput, ErrorOutput } from './messages.ts';
import type { StepRunner } from './step.ts';
import type { Json } from './workflow.ts';

/** `onEnded` is tried so often, with pauses of 5 s doubling to 5 minutes. */
const MAX_NOTIFICATIONS = 12;
const NOTIFICATION_PAUSE_MS = { first: 5 * SECOND_MS, longest: 5 * MINUTE_MS };

export const PARENT_ENDED = { Error: 'Stopped', Cause: 'The execution that started it has ended.' };

/** An execution that this process runs, as far as its end goes. */
export interface UnderWay {
  readonly name: string;
  readonly parent: string | null;
  readonly controller: AbortController;
  /** It has been in a Map. */
  readonly mapped: boolean;
  /** Resolves when none of its tasks runs any more. */
  readonly settled: Promise<void>;
}

/** The end to which a machine came by itself. */
export type Outcome =
  | { readonly status: 'SUCCEEDED'; readonly output: Json }
  | { readonly status: 'FAILED'; readonly error: ErrorOutput };

/** An end that comes from outside. `only`: fields that the execution must have. */
type Ending = [
  name: string,
  status: 'ABORTED' | 'TIMED_OUT' | 'FAILED',
  error: ErrorOutput,
  only?: Readonly<Record<string, string>>,
];

export interface EndsOptions {
  readonly table: Table;
  /** Now, in milliseconds since 1970. */
  readonly clock: () => number;
  readonly log: Log;
  /** Notified of every execution that did not succeed; its input is an EndedInput. Must be idempotent. */
  readonly onEnded: StepRunner;
}

/** Ends the executions of one process, of which `running` has those that it runs. */
export class Ends {
  readonly #options: EndsOptions;
  readonly #running: ReadonlyMap<string, UnderWay>;
  readonly #background: Background;
  /** Names of ended executions whose end is being completed. */
  readonly #completing = new Set<string>();
  readonly #watchers = new Map<string, Set<(ended: ExecutionItem) => void>>();

  constructor(options: EndsOptions, running: ReadonlyMap<string, UnderWay>, background: Background) {
    this.#options = options;
    this.#running = running;
    this.#background = background;
  }

  /** Has the watcher told of the end of an execution, once that is complete. Returns what takes it back. */
  watch(name: string, watcher: (ended: ExecutionItem) => void): () => void {
    const watchers = getOrMake(this.#watchers, name, () => new Set());
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(name);
    };
  }

  /** Ends an execution in the way to which its machine came. */
  async end(running: UnderWay, outcome: Outcome): Promise<void> {
    const succeeded = outcome.status === 'SUCCEEDED';
    const result = succeeded ? { output: toJsonText(outcome.output) } : { error: toJsonText(outcome.error) };
    // Nothing is left to do: one write. Otherwise it stays among those that `resume` finds.
    const complete = succeeded && !running.mapped;
    const ended_at = this.#options.clock();
    const item = await this.change(
      running.name,
      { status: outcome.status, ...result, ended_at, ...(complete ? { ttl: endedTtl(ended_at) } : {}) },
      [...POSITION, ...(complete ? INDEX : [])],
      this.#background.closing,
    );
    if (complete) this.#wakeWatchers(item);
    else this.complete(item);
  }

  /** Ends a running execution from outside; fine when it has ended. */
  async halt(...[name, status, error, only = {}]: Ending): Promise<void> {
    this.#background.idleTracker.enter();
    try {
      const [item] = await this.#options.table.write([
        {
          change: keys.execution(name),
          set: { status, error: toJsonText(error), ended_at: this.#options.clock() },
          unset: POSITION,
          if: { is: { status: 'RUNNING', ...only } },
        },
      ]);
      this.#running.get(name)?.controller.abort(new Halt('ended'));
      this.complete(item as ExecutionItem);
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
    } finally {
      this.#background.idleTracker.leave();
    }
  }

  /** As `halt`, until it is done. */
  haltDurably(...end: Ending): Promise<void> {
    return this.#background.durably(this.#background.closing, () => this.halt(...end));
  }

  /** Does what follows the end of an execution in the background, again and again, and in the next process too. */
  complete(item: ExecutionItem): void {
    const name = nameOf(item);
    if (this.#completing.has(name) || this.#background.closing.aborted) return;
    this.#completing.add(name);
    void this.#background.run(async () => {
      try {
        await this.#running.get(name)?.settled;
        await this.#stopChildren(name);
        const isDone = item.status === 'SUCCEEDED' || (await this.#notifyOfEnd(item));
        this.#wakeWatchers(item);
        if (!isDone) await this.#notifyLater(item);
        await this.#background.durably(this.#background.closing, () => this.#letGo(item));
      } finally {
        this.#completing.delete(name);
      }
    });
  }

  async #stopChildren(name: string): Promise<void> {
    const children = [...this.#running.values()].filter(({ parent }) => parent === name);
    await Promise.all(children.map((child) => this.haltDurably(child.name, 'ABORTED', PARENT_ENDED)));
  }

  /** Removes the items of its Maps, and then its place among those that `resume` finds. */
  async #letGo(item: ExecutionItem): Promise<void> {
    const items = item.mapped ? await listAll(this.#options.table, ranges.itemsOf(nameOf(item))) : [];
    const removals = items.map((remove) => ({ remove }));
    const ttl = endedTtl(item.ended_at ?? this.#options.clock());
    const last = { change: { pk: item.pk, sk: item.sk }, set: { ttl }, unset: INDEX };
    if (items.length < MAX_TRANSACTION) {
      await this.#options.table.write([...removals, last]);
    } else {
      await this.#options.table.write(removals, { apart: true });
      await this.#options.table.write([last]);
    }
  }

  /** Returns whether `onEnded` took it. */
  async #notifyOfEnd(item: ExecutionItem): Promise<boolean> {
    const { machine, status } = item;
    const execution = nameOf(item);
    const error = item.error && fromJsonText(item.error);
    this.#options.log.warning('execution did not succeed', { machine, execution, status, error });
    const ended = { machine, execution, status, input: fromJsonText(item.input), error } satisfies Record<
      keyof EndedInput,
      Json
    >;
    try {
      await this.#options.onEnded(ended, this.#background.closing);
      return true;
    } catch (failure) {
      this.#options.log.error('the end of an execution could not be told', { execution, reason: messageOf(failure) });
      return false;
    }
  }

  async #notifyLater(item: ExecutionItem): Promise<void> {
    let pause = NOTIFICATION_PAUSE_MS.first;
    for (let attempt = 2; attempt <= MAX_NOTIFICATIONS; attempt += 1) {
      await this.#background.sleepUntil(this.#options.clock() + pause, this.#background.closing);
      if (await this.#notifyOfEnd(item)) return;
      pause = Math.min(pause * 2, NOTIFICATION_PAUSE_MS.longest);
    }
  }

  #wakeWatchers(item: ExecutionItem): void {
    for (const watch of this.#watchers.get(nameOf(item)) ?? []) watch(item);
  }

  /** Changes a running execution; throws `Halt` when it has ended meanwhile. */
  async change(
    name: string,
    set: Readonly<Record<string, string | number | boolean | null>>,
    unset: readonly string[],
    signal: AbortSignal,
  ): Promise<ExecutionItem> {
    try {
      const [item] = await this.#background.durably(signal, () =>
        this.#options.table.write([{ change: keys.execution(name), set, unset, if: { is: { status: 'RUNNING' } } }]),
      );
      return item as ExecutionItem;
    } catch (error) {
      if (error instanceof Refused) throw new Halt('ended');
      throw error;
    }
  }
}
