/**
 * What states mean: the way of one branch (a machine, or one item of a Map) from state to state. It keeps nothing and
 * knows no clock; a home does what it asks for and keeps its position.
 */

import { evaluate, type Scope, withinLimit } from './expression.ts';
import { StateError, takes } from './state-error.ts';
import { type Flow, type MapState, onlyComputes, type State, type Task } from './states-language.ts';
import type { Json } from './workflow.ts';

/**
 * Where a branch is: the state to run next (or again) and its input; how often each of its retriers has been used; and
 * until when it waits first, in milliseconds since 1970 (a Wait, or the pause before a retry).
 */
export interface Position {
  readonly state: string;
  readonly data: Json;
  readonly retries: readonly number[];
  readonly wakeAt: number | null;
}

export const startOf = (flow: Flow, data: Json): Position => ({ state: flow.StartAt, data, retries: [], wakeAt: null });

/** What a branch needs from its home. All but `now` and `random` reject with the reason when `signal` is aborted. */
export interface BranchHome {
  /** The name of the execution. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** At least 0, below 1: the random part of a retry's pause. */
  readonly random: () => number;
  /** Keeps the position, durably. Called before the state at the position does anything. */
  keep(position: Position): Promise<void>;
  sleepUntil(instant: number): Promise<void>;
  /** Runs a task to its result, or throws `StateError`. `args` are the evaluated Arguments. */
  perform(task: Task, args: Json): Promise<Json>;
  /** Runs `flow` on each input, at most `concurrency` at a time (0: all), and gives the outputs in order. */
  each(state: string, flow: Flow, inputs: readonly Json[], concurrency: number): Promise<Json[]>;
}

/** Runs the branch from the position to its end and gives its output; throws `StateError` when it fails. */
export async function walk(flow: Flow, position: Position, home: BranchHome): Promise<Json> {
  for (;;) {
    home.signal.throwIfAborted();
    const next = await run(stateAt(flow, position), position, home);
    if ('output' in next) return next.output;
    position = next;
    const state = stateAt(flow, position);
    // A Wait is kept once it is known until when; what only computes is computed again from the state before.
    if (!onlyComputes(state) && !(state.Type === 'Wait' && position.wakeAt === null)) await home.keep(position);
  }
}

type Next = Position | { readonly output: Json };

function stateAt(flow: Flow, { state }: Position): State {
  const found = Object.hasOwn(flow.States, state) ? flow.States[state] : undefined;
  if (found === undefined) throw new StateError('States.Runtime', `There is no state ${state}.`);
  return found;
}

async function run(state: State, position: Position, home: BranchHome): Promise<Next> {
  const { data: input } = position;
  const scope: Scope = {
    input,
    context: {
      Execution: { Name: home.name },
      State: { RetryCount: position.retries.reduce((sum, count) => sum + count, 0) },
    },
  };
  switch (state.Type) {
    case 'Task':
      if (position.wakeAt !== null) await home.sleepUntil(position.wakeAt);
      try {
        const result = withinLimit(await home.perform(state, await evaluate(state.Arguments, scope)));
        return leave(state, await outputOf(state.Output, result, { ...scope, result }));
      } catch (error) {
        return (retried(state, position, error, home) ?? (await caught(state, scope, error))) satisfies Next;
      }
    case 'Map':
      try {
        const result = await mapped(state, position.state, scope, home);
        return leave(state, await outputOf(state.Output, result, { ...scope, result }));
      } catch (error) {
        return await caught(state, scope, error);
      }
    case 'Wait': {
      if (position.wakeAt === null) {
        const seconds = await evaluate(state.Seconds, scope);
        return { ...position, wakeAt: home.now() + numberFrom(seconds, 'Seconds') * 1000 };
      }
      await home.sleepUntil(position.wakeAt);
      return leave(state, await outputOf(state.Output, input, scope));
    }
    case 'Choice': {
      for (const { Condition, Output, Next } of state.Choices) {
        const holds = await evaluate(Condition, scope);
        if (typeof holds !== 'boolean') {
          throw new StateError('States.QueryEvaluationError', `The condition ${Condition} is neither true nor false.`);
        }
        if (holds) return enter(Next, await outputOf(Output, input, scope));
      }
      if (state.Default === undefined) {
        throw new StateError('States.NoChoiceMatched', `No rule of ${position.state} matches.`);
      }
      return enter(state.Default, await outputOf(state.Output, input, scope));
    }
    case 'Pass':
      return leave(state, await outputOf(state.Output, input, scope));
    case 'Succeed':
      return { output: await outputOf(state.Output, input, scope) };
    case 'Fail':
      break;
  }
  throw new StateError(
    textFrom(await evaluate(state.Error, scope), 'Error'),
    textFrom(await evaluate(state.Cause ?? '', scope), 'Cause'),
  );
}

const enter = (state: string, data: Json): Position => ({ state, data, retries: [], wakeAt: null });

const leave = ({ Next }: { readonly Next?: string | undefined }, output: Json): Next =>
  Next === undefined ? { output } : enter(Next, output);

/** What a template makes of the scope; without one, the value as it is (data is never taken for a template). */
async function outputOf(template: Json | undefined, value: Json, scope: Scope): Promise<Json> {
  return template === undefined ? value : await evaluate(template, scope);
}

async function mapped(state: MapState, name: string, scope: Scope, home: BranchHome): Promise<Json> {
  const items = await evaluate(state.Items, scope);
  if (!Array.isArray(items)) {
    throw new StateError('States.QueryEvaluationError', `The Items of ${name} are not a list.`);
  }
  const concurrency = numberFrom(await evaluate(state.MaxConcurrency ?? 0, scope), 'MaxConcurrency');
  const selector = state.ItemSelector;
  const inputs =
    selector === undefined
      ? items
      : await Promise.all(
          items.map((Value) =>
            evaluate(selector, { ...scope, context: { ...scope.context, Map: { Item: { Value } } } }),
          ),
        );
  return withinLimit(await home.each(name, state.ItemProcessor, inputs, concurrency));
}

/** The same state again after a pause, when a retrier takes the error and has an attempt left. */
function retried(state: Task, position: Position, error: unknown, home: BranchHome): Position | undefined {
  if (!(error instanceof StateError)) return undefined;
  const retriers = state.Retry ?? [];
  const index = retriers.findIndex(({ ErrorEquals }) => takes(ErrorEquals, error));
  const retrier = retriers[index];
  const used = position.retries[index] ?? 0;
  // 3 attempts, from 1 s, doubling: Amazon States Language.
  if (retrier === undefined || used >= (retrier.MaxAttempts ?? 3)) return undefined;
  const growing = (retrier.IntervalSeconds ?? 1) * (retrier.BackoffRate ?? 2) ** used;
  const seconds = Math.min(growing, retrier.MaxDelaySeconds ?? Number.POSITIVE_INFINITY);
  const pause = retrier.JitterStrategy === 'FULL' ? home.random() * seconds : seconds;
  return {
    ...position,
    retries: retriers.map((_, at) => (position.retries[at] ?? 0) + (at === index ? 1 : 0)),
    wakeAt: home.now() + Math.round(pause * 1000),
  };
}

/** The state that a catcher names; the error goes on when there is none. */
async function caught(state: Task | MapState, scope: Scope, error: unknown): Promise<Position> {
  if (!(error instanceof StateError)) throw error;
  const catcher = (state.Catch ?? []).find(({ ErrorEquals }) => takes(ErrorEquals, error));
  if (catcher === undefined) throw error;
  const { output: errorOutput } = error;
  return enter(catcher.Next, await outputOf(catcher.Output, { ...errorOutput }, { ...scope, errorOutput }));
}

function numberFrom(value: Json, field: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new StateError('States.QueryEvaluationError', `${field} is not a whole number from 0 up.`);
}

function textFrom(value: Json, field: string): string {
  if (typeof value === 'string') return value;
  throw new StateError('States.QueryEvaluationError', `${field} is not text.`);
}
