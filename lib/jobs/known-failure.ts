import { Permanent, Transient } from '../ports/errors.ts';
import type { Log } from '../ports/log.ts';

/**
 * Does work that is tried until some time, for somebody who is told how it went. Returns the `Transient` or `Permanent`
 * that it ended with, if it did. Anything else it throws, unless it was stopped or the time has come: then whatever
 * broke is logged, and a `Permanent` stands for it, so that nothing is tried without end.
 */
export async function knownFailure(
  { clock, log }: { readonly clock: () => number; readonly log: Log },
  work: () => Promise<void>,
  { until, signal }: { readonly until: number; readonly signal: AbortSignal },
): Promise<Transient | Permanent | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof Transient || error instanceof Permanent) return error;
    if (signal.aborted || clock() < until) throw error;
    log.error('what was tried until now broke, and is given up', { error });
    const name = error instanceof Error ? error.name : typeof error;
    return new Permanent(`The service met an error of its own (${name}).`);
  }
}
