/** The answerer of one machine as the service sees it: answers are computed by worker processes. */
import { Damaged, invalid, Permanent } from '../../ports/errors.ts';
import { SECOND_MS } from '../../ports/units.ts';
import { WorkerLost, type WorkerPool } from '../../workers/pool.ts';
import { failFull, LineFull } from '../../workers/turns.ts';
import type { Answered, Answerer } from './answerer.ts';

/** Somebody waits so long for an answer: API Gateway gives up after 29 s. */
export const WAITED_MS = 25 * SECOND_MS;
/** Nobody waits: an answer may take so long. */
export const BACKGROUND_MS = 300 * SECOND_MS;

/** The code of a query that takes longer than it may. */
export const TOO_SLOW = 'query_too_slow';

/** Throws the 429 of an organization that has no turn. */
export const failCrowded = (): never => failFull('Too many queries of the organization are being answered.');

/**
 * Answers by pools whose workers run `answer-worker.ts`: one for those who wait, the other for what runs in the
 * background, so that the second never holds up the first.
 */
export const pooledAnswerer = (pools: {
  readonly waited: Pick<WorkerPool, 'run'>;
  readonly background: Pick<WorkerPool, 'run'>;
}): Answerer => ({
  answer: async (asked, { organization: owner, signal, isBackground }) => {
    const pool = isBackground ? pools.background : pools.waited;
    const ms = isBackground ? BACKGROUND_MS : WAITED_MS;
    const late = AbortSignal.timeout(ms);
    try {
      const task = { name: 'answer', input: asked, owner, signal: AbortSignal.any([signal, late]) };
      return (await pool.run(task)) as Answered;
    } catch (error) {
      if (error instanceof LineFull) failCrowded();
      const isLate = late.aborted && !signal.aborted;
      if (isLate || (error instanceof WorkerLost && error.loss === 'silence'))
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
