/**
 * The meaning of states: runs one branch (a machine, or one item of a Map) from state to state. It keeps nothing and
 * knows no clock; its host does what it asks for and keeps its position.
 */
import { evaluate, type StatesVariable, withinLimit } from './expression.ts';
import { StateError, takes } from './state-error.ts';
import { type Choice, type Flow, type MapState, onlyComputes, type State, type Task } from './states-language.ts';
import type { Json } from './workflow.ts';

/**
 * The point that a branch has come to: the state to run next (or again) and its input; how often each of its retriers
 * has been used; and until when it waits first, in milliseconds since 1970 (a Wait, or the pause before a retry).
 */
export interface BranchPosition {
  readonly state: string;
  readonly data: Json;
  readonly retries: readonly number[];
  readonly wakeAt: number | null;
}

export const startOf = (flow: Flow, data: Json): BranchPosition => enter(flow.StartAt, data);

/** Serves a branch. All but `now` and `random` reject with the signal's reason when that is aborted. */
export interface BranchHost {
  /** The name of the execution. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** At least 0, below 1: the random part of a retry's pause. */
  readonly random: () => number;
  /** Keeps the position durably. It is called before the state at the position does anything. */
  keep(position: BranchPosition): Promise<void>;
  sleepUntil(instant: number): Promise<void>;
  /** Runs a task to its result, or throws `StateError`. `args` are the evaluated Arguments. */
  perform(task: Task, args: Json): Promise<Json>;
  /** Runs `flow` on each input, at most `concurrency` at a time (0: all), and gives the outputs in order. */
  each(state: string, flow: Flow, inputs: readonly Json[], concurrency: number): Promise<Json[]>;
}

/** Runs the branch from the position to its end and gives its output; throws `StateError` when it fails. */
export async function walk(flow: Flow, position: BranchPosition, host: BranchHost): Promise<Json> {
  for (;;) {
    host.signal.throwIfAborted();
    const next = await run(stateAt(flow, position), position, host);
    if ('output' in next) return next.output;
    position = next;
    const state = stateAt(flow, position);
    // A Wait is kept once it is known until when; what only computes is computed again from the state before.
    if (!onlyComputes(state) && !(state.Type === 'Wait' && position.wakeAt === null)) await host.keep(position);
  }
}

type Next = BranchPosition | { readonly output: Json };

function stateAt(flow: Flow, { state }: BranchPosition): State {
  const found = Object.hasOwn(flow.States, state) ? flow.States[state] : undefined;
  if (found === undefined) throw new StateError('States.Runtime', `There is no state ${state}.`);
  return found;
}

async function run(state: State, position: BranchPosition, host: BranchHost): Promise<Next> {
  const { data: input } = position;
  const states: StatesVariable = {
    input,
    context: {
      Execution: { Name: host.name },
      State: { RetryCount: position.retries.reduce((sum, count) => sum + count, 0) },
    },
  };
  switch (state.Type) {
    case 'Task':
      if (position.wakeAt !== null) await host.sleepUntil(position.wakeAt);
      try {
        const result = withinLimit(await host.perform(state, await evaluate(state.Arguments, states)));
        return leave(state, await outputOf(state.Output, result, { ...states, result }));
      } catch (error) {
        return (retried(state, position, error, host) ?? (await caught(state, states, error))) satisfies Next;
      }
    case 'Map':
      try {
        const result = await mapped(state, position.state, states, host);
        return leave(state, await outputOf(state.Output, result, { ...states, result }));
      } catch (error) {
        return await caught(state, states, error);
      }
    case 'Wait': {
      if (position.wakeAt === null) {
        const seconds = await evaluate(state.Seconds, states);
        return { ...position, wakeAt: host.now() + numberFrom(seconds, 'Seconds') * 1000 };
      }
      await host.sleepUntil(position.wakeAt);
      return leave(state, await outputOf(state.Output, input, states));
    }
    case 'Choice':
      return await chosen(state, position.state, states);
    case 'Pass':
      return leave(state, await outputOf(state.Output, input, states));
    case 'Succeed':
      return { output: await outputOf(state.Output, input, states) };
    case 'Fail':
      break;
  }
  throw new StateError(
    textFrom(await evaluate(state.Error, states), 'Error'),
    textFrom(await evaluate(state.Cause ?? '', states), 'Cause'),
  );
}

function enter(state: string, data: Json): BranchPosition {
  return { state, data, retries: [], wakeAt: null };
}

const leave = ({ Next }: { readonly Next?: string | undefined }, output: Json): Next =>
  Next === undefined ? { output } : enter(Next, output);

/** Returns the evaluated template or, without one, the value as it is: data is never taken for a template. */
async function outputOf(template: Json | undefined, value: Json, states: StatesVariable): Promise<Json> {
  return template === undefined ? value : await evaluate(template, states);
}

/** Returns the state that the first rule which holds names, or else the default. */
async function chosen(state: Choice, name: string, states: StatesVariable): Promise<BranchPosition> {
  for (const { Condition, Output, Next } of state.Choices) {
    const holds = await evaluate(Condition, states);
    if (typeof holds !== 'boolean') {
      throw new StateError('States.QueryEvaluationError', `The condition ${Condition} is neither true nor false.`);
    }
    if (holds) return enter(Next, await outputOf(Output, states.input, states));
  }
  if (state.Default === undefined) throw new StateError('States.NoChoiceMatched', `No rule of ${name} matches.`);
  return enter(state.Default, await outputOf(state.Output, states.input, states));
}

/** Runs a Map: its items become inputs, and these its outputs. */
async function mapped(state: MapState, name: string, states: StatesVariable, host: BranchHost): Promise<Json> {
  const items = await evaluate(state.Items, states);
  if (!Array.isArray(items)) {
    throw new StateError('States.QueryEvaluationError', `The Items of ${name} are not a list.`);
  }
  const concurrency = numberFrom(await evaluate(state.MaxConcurrency ?? 0, states), 'MaxConcurrency');
  const selector = state.ItemSelector;
  const inputs =
    selector === undefined
      ? items
      : await Promise.all(
          items.map((Value) =>
            evaluate(selector, { ...states, context: { ...states.context, Map: { Item: { Value } } } }),
          ),
        );
  return withinLimit(await host.each(name, state.ItemProcessor, inputs, concurrency));
}

/** Returns the same state again, after a pause, when a retrier takes the error and has an attempt left. */
function retried(state: Task, position: BranchPosition, error: unknown, host: BranchHost): BranchPosition | undefined {
  if (!(error instanceof StateError)) return undefined;
  const retriers = state.Retry ?? [];
  const index = retriers.findIndex(({ ErrorEquals }) => takes(ErrorEquals, error));
  const retrier = retriers[index];
  const used = position.retries[index] ?? 0;
  // 3 attempts, from 1 s, doubling: Amazon States Language.
  if (retrier === undefined || used >= (retrier.MaxAttempts ?? 3)) return undefined;
  const growing = (retrier.IntervalSeconds ?? 1) * (retrier.BackoffRate ?? 2) ** used;
  const seconds = Math.min(growing, retrier.MaxDelaySeconds ?? Number.POSITIVE_INFINITY);
  const pause = retrier.JitterStrategy === 'FULL' ? host.random() * seconds : seconds;
  return {
    ...position,
    retries: retriers.map((_, at) => (position.retries[at] ?? 0) + (at === index ? 1 : 0)),
    wakeAt: host.now() + Math.round(pause * 1000),
  };
}

/** Returns the state that a catcher names. Throws the error again when none takes it. */
async function caught(state: Task | MapState, states: StatesVariable, error: unknown): Promise<BranchPosition> {
  if (!(error instanceof StateError)) throw error;
  const catcher = (state.Catch ?? []).find(({ ErrorEquals }) => takes(ErrorEquals, error));
  if (catcher === undefined) throw error;
  const { output: errorOutput } = error;
  return enter(catcher.Next, await outputOf(catcher.Output, { ...errorOutput }, { ...states, errorOutput }));
}

function numberFrom(value: Json, field: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new StateError('States.QueryEvaluationError', `${field} is not a whole number from 0 up.`);
}

function textFrom(value: Json, field: string): string {
  if (typeof value === 'string') return value;
  throw new StateError('States.QueryEvaluationError', `${field} is not text.`);
}
