/** Tasks that a Lambda function does, where there are no worker processes beside the one that asks. */

import { SECOND_MS } from '../basics/units.ts';
import { invalid } from '../ports/errors.ts';
import { FunctionBusy, InputTooLarge, type LambdaFunction } from '../ports/functions/lambda.ts';
import { receivedError, type SentError } from './errors.ts';
import { type PoolTask, WorkerLost, type WorkerPool } from './pool.ts';
import { LineFull } from './turns.ts';
import type { Loss } from './worker-process.ts';

/** A task on its way to the function. Plain JSON. */
export interface FunctionTask extends Pick<PoolTask, 'name' | 'input' | 'owner'> {
  /** Nobody waits for it from then on; milliseconds since 1970. */
  readonly until: number;
}

/** What became of it. Plain JSON. */
export type FunctionOutcome =
  | { readonly result: unknown }
  | { readonly error: SentError }
  | { readonly lost: Loss; readonly message: string };

/** A turn that somebody has. Plain JSON: whoever is told of it may give it back. */
export interface SharedTurn {
  readonly owner: string;
  readonly n: number;
  readonly holder: string;
}

/** Turns that are shared by all who ask, wherever they run. */
export interface SharedTurns {
  /**
   * Waits for a turn of an owner, which ends by itself after so many milliseconds. Rejects with the signal's reason on
   * abort, and with `LineFull` when none came free in time.
   */
  take(owner: string, forMs: number, signal?: AbortSignal): Promise<SharedTurn>;
  giveBack(turn: SharedTurn): Promise<void>;
}

interface FunctionPoolOptions {
  /** The function that does the tasks. */
  readonly worker: Pick<LambdaFunction, 'call'>;
  /** Absent: whoever asks has a turn. */
  readonly turns?: SharedTurns;
  /** A task takes at most so long, with the wait for its turn. */
  readonly ms: number;
  readonly clock: () => number;
}

/** What the function says has to arrive before whoever asked has given up. */
const RETURN_MS = SECOND_MS;

/** How Lambda names the end of a process that took more memory or time than it has. */
const LOSSES: ReadonlyMap<string, Loss> = new Map([
  ['Runtime.OutOfMemory', 'memory'],
  ['Runtime.ExitError', 'memory'],
  ['Sandbox.Timedout', 'silence'],
]);

/** How Lambda names a result of more than the 6 MB that a function returns. */
const TOO_LARGE = 'Function.ResponseSizeTooLarge';

/**
 * A pool whose tasks are done by a function. Throws as any pool does: `LineFull` when its owner has no turn, or the
 * function runs as often as it may; `WorkerLost` when it ran out of memory or time. An input or a result that is too large for a
 * function is a 400. Who leaves does not stop the function: it ends its task in its own time.
 */
export function functionPool({ worker, turns, ms, clock }: FunctionPoolOptions): Pick<WorkerPool, 'run'> {
  return {
    run: ({ name, input, owner, signal: left, begins }) =>
      inTime(ms, left, async (signal) => {
        const until = clock() + ms - RETURN_MS;
        const turn = await turns?.take(owner, ms, signal);
        try {
          begins?.();
          const task: FunctionTask = { name, input, owner, until };
          return resultOf(await outcomeOf(worker, task, signal));
        } finally {
          // Who has left leaves the function at work: their turn ends when it does.
          if (turn !== undefined && !signal.aborted) await turns?.giveBack(turn);
        }
      }),
  };
}

/** Does what takes at most so long; then, unless nobody waits any more, it throws the `WorkerLost` of silence. */
export async function inTime<T>(
  ms: number,
  left: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(ms);
  try {
    return await act(left === undefined ? late : AbortSignal.any([left, late]));
  } catch (error) {
    if (late.aborted && left?.aborted !== true) throw new WorkerLost('silence', 'Its time was over.');
    throw error;
  }
}

async function outcomeOf(
  worker: Pick<LambdaFunction, 'call'>,
  task: FunctionTask,
  signal: AbortSignal,
): Promise<FunctionOutcome> {
  const called = await worker.call(task, signal).catch((error: unknown) => {
    if (error instanceof FunctionBusy) throw new LineFull('the function runs as often as it may');
    if (error instanceof InputTooLarge)
      invalid(
        null,
        'The project has more files of events than a function of AWS can be told of: it can be exported, not asked.',
      );
    throw error;
  });
  if ('returned' in called) return called.returned as FunctionOutcome;
  const { name, message } = called.ended;
  // Where time ends, Lambda tells it in the message alone.
  const lost = /Task timed out/.test(message) ? 'silence' : LOSSES.get(name);
  if (lost !== undefined) return { lost, message };
  if (name === TOO_LARGE)
    invalid(null, 'What was found is too large to be sent. Ask for less: a shorter time, or a filter.');
  throw new Error(`the function failed: ${name} ${message}`);
}

function resultOf(outcome: FunctionOutcome): unknown {
  if ('lost' in outcome) throw new WorkerLost(outcome.lost, outcome.message);
  if ('error' in outcome) throw receivedError(outcome.error);
  return outcome.result;
}
