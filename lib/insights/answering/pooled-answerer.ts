/** The answerer of one machine as the service sees it: answers are computed by worker processes. */

import { SECOND_MS } from '../../basics/units.ts';
import { Damaged, invalid, Permanent } from '../../ports/errors.ts';
import { WorkerLost, type WorkerPool } from '../../workers/pool.ts';
import { failFull, LineFull } from '../../workers/turns.ts';
import type { Answerer, ComputedAnswer } from './answerer.ts';

/** Somebody waits so long for an answer. */
export const WAITED_MS = 25 * SECOND_MS;
/** And so long with the wait for a turn: the gateway gives up after 29 s. */
const WITH_TURN_MS = 27 * SECOND_MS;
/** Nobody waits: an answer may take so long. */
export const BACKGROUND_MS = 300 * SECOND_MS;

/** The code of a query that takes longer than it may. */
export const TOO_SLOW = 'query_too_slow';

/** Throws the 429 of an organization that has no turn. */
export const failCrowded = (): never => failFull('Too many queries of the organization are being answered.');

/**
 * Answers by pools whose workers run `answer-worker.ts`: one for those who wait, the other for what runs in the
 * background, so that the second never holds up the first. A task of the first takes at most `WAITED_MS`, one of the
 * second `BACKGROUND_MS`, from when it has its turn.
 */
export const pooledAnswerer = (pools: {
  readonly waited: Pick<WorkerPool, 'run'>;
  readonly background: Pick<WorkerPool, 'run'>;
}): Answerer => ({
  answer: async (asked, { organization: owner, signal, isBackground }) => {
    const pool = isBackground ? pools.background : pools.waited;
    const ms = isBackground ? BACKGROUND_MS : WAITED_MS;
    const late = isBackground ? undefined : AbortSignal.timeout(WITH_TURN_MS);
    try {
      const ends = late === undefined ? signal : AbortSignal.any([signal, late]);
      return (await pool.run({ name: 'answer', input: asked, owner, signal: ends })) as ComputedAnswer;
    } catch (error) {
      // It may have had a turn, and most of its time before that it waited.
      const isLate = late?.aborted === true && !signal.aborted;
      if (isLate || error instanceof LineFull) failCrowded();
      if (error instanceof WorkerLost && error.loss === 'silence')
        return invalid(
          'query',
          `The query takes longer than ${ms / SECOND_MS} s. ` +
            `${isBackground ? 'Ask' : 'Send `"refresh": "async"`, or ask'} for less: a shorter time, or a filter.`,
          TOO_SLOW,
        );
      if (error instanceof Damaged || !(error instanceof Permanent || error instanceof WorkerLost)) throw error;
      return invalid(
        'query',
        'The query takes more memory than one query may have. Ask for less: a shorter time, or a filter.',
      );
    }
  },
});
