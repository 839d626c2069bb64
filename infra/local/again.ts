import { messageOf } from '../../lib/basics/text.ts';
import { systemTimer, type Timer } from '../../lib/basics/timer.ts';
import { MINUTE_MS } from '../../lib/basics/units.ts';
import { inWords } from '../../lib/ports/disk-failures.ts';
import type { Log } from '../../lib/ports/log.ts';

/** The longest pause after a failure. */
const LONGEST_PAUSE_MS = MINUTE_MS;

interface How {
  /** The pause between two runs. */
  readonly intervalMs: number;
  /** What the log says of a run that failed. */
  readonly failure: string;
  readonly log: Log;
  readonly timer?: Timer;
}

/**
 * Runs something again and again from now on, never two at a time. What fails is made up by the next, after a pause that
 * doubles with each failure in a row, up to a minute. `stop` waits for the run that is under way.
 */
export function again(
  run: () => Promise<unknown>,
  { intervalMs, failure, log, timer = systemTimer }: How,
): { stop(): Promise<void> } {
  let isStopped = false;
  let pause = intervalMs;
  let callOff: (() => void) | undefined;
  let current = Promise.resolve();
  const next = (): void => {
    current = run().then(
      () => {
        pause = intervalMs;
      },
      (error: unknown) => {
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
        log.error(failure, { reason: messageOf(inWords(error)) });
      },
    );
    void current.then(() => {
      if (!isStopped) callOff = timer(pause, next);
    });
  };
  next();
  return {
    stop: async () => {
      isStopped = true;
      callOff?.();
      await current;
    },
  };
}
