import { SECOND_MS } from '../basics/units.ts';
import { Transient } from '../ports/errors.ts';
import { STEPS, type StepName } from './steps.ts';

/** What a step does when it is told that its time is over soon. */
const LAST_MS = 30 * SECOND_MS;

/**
 * Does what a step waits for others with, until half a minute before its time is over. Then `act`'s signal is aborted with
 * a `Transient`, which is tried again for long: a step whose time is over is tried twice more.
 */
export async function beforeTimeout<T>(
  step: StepName,
  signal: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const end = (): void => late.abort(new Transient('it had no turn in its time', { isOwn: true }));
  const timer = setTimeout(end, STEPS[step].timeout * SECOND_MS - LAST_MS);
  try {
    return await act(AbortSignal.any([signal, late.signal]));
  } finally {
    clearTimeout(timer);
  }
}
