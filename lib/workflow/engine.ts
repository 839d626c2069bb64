/**
 * The engine of one machine: it runs the state machines inside this process and keeps every execution in the table, so
 * that a kill at any moment costs at most some tasks run again. states-language.ts has the language, interpreter.ts the
 * meaning of its states, execution-items.ts what is kept, call-step.ts how a step is called, ends.ts how executions end.
 *
 * Durability. An execution is one item: before a state does anything (Task, Wait, Map), the state, its input, its
 * retries and its `wake_at` are written, in one write, on the condition that the execution is still running. States
 * that only compute (Choice, Pass, Succeed, Fail) are computed again from the state before. An item of a Map has an
 * item of its own from its second state on, and a moment after it has ended, when the outputs of that moment are written
 * together. `resume` goes on from there; a task that was under way, or whose output was not written yet, runs again.
 * To begin again at the start would not do, though every step may be repeated: begin-run finds a finished run and has
 * nothing to do, so what finish-run was removing would lie there for good, and retries would be counted anew.
 * Definitions are kept by hash: an execution ends on the definition that it began with.
 */
import { messageOf } from '../basics/text.ts';
import { alarm, systemTimer, type Time, type Timer } from '../basics/timer.ts';
import { SECOND_MS } from '../basics/units.ts';
import type { Log } from '../ports/log.ts';
import { fromJsonText, toJsonText } from '../ports/table/json-text.ts';
import { idsIn, keys, places, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import { type Op, Refused, type Table } from '../ports/table/table.ts';
import { Background } from './background.ts';
import { callStep, Halt, isClosing, within } from './call-step.ts';
import { DefinitionStore, type MachineFlow } from './definition-store.ts';
import { Ends, type EndsOptions, type Outcome, PARENT_ENDED, type UnderWay } from './ends.ts';
import { type ExecutionItem, type KeptItem, nameOf, positionOf, stored } from './execution-items.ts';
import { inLanes } from './in-lanes.ts';
import { type BranchHost, startOf, walk } from './interpreter.ts';
import { LateWrites } from './late-writes.ts';
import { StateError } from './state-error.ts';
import type { Definition, Flow, Task } from './states-language.ts';
import type { StepRunner } from './step.ts';
import { TaskTurns, type TurnOptions } from './task-turns.ts';
import type { ExecutionStatus, Json, Workflow } from './workflow.ts';

export interface EngineOptions extends EndsOptions, TurnOptions {
  /** The state machines by name; one outside the subset is refused here. */
  readonly machines: Readonly<Record<string, Definition>>;
  /** Returns the task that a definition calls `${name}`. Its signal is aborted when it is to stop. */
  readonly tasks: (name: string) => StepRunner;
  readonly timer?: Timer;
  /** At least 0, below 1: the random part of a retry's pause. */
  readonly random?: () => number;
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
/** How long the output of a Map's item waits for others, to be written with them. */
const OUTPUT_WAIT_MS = 250;

/** An execution that this process runs. */
interface Running extends UnderWay {
  readonly machine: string;
  readonly flow: MachineFlow;
  /** Undefined: begun by this process, so nothing of a Map is stored; else the visit that it was resumed in. */
  readonly resumedIn: number | undefined;
  visit: number;
  mapped: boolean;
  settled: Promise<void>;
}

class EmbeddedEngine implements Engine {
  readonly #options: EngineOptions;
  readonly #table: Table;
  readonly #clock: () => number;
  readonly #log: Log;
  readonly #time: Time;
  readonly #definitions: DefinitionStore;
  readonly #running = new Map<string, Running>();
  readonly #background: Background;
  readonly #ends: Ends;
  readonly #turns: TaskTurns;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#table = options.table;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#time = { clock: options.clock, timer: options.timer ?? systemTimer };
    this.#definitions = new DefinitionStore(options.table, options.log, options.machines);
    this.#background = new Background(this.#time, options.log);
    this.#ends = new Ends(options, this.#running, this.#background);
    this.#turns = new TaskTurns(options, this.#time, this.#background);
  }

  async start(machine: string, name: string, input: Json): Promise<void> {
    await this.#begin(machine, name, input, null);
  }

  async stop(machine: string, name: string, cause: string): Promise<void> {
    await this.#ends.halt(name, 'ABORTED', { Error: 'Stopped', Cause: cause }, { machine });
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
        await this.#ends.haltDurably(name, 'ABORTED', PARENT_ENDED);
      } else if (flow === undefined) {
        await this.#ends.haltDurably(name, 'FAILED', BEGUN_EARLIER);
      } else {
        this.#run(item, flow, item.visit);
      }
    }
    for (const item of ended) this.#ends.complete(item);
  }

  async close(): Promise<void> {
    const closed = this.#background.close();
    for (const { controller } of this.#running.values()) controller.abort(this.#background.closing.reason);
    await closed;
  }

  idle(): Promise<void> {
    return this.#background.idleTracker.idle();
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
    if (this.#background.closing.aborted) return;
    const { machine, parent, visit, mapped } = item;
    const name = nameOf(item);
    const controller = new AbortController();
    const settled = Promise.resolve();
    const running = { name, machine, flow, parent, controller, resumedIn, visit, mapped, settled };
    this.#running.set(name, running);
    running.settled = this.#background.run(() => this.#drive(running, item));
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
            void this.#background.run(() =>
              this.#ends.haltDurably(name, 'TIMED_OUT', { Error: 'States.Timeout', Cause: cause }),
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
      await this.#ends.end(running, outcome);
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
        await this.#ends.change(name, { ...stored(position), visit, mapped }, [], signal);
      },
      sleepUntil: (instant) => this.#background.sleepUntil(instant, signal),
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
    const found = await this.#keptItems(running, state);
    const siblings = new AbortController();
    const signal = AbortSignal.any([running.controller.signal, siblings.signal]);
    const outputs = inputs.map((_, index) => found.get(index)?.output);
    let failure: { readonly error: unknown } | undefined;
    const ended = new LateWrites({
      write: (ops) => this.#background.run(() => this.#writeApart(ops, signal)),
      later: (ring) => alarm(this.#clock() + OUTPUT_WAIT_MS, this.#time, ring),
    });

    const waiting = inputs.entries().filter(([index]) => outputs[index] === undefined);
    const lanes = Math.min(concurrency || inputs.length, inputs.length);
    await inLanes({ waiting, lanes, signal, tracker: this.#background.idleTracker }, async ([index, input]) => {
      const item = { ...keys.executionItem(name, state, index), visit };
      try {
        const output = await walk(flow, found.get(index)?.position ?? startOf(flow, input), {
          ...this.#hostOf(running, signal),
          keep: (position) => this.#writeApart([{ put: { ...item, ...stored(position) } }], signal),
          each: () => Promise.reject(new StateError('States.Runtime', 'A Map cannot be in a Map.')),
        });
        ended.add({ put: { ...item, output: toJsonText(output) } });
        outputs[index] = output;
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

  async #writeApart(ops: readonly Op[], signal: AbortSignal): Promise<void> {
    await this.#background.durably(signal, () => this.#table.write(ops, { apart: true }));
  }

  /** Returns what is stored of the items of an execution's visit to a Map, by their place in it. */
  async #keptItems({ name, visit, resumedIn, controller }: Running, state: string): Promise<Map<number, KeptItem>> {
    if (resumedIn !== visit) return new Map();
    const kept = await this.#background.durably(controller.signal, () =>
      listAll(this.#table, ranges.itemsOf(name, state)),
    );
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
      const call = this.#options.tasks(name);
      return this.#turns.run(name, Payload, signal, () =>
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

  /** Runs an execution as a child, or joins the one of this name, and waits for its end. */
  async #child(running: Running, machine: string, name: string, input: Json, signal: AbortSignal): Promise<Json> {
    let ended: ExecutionItem | undefined;
    let wake = (item: ExecutionItem): void => void (ended = item);
    const unwatch = this.#ends.watch(name, (item) => wake(item));
    try {
      const found = await this.#background.durably(signal, () => this.#begin(machine, name, input, running.name));
      if (found !== undefined && found.status !== 'RUNNING') ended = found;
      ended ??= await this.#background.idleTracker.suspend<ExecutionItem>(signal, (resolve) => {
        wake = resolve;
        return () => {};
      });
    } catch (error) {
      if (signal.aborted && !isClosing(signal.reason)) {
        const cause = { Error: 'Stopped', Cause: 'The execution that started it does not wait for it any more.' };
        await this.#ends.haltDurably(name, 'ABORTED', cause, { parent: running.name });
      }
      throw error;
    } finally {
      unwatch();
    }
    const described = { Name: name, Status: ended.status, Input: fromJsonText(ended.input) };
    if (ended.status === 'SUCCEEDED') return { ...described, Output: ended.output && fromJsonText(ended.output) };
    const error = ended.error && fromJsonText(ended.error);
    throw new StateError('States.TaskFailed', JSON.stringify({ ...described, ...error }));
  }
}

const isMap = (flow: Flow, state: string): boolean => flow.States[state]?.Type === 'Map';

/** It may pass: whoever starts it again starts it on the definition of today. */
const BEGUN_EARLIER = {
  Error: 'Transient',
  Cause: 'An earlier version of the service began it, and this version cannot go on with it.',
};

/** `${begin-run}` -> `begin-run`. */
const referenced = (reference: string): string => reference.slice(2, -1);
