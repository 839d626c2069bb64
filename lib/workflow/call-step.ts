/** Calls steps within their limits of time, and tells why one is called off. */

import { messageOf } from '../basics/text.ts';
import { alarm, type Time } from '../basics/timer.ts';
import { SECOND_MS } from '../basics/units.ts';
import { StateError } from './state-error.ts';
import type { StepRunner } from './step.ts';
import { GRACE_SECONDS } from './steps.ts';
import type { Json } from './workflow.ts';

/** A branch stops. `closing`: the process ends; `ended`: the execution has ended; `sibling`: another item failed. */
export class Halt extends Error {
  override readonly name = 'Halt';
  readonly why: 'closing' | 'ended' | 'sibling';
  constructor(why: 'closing' | 'ended' | 'sibling') {
    super({ closing: 'the service is closing', ended: 'the execution has ended', sibling: 'another item failed' }[why]);
    this.why = why;
  }
}

/** Returns whether a signal was aborted because the process ends. */
export const isClosing = (reason: unknown): boolean => reason instanceof Halt && reason.why === 'closing';

/** Runs `work` under the time limit, past which its signal is aborted with States.Timeout. Undefined: there is none. */
export async function within<T>(
  time: Time,
  seconds: number | undefined,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (seconds === undefined) return work(signal);
  const late = new AbortController();
  const tooLate = (): void => late.abort(new StateError('States.Timeout'));
  const callOff = alarm(time.clock() + seconds * SECOND_MS, time, tooLate);
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    callOff();
  }
}

/**
 * Runs a step. When the signal is aborted it has 30 s to end by itself, so that no old attempt runs beside the next;
 * what it brings by then counts only when the process is closing.
 */
export async function callStep(time: Time, call: StepRunner, input: Json, signal: AbortSignal): Promise<Json> {
  signal.throwIfAborted();
  const over = Promise.withResolvers<never>();
  let callOff: (() => void) | undefined;
  const armGrace = (): void => {
    callOff = alarm(time.clock() + GRACE_SECONDS * SECOND_MS, time, () => over.reject(signal.reason));
  };
  signal.addEventListener('abort', armGrace);
  try {
    const payload = await Promise.race([(async () => call(input, signal))(), over.promise]);
    if (signal.aborted && !isClosing(signal.reason)) throw signal.reason;
    return { StatusCode: 200, Payload: payload };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof StateError) throw error;
    throw new StateError(error instanceof Error ? error.name : 'Error', lambdaCause(error));
  } finally {
    signal.removeEventListener('abort', armGrace);
    callOff?.();
  }
}

/** Returns the cause that Step Functions gets when a function throws. */
function lambdaCause(error: unknown): string {
  const { name: errorType, stack = '' } = error instanceof Error ? error : { name: typeof error };
  const trace = stack.split('\n');
  return JSON.stringify({ errorType, errorMessage: messageOf(error), trace });
}
