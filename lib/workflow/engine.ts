/**
 * The engine of one machine: it runs the state machines inside this process and keeps every execution in the table, so
 * that a kill at any moment costs at most some tasks run again. states-language.ts has the language, interpreter.ts the
 * meaning of its states, execution-items.ts what is kept, call-step.ts how a step is called.
 *
 * Durability. An execution is one item: before a state does anything (Task, Wait, Map), the state, its input, its
 * retries and its `wake_at` are written, in one write, on the condition that the execution is still running. States
 * that only compute (Choice, Pass, Succeed, Fail) are computed again from the state before. An item of a Map has an
 * item of its own from its second state on, and a moment after it has ended, when the outputs of that moment are written
 * together. `resume` goes on from there; a task that was under way, or whose output was not written yet, runs again.
 * To begin again at the start would not do, though every step may be repeated: begin-run finds a finished run and has
 * nothing to do, so what finish-run was removing would lie there for good, and retries would be counted anew.
 * Definitions are kept by hash: an execution ends on the definition that it began with.
 *
 * Ends. SUCCEEDED and FAILED by the machine, TIMED_OUT by its TimeoutSeconds (counted from when this process took it
 * up: while a machine is switched off nothing runs too long), ABORTED by `stop`. A child whose parent ends is stopped.
 * `onEnded` is notified of whatever did not succeed until it resolves (12 times at most), also after a crash. An ended
 * execution is known by name for 7 days more.
 */
import { getOrMake } from '../basics/maps.ts';
import { messageOf } from '../basics/text.ts';
import { alarm, systemTimer, type Time, type Timer } from '../basics/timer.ts';
import { MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import { inWords } from '../ports/disk-failures.ts';
import type { Log } from '../ports/log.ts';
import { fromJsonText, toJsonText } from '../ports/table/json-text.ts';
import { idsIn, keys, places, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import { MAX_TRANSACTION, type Op, Refused, type Table, TooLarge } from '../ports/table/table.ts';
import { Turns } from '../workers/turns.ts';
import { callStep, Halt, isClosing, within } from './call-step.ts';
import { DefinitionStore, type MachineFlow } from './definition-store.ts';
import {
  type ExecutionItem,
  endedTtl,
  INDEX,
  type KeptItem,
  type MapItem,
  nameOf,
  POSITION,
  positionOf,
  stored,
} from './execution-items.ts';
import { IdleTracker } from './idle-tracker.ts';
import { inLanes } from './in-lanes.ts';
import { type BranchHost, startOf, walk } from './interpreter.ts';
import { LateWrites } from './late-writes.ts';
import type { EndedInput, ErrorOutput } from './messages.ts';
import { StateError } from './state-error.ts';
import type { Definition, Flow, Task } from './states-language.ts';
import type { StepRunner } from './step.ts';
import type { ExecutionStatus, Json, Workflow } from './workflow.ts';

export interface EngineOptions {
  readonly table: Table;
  /** Now, in milliseconds since 1970. */
  readonly clock: () => number;
  readonly log: Log;
  /** The state machines by name; one outside the subset is refused here. */
  readonly machines: Readonly<Record<string, Definition>>;
  /** Returns the task that a definition calls `${name}`. Its signal is aborted when it is to stop. */
  readonly tasks: (name: string) => StepRunner;
  /** Notified of every execution that did not succeed; its input is an EndedInput. Must be idempotent. */
  readonly onEnded?: StepRunner;
  readonly timer?: Timer;
  /** At least 0, below 1: the random part of a retry's pause. */
  readonly random?: () => number;
  /** Tasks of one line that run at the same time. Executions that wait cost nothing. */
  readonly concurrency?: number;
  /** Returns in which line a task stands, by its name: those of a line take turns among themselves. Absent: all in one. */
  readonly lineNameOf?: (name: string) => string;
  /**
   * Returns whose turn a task takes, by its input; it is asked again when it fails. Of those who wait each has a fair
   * turn, and nobody more than half of a line. Absent: all tasks are one owner's, who may have all.
   */
  readonly ownerOf?: (input: Json) => Promise<string>;
  /**
   * Returns who answers for an owner, of whose owners together nobody has more than half of a line, but for one task of
   * each of whom nothing runs while more than a quarter is free; undefined: nobody known. Absent: that is so of all.
   */
  readonly userOf?: (owner: string) => Promise<string | undefined>;
  /**
   * Returns which part of its owner's a task is for, by its name and input: no part has more than half of the owner's places
   * in a line, so that one which holds its places leaves some to the others. Absent or undefined: it may have all of them.
   */
  readonly partOf?: (name: string, input: Json) => string | undefined;
  /** Told of a task, by its name and input, that has waited for its turn for a minute: once each time that it waits. */
  readonly onWaiting?: (name: string, input: Json) => Promise<void>;
}

/** The port, for whatever machines it was given. */
export interface Engine extends Workflow {
  start(machine: string, name: string, input: Json): Promise<void>;
  stop(machine: string, name: string, cause: string): Promise<void>;
  status(machine: string, name: string): Promise<ExecutionStatus | undefined>;
  /** Goes on with every execution that has not ended. It is called once, when the process starts. */
  resume(): Promise<void>;
  /** Aborts the tasks under way and lets go; every execution stays where it is, for the next process. */
  close(): Promise<void>;
  /** Resolves when nothing is being done: everything left waits for a time to come. */
  idle(): Promise<void>;
}

/** Returns an engine, which runs what `start` brings and, once that was called, what `resume` finds. */
export const startEngine = (options: EngineOptions): Engine => new EmbeddedEngine(options);

/** The name of an execution has 1 to 80 of these characters, as on AWS. */
const NAME = /^[A-Za-z0-9_-]{1,80}$/;
/** An item holds 409,600 bytes: 256 KiB of the state's input and half of that of the execution's leave 16 KB. */
const MAX_EXECUTION_INPUT = 131_072;
/** `forget` removes so many executions at a time. */
const MAX_FORGOTTEN = 1_000;
/** `onEnded` is tried so often, with pauses of 5 s doubling to 5 minutes. */
const MAX_NOTIFICATIONS = 12;
const NOTIFICATION_PAUSE_MS = { first: 5 * SECOND_MS, longest: 5 * MINUTE_MS };
/** How long the output of a Map's item waits for others, to be written with them. */
const OUTPUT_WAIT_MS = 250;
/** What failed at the table is tried again after these pauses, without end: until the disk or the table is well again. */
const TABLE_PAUSE_MS = { first: SECOND_MS, longest: MINUTE_MS };

/** How long a task waits for its turn before that is told. */
const WAITING_MS = MINUTE_MS;

/** Those who take turns: a part's tasks among themselves, then its owner's among those of all owners. */
interface Line {
  readonly owners: Turns;
  readonly parts: Turns;
}

/** An execution that this process runs. */
interface Running {
  readonly name: string;
  readonly machine: string;
  readonly flow: MachineFlow;
  readonly parent: string | null;
  readonly controller: AbortController;
  /** Undefined: begun by this process, so nothing of a Map is stored; else the visit that it was resumed in. */
  readonly resumedIn: number | undefined;
  visit: number;
  mapped: boolean;
  /** Resolves when none of its tasks runs any more. */
  settled: Promise<void>;
}

/** The end to which a machine came by itself. */
type Outcome =
  | { readonly status: 'SUCCEEDED'; readonly output: Json }
  | { readonly status: 'FAILED'; readonly error: ErrorOutput };

/** An end that comes from outside. `only`: fields that the execution must have. */
type Ending = [
  name: string,
  status: 'ABORTED' | 'TIMED_OUT' | 'FAILED',
  error: ErrorOutput,
  only?: Readonly<Record<string, string>>,
];

class EmbeddedEngine implements Engine {
  readonly #options: EngineOptions;
  readonly #table: Table;
  readonly #clock: () => number;
  readonly #log: Log;
  readonly #time: Time;
  readonly #definitions: DefinitionStore;
  readonly #running = new Map<string, Running>();
  /** Names of ended executions whose end is being completed. */
  readonly #completing = new Set<string>();
  readonly #watchers = new Map<string, Set<(ended: ExecutionItem) => void>>();
  readonly #idleTracker = new IdleTracker();
  readonly #lineFor: (name: string) => Line;
  readonly #ownerOf: (input: Json) => Promise<string>;
  readonly #userOf: (owner: string) => Promise<string | undefined>;
  readonly #closing = new AbortController();
  readonly #background = new Set<Promise<void>>();

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#table = options.table;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#time = { clock: options.clock, timer: options.timer ?? systemTimer };
    // Tasks wait for disks and networks more than they compute; 8, which one owner may have, keep a small machine busy.
    const { concurrency: atOnce = 16, ownerOf, userOf, lineNameOf = () => '' } = options;
    const each = ownerOf === undefined ? atOnce : Math.ceil(atOnce / 2);
    const users = { waiting: Number.POSITIVE_INFINITY, each, left: Math.ceil(atOnce / 4) };
    const limits = { atOnce, each, users };
    const ofPart = { atOnce: Number.POSITIVE_INFINITY, each: Math.ceil(limits.each / 2) };
    const lines = new Map<string, Line>();
    const newLine = (): Line => ({ owners: new Turns(limits), parts: new Turns(ofPart) });
    this.#lineFor = (name) => getOrMake(lines, lineNameOf(name), newLine);
    this.#ownerOf = ownerOf ?? (() => Promise.resolve(''));
    this.#userOf = userOf ?? (() => Promise.resolve(undefined));
    this.#definitions = new DefinitionStore(options.table, options.log, options.machines);
  }

  async start(machine: string, name: string, input: Json): Promise<void> {
    await this.#begin(machine, name, input, null);
  }

  async stop(machine: string, name: string, cause: string): Promise<void> {
    await this.#halt(name, 'ABORTED', { Error: 'Stopped', Cause: cause }, { machine });
  }

  async status(machine: string, name: string): Promise<ExecutionStatus | undefined> {
    const found = await this.#table.get(keys.execution(name));
    return found?.machine === machine ? found.status : undefined;
  }

  async forget(beginning: string): Promise<boolean> {
    const { items } = await this.#table.list(ranges.executionsNamed(beginning), { limit: MAX_FORGOTTEN });
    // Only what has ended, and whose end has been completed, has a time to live.
    const removals = items.filter(({ ttl }) => ttl !== undefined).map((remove) => ({ remove }));
    if (removals.length > 0) await this.#table.write(removals, { apart: true });
    return removals.length > 0;
  }

  async resume(): Promise<void> {
    await this.#definitions.store();
    const listed = await listAll(this.#table, ranges.runningExecutions());
    const found = (await this.#table.many(listed)).filter((item) => item !== undefined);
    const flows = await this.#definitions.flows(new Set(found.map(({ definition }) => definition)));
    const ended = found.filter(({ status }) => status !== 'RUNNING');
    const endedNames = new Set(ended.map(nameOf));
    for (const item of found.filter(({ status }) => status === 'RUNNING')) {
      const name = nameOf(item);
      const flow = flows.get(item.definition);
      if (this.#running.has(name)) continue;
      if (item.parent !== null && endedNames.has(item.parent)) {
        await this.#haltDurably(name, 'ABORTED', PARENT_ENDED);
      } else if (flow === undefined) {
        await this.#haltDurably(name, 'FAILED', BEGUN_EARLIER);
      } else {
        this.#run(item, flow, item.visit);
      }
    }
    for (const item of ended) this.#complete(item);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Halt('closing'));
    for (const { controller } of this.#running.values()) controller.abort(this.#closing.signal.reason);
    while (this.#background.size > 0) await Promise.all(this.#background);
  }

  idle(): Promise<void> {
    return this.#idleTracker.idle();
  }

  /** Stores and runs a new execution; a name that is known gives the execution of that name instead. */
  async #begin(machine: string, name: string, input: Json, parent: string | null): Promise<ExecutionItem | undefined> {
    const known = this.#definitions.machine(machine);
    if (known === undefined) {
      throw new StateError('StepFunctions.StateMachineDoesNotExistException', `There is no state machine ${machine}.`);
    }
    if (!NAME.test(name)) {
      throw new StateError('StepFunctions.InvalidNameException', `An execution cannot be named ${name}.`);
    }
    const text = toJsonText(input);
    if (Buffer.byteLength(text) > MAX_EXECUTION_INPUT) {
      throw new StateError('StepFunctions.InvalidExecutionInputException', `The input of ${name} is too large.`);
    }
    await this.#definitions.store();
    const item: ExecutionItem = {
      ...keys.execution(name),
      ...places.execution(name),
      ...places.runningExecution(name),
      machine,
      definition: known.hash,
      input: text,
      status: 'RUNNING',
      ...stored(startOf(known.flow, input)),
      visit: 0,
      mapped: isMap(known.flow, known.flow.StartAt),
      parent,
      started_at: this.#clock(),
      ended_at: null,
      output: null,
      error: null,
    };
    try {
      await this.#table.write([{ put: item, if: 'absent' }]);
    } catch (error) {
      if (error instanceof Refused) return error.foundAt(keys.execution(name));
      throw error;
    }
    this.#run(item, known.flow);
    return undefined;
  }

  #run(item: ExecutionItem, flow: MachineFlow, resumedIn?: number): void {
    if (this.#closing.signal.aborted) return;
    const { machine, parent, visit, mapped } = item;
    const name = nameOf(item);
    const controller = new AbortController();
    const settled = Promise.resolve();
    const running = { name, machine, flow, parent, controller, resumedIn, visit, mapped, settled };
    this.#running.set(name, running);
    running.settled = this.#inBackground(() => this.#drive(running, item));
  }

  /** Runs an execution from its position to its end, unless somebody else ends it. */
  async #drive(running: Running, item: ExecutionItem): Promise<void> {
    const { name, flow, controller } = running;
    const limit = flow.TimeoutSeconds;
    const cause = `The execution ran longer than ${limit} s.`;
    const callOff =
      limit === undefined
        ? () => {}
        : alarm(this.#clock() + limit * SECOND_MS, this.#time, () => {
            void this.#inBackground(() =>
              this.#haltDurably(name, 'TIMED_OUT', { Error: 'States.Timeout', Cause: cause }),
            );
          });
    try {
      let outcome: Outcome;
      try {
        outcome = { status: 'SUCCEEDED', output: await walk(flow, positionOf(item), this.#hostOf(running)) };
      } catch (error) {
        if (controller.signal.aborted || error instanceof Halt) return;
        if (!(error instanceof StateError)) this.#log.error('the engine failed', { execution: name, error });
        const failure = error instanceof StateError ? error : new StateError('States.Runtime', messageOf(error));
        outcome = { status: 'FAILED', error: failure.output };
      }
      await this.#end(running, outcome);
    } finally {
      callOff();
      this.#running.delete(name);
    }
  }

  #hostOf(running: Running, signal = running.controller.signal): BranchHost {
    const { name } = running;
    return {
      name,
      signal,
      now: this.#clock,
      random: this.#options.random ?? Math.random,
      keep: async (position) => {
        running.visit += 1;
        running.mapped ||= isMap(running.flow, position.state);
        const { visit, mapped } = running;
        await this.#change(name, { ...stored(position), visit, mapped }, [], signal);
      },
      sleepUntil: (instant) => this.#sleepUntil(instant, signal),
      perform: (task, args) => this.#perform(running, task, args, signal),
      each: (state, flow, inputs, concurrency) => this.#each(running, state, flow, inputs, concurrency),
    };
  }

  /** Runs the items of a Map from where they are, `concurrency` at a time. One that fails stops the others. */
  async #each(
    running: Running,
    state: string,
    flow: Flow,
    inputs: readonly Json[],
    concurrency: number,
  ): Promise<Json[]> {
    const { name, visit } = running;
    const found =
      running.resumedIn === visit
        ? await this.#durably(running.controller.signal, () => this.#keptItems(name, state, visit))
        : new Map<number, KeptItem>();
    const siblings = new AbortController();
    const signal = AbortSignal.any([running.controller.signal, siblings.signal]);
    const outputs = inputs.map((_, index) => found.get(index)?.output);
    let failure: { readonly error: unknown } | undefined;

    const write = (ops: readonly Op[]): Promise<unknown> =>
      this.#durably(signal, () => this.#table.write(ops, { apart: true }));
    const ended = new LateWrites({
      write: (ops) => this.#inBackground(async () => void (await write(ops))),
      later: (ring) => alarm(this.#clock() + OUTPUT_WAIT_MS, this.#time, ring),
    });

    const runItem = async (index: number, input: Json): Promise<void> => {
      const put = (fields: Partial<MapItem>): Op => ({
        put: { ...keys.executionItem(name, state, index), visit, ...fields },
      });
      const output = await walk(flow, found.get(index)?.position ?? startOf(flow, input), {
        ...this.#hostOf(running, signal),
        keep: async (position) => void (await write([put(stored(position))])),
        each: () => Promise.reject(new StateError('States.Runtime', 'A Map cannot be in a Map.')),
      });
      ended.add(put({ output: toJsonText(output) }));
      outputs[index] = output;
    };

    const waiting = inputs.entries().filter(([index]) => outputs[index] === undefined);
    const lanes = Math.min(concurrency || inputs.length, inputs.length);
    await inLanes({ waiting, lanes, signal, tracker: this.#idleTracker }, async ([index, input]) => {
      try {
        await runItem(index, input);
      } catch (error) {
        failure ??= { error };
        siblings.abort(new Halt('sibling'));
      }
    });
    await ended.end();
    running.controller.signal.throwIfAborted();
    if (failure !== undefined) throw failure.error;
    return outputs as Json[];
  }

  /** Returns what is stored of the items of one visit to a Map, by their place in it. */
  async #keptItems(name: string, state: string, visit: number): Promise<Map<number, KeptItem>> {
    const kept = await listAll(this.#table, ranges.itemsOf(name, state));
    return new Map(
      kept
        .filter((item) => item.visit === visit)
        .map((item) => [
          idsIn.executionItem(item),
          item.output === undefined ? { position: positionOf(item) } : { output: fromJsonText(item.output) },
        ]),
    );
  }

  /** Does what a task asks for: calls a step, runs another machine, or has Athena run a query. */
  async #perform(running: Running, task: Task, args: Json, signal: AbortSignal): Promise<Json> {
    const { TimeoutSeconds: limit } = task;
    if (task.Resource === 'arn:aws:states:::lambda:invoke') {
      const { Payload } = args as { Payload: Json };
      const name = referenced(task.Arguments.FunctionName);
      const call = this.#toCall(name, Payload, signal);
      return this.#inTurn(name, Payload, signal, () =>
        within(this.#time, limit, signal, (until) => callStep(this.#time, call, Payload, until)),
      );
    }
    if (task.Resource === 'arn:aws:states:::states:startExecution.sync:2') {
      const { Name, Input } = args as { Name: string; Input: Json };
      const machine = referenced(task.Arguments.StateMachineArn);
      return within(this.#time, limit, signal, (until) => this.#child(running, machine, Name, Input, until));
    }
    // Athena: there is none here. What reads the rows reads them where they lie.
    return { QueryExecution: { Status: { State: 'SUCCEEDED' } } };
  }

  /** Does the work of a step once it has its turn: that of its part, and then that of its owner. */
  async #inTurn(name: string, input: Json, signal: AbortSignal, work: () => Promise<Json>): Promise<Json> {
    const owner = await this.#durably(signal, () => this.#ownerOf(input));
    const user = await this.#durably(signal, () => this.#userOf(owner));
    const part = this.#options.partOf?.(name, input);
    const { owners, parts } = this.#lineFor(name);
    const ofOwner = () => owners.run(owner, work, signal, user);
    return part === undefined ? ofOwner() : parts.run(part, ofOwner, signal);
  }

  /** Returns the runner of a task that is called in its turn; that it waits for it is told, if it does so for long. */
  #toCall(name: string, input: Json, signal: AbortSignal): StepRunner {
    const { tasks, onWaiting } = this.#options;
    const call = tasks(name);
    if (onWaiting === undefined) return call;
    const callOff = alarm(this.#clock() + WAITING_MS, this.#time, () => {
      void this.#inBackground(() => onWaiting(name, input));
    });
    signal.addEventListener('abort', callOff);
    return (...args) => {
      signal.removeEventListener('abort', callOff);
      callOff();
      return call(...args);
    };
  }

  /** Runs an execution as a child, or joins the one of this name, and waits for its end. */
  async #child(running: Running, machine: string, name: string, input: Json, signal: AbortSignal): Promise<Json> {
    let ended: ExecutionItem | undefined;
    let wake = (item: ExecutionItem): void => void (ended = item);
    const watch = (item: ExecutionItem): void => wake(item);
    const watchers = getOrMake(this.#watchers, name, () => new Set());
    watchers.add(watch);
    try {
      const found = await this.#durably(signal, () => this.#begin(machine, name, input, running.name));
      if (found !== undefined && found.status !== 'RUNNING') ended = found;
      ended ??= await this.#idleTracker.suspend<ExecutionItem>(signal, (resolve) => {
        wake = resolve;
        return () => {};
      });
    } catch (error) {
      if (signal.aborted && !isClosing(signal.reason)) {
        const cause = { Error: 'Stopped', Cause: 'The execution that started it does not wait for it any more.' };
        await this.#haltDurably(name, 'ABORTED', cause, { parent: running.name });
      }
      throw error;
    } finally {
      watchers.delete(watch);
      if (watchers.size === 0) this.#watchers.delete(name);
    }
    const described = { Name: name, Status: ended.status, Input: fromJsonText(ended.input) };
    if (ended.status === 'SUCCEEDED') return { ...described, Output: ended.output && fromJsonText(ended.output) };
    const error = ended.error && fromJsonText(ended.error);
    throw new StateError('States.TaskFailed', JSON.stringify({ ...described, ...error }));
  }

  /** Ends an execution in the way to which its machine came. */
  async #end(running: Running, outcome: Outcome): Promise<void> {
    const succeeded = outcome.status === 'SUCCEEDED';
    const result = succeeded ? { output: toJsonText(outcome.output) } : { error: toJsonText(outcome.error) };
    // Nothing is left to do: one write. Otherwise it stays among those that `resume` finds.
    const complete = succeeded && !running.mapped;
    const ended_at = this.#clock();
    const item = await this.#change(
      running.name,
      { status: outcome.status, ...result, ended_at, ...(complete ? { ttl: endedTtl(ended_at) } : {}) },
      [...POSITION, ...(complete ? INDEX : [])],
      this.#closing.signal,
    );
    if (complete) this.#wakeWatchers(item);
    else this.#complete(item);
  }

  /** Ends a running execution from outside; fine when it has ended. */
  async #halt(...[name, status, error, only = {}]: Ending): Promise<void> {
    this.#idleTracker.enter();
    try {
      const [item] = await this.#table.write([
        {
          change: keys.execution(name),
          set: { status, error: toJsonText(error), ended_at: this.#clock() },
          unset: POSITION,
          if: { is: { status: 'RUNNING', ...only } },
        },
      ]);
      this.#running.get(name)?.controller.abort(new Halt('ended'));
      this.#complete(item as ExecutionItem);
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
    } finally {
      this.#idleTracker.leave();
    }
  }

  #haltDurably(...end: Ending): Promise<void> {
    return this.#durably(this.#closing.signal, () => this.#halt(...end));
  }

  /** Does what follows the end of an execution in the background, again and again, and in the next process too. */
  #complete(item: ExecutionItem): void {
    const name = nameOf(item);
    if (this.#completing.has(name) || this.#closing.signal.aborted) return;
    this.#completing.add(name);
    void this.#inBackground(async () => {
      const { signal } = this.#closing;
      try {
        await this.#running.get(name)?.settled;
        await this.#stopChildren(name);
        const isDone = item.status === 'SUCCEEDED' || (await this.#notifyOfEnd(item));
        this.#wakeWatchers(item);
        if (!isDone) await this.#notifyLater(item);
        await this.#durably(signal, () => this.#letGo(item));
      } finally {
        this.#completing.delete(name);
      }
    });
  }

  async #stopChildren(name: string): Promise<void> {
    const children = [...this.#running.values()].filter(({ parent }) => parent === name);
    await Promise.all(children.map((child) => this.#haltDurably(child.name, 'ABORTED', PARENT_ENDED)));
  }

  /** Removes the items of its Maps, and then its place among those that `resume` finds. */
  async #letGo(item: ExecutionItem): Promise<void> {
    const items = item.mapped ? await listAll(this.#table, ranges.itemsOf(nameOf(item))) : [];
    const removals = items.map((remove) => ({ remove }));
    const ttl = endedTtl(item.ended_at ?? this.#clock());
    const last = { change: { pk: item.pk, sk: item.sk }, set: { ttl }, unset: INDEX };
    if (items.length < MAX_TRANSACTION) {
      await this.#table.write([...removals, last]);
    } else {
      await this.#table.write(removals, { apart: true });
      await this.#table.write([last]);
    }
  }

  /** Returns whether `onEnded` took it. */
  async #notifyOfEnd(item: ExecutionItem): Promise<boolean> {
    const { onEnded } = this.#options;
    const { machine, status } = item;
    const execution = nameOf(item);
    const error = item.error && fromJsonText(item.error);
    this.#log.warning('execution did not succeed', { machine, execution, status, error });
    const ended = { machine, execution, status, input: fromJsonText(item.input), error } satisfies Record<
      keyof EndedInput,
      Json
    >;
    try {
      await onEnded?.(ended, this.#closing.signal);
      return true;
    } catch (failure) {
      this.#log.error('the end of an execution could not be told', { execution, reason: messageOf(failure) });
      return false;
    }
  }

  async #notifyLater(item: ExecutionItem): Promise<void> {
    let pause = NOTIFICATION_PAUSE_MS.first;
    for (let attempt = 2; attempt <= MAX_NOTIFICATIONS; attempt += 1) {
      await this.#sleepUntil(this.#clock() + pause, this.#closing.signal);
      if (await this.#notifyOfEnd(item)) return;
      pause = Math.min(pause * 2, NOTIFICATION_PAUSE_MS.longest);
    }
  }

  #wakeWatchers(item: ExecutionItem): void {
    for (const watch of this.#watchers.get(nameOf(item)) ?? []) watch(item);
  }

  /** Changes a running execution; throws `Halt` when it has ended meanwhile. */
  async #change(
    name: string,
    set: Readonly<Record<string, string | number | boolean | null>>,
    unset: readonly string[],
    signal: AbortSignal,
  ): Promise<ExecutionItem> {
    try {
      const [item] = await this.#durably(signal, () =>
        this.#table.write([{ change: keys.execution(name), set, unset, if: { is: { status: 'RUNNING' } } }]),
      );
      return item as ExecutionItem;
    } catch (error) {
      if (error instanceof Refused) throw new Halt('ended');
      throw error;
    }
  }

  /** Reads or writes the table, and when that fails for want of a disk or a turn, does it again until it is done. */
  async #durably<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    for (let pause = TABLE_PAUSE_MS.first; ; pause = Math.min(pause * 2, TABLE_PAUSE_MS.longest)) {
      try {
        return await act();
      } catch (error) {
        if (error instanceof Refused || error instanceof StateError) throw error;
        if (error instanceof TooLarge) throw new StateError('States.DataLimitExceeded', error.message);
        this.#log.error('the table could not be read or written', { reason: messageOf(inWords(error)) });
        await this.#sleepUntil(this.#clock() + pause, signal);
      }
    }
  }

  async #sleepUntil(instant: number, signal: AbortSignal): Promise<void> {
    if (this.#clock() >= instant) return;
    await this.#idleTracker.suspend<void>(signal, (resolve) => alarm(instant, this.#time, resolve));
  }

  async #inBackground(work: () => Promise<void>): Promise<void> {
    this.#idleTracker.enter();
    const done = (async () => {
      try {
        await work();
      } catch (error) {
        // A branch that stops, as its execution has ended or the service is closing, has not failed.
        if (!(error instanceof Halt)) this.#log.error('the engine failed', { error });
      }
    })();
    this.#background.add(done);
    await done;
    this.#background.delete(done);
    this.#idleTracker.leave();
  }
}

const isMap = (flow: Flow, state: string): boolean => flow.States[state]?.Type === 'Map';

/** It may pass: whoever starts it again starts it on the definition of today. */
const BEGUN_EARLIER = {
  Error: 'Transient',
  Cause: 'An earlier version of the service began it, and this version cannot go on with it.',
};

const PARENT_ENDED = { Error: 'Stopped', Cause: 'The execution that started it has ended.' };

/** `${begin-run}` -> `begin-run`. */
const referenced = (reference: string): string => reference.slice(2, -1);
