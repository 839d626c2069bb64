/** The answerer of one machine as the service sees it: answers are computed by worker processes. */

import { SECOND_MS } from '../../basics/units.ts';
import { Damaged, invalid, Permanent } from '../../ports/errors.ts';
import { WorkerLost, type WorkerPool } from '../../workers/pool.ts';
import { failFull, LineFull } from '../../workers/turns.ts';
import type { Answerer, AnswerLine, AnswerTurn, ComputedAnswer } from './answerer.ts';
import { TOO_MUCH_MEMORY } from './query-failures.ts';

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

interface AnswerPools {
  readonly waited: Pick<WorkerPool, 'run'>;
  readonly background: Pick<WorkerPool, 'run'>;
  /** Default: that of the background. */
  readonly notifier?: Pick<WorkerPool, 'run'>;
}

/** A query that has its turn, and whose it is. */
type Running = Pick<AnswerTurn, 'organization' | 'user'>;

/**
 * Answers by pools whose workers run `answer-worker.ts`, one for each line, so that no line holds up another. A task of
 * those who wait takes at most `WAITED_MS`, any other `BACKGROUND_MS`, from when it has its turn. Pools that tell users
 * apart are told who asks.
 */
export const pooledAnswerer = ({ waited, background, notifier = background }: AnswerPools): Answerer => {
  const running: Readonly<Record<AnswerLine, Set<Running>>> = {
    waited: new Set(),
    background: new Set(),
    notifier: new Set(),
  };
  return {
    answer: async (asked, { organization, user, signal, line, begins }) => {
      const pool = { waited, background, notifier }[line];
      const isWaited = line === 'waited';
      const ms = isWaited ? WAITED_MS : BACKGROUND_MS;
      const late = isWaited ? AbortSignal.timeout(WITH_TURN_MS) : undefined;
      const ends = late === undefined ? signal : AbortSignal.any([signal, late]);
      const askedAt = performance.now();
      let hasItsTime = false;
      const own: Running = { organization, user };
      const runningThen = [...running[line]];
      const begin = (): void => {
        hasItsTime = performance.now() - askedAt <= WITH_TURN_MS - WAITED_MS;
        running[line].add(own);
        begins?.();
      };
      const isOfUser = (one: Running): boolean => user !== undefined && one.user === user;
      /** Whether it has waited for another query of the user, and for none of somebody else in the organization. */
      const waitsForUser = (): boolean => {
        const before = [...runningThen, ...running[line]].filter((one) => one !== own);
        return before.some(isOfUser) && before.every((one) => isOfUser(one) || one.organization !== organization);
      };
      try {
        const task = { name: 'answer', input: asked, owner: organization, user, signal: ends, begins: begin };
        return (await pool.run(task)) as ComputedAnswer;
      } catch (error) {
        const isLate = late?.aborted === true && !signal.aborted;
        // One that waited for its turn most of the time may be fast enough another time.
        const isTooSlow = isLate ? hasItsTime : error instanceof WorkerLost && error.loss === 'silence';
        if (isTooSlow)
          return invalid(
            'query',
            `The query takes longer than ${ms / SECOND_MS} s. ` +
              `${isWaited ? 'Send `"refresh": "async"`, or ask' : 'Ask'} for less: a shorter time, or a filter.`,
            TOO_SLOW,
          );
        if (isLate || error instanceof LineFull) {
          const isOfUser = error instanceof LineFull ? error.of === 'user' : waitsForUser();
          return isOfUser ? failFull('Too many of your queries are being answered.') : failCrowded();
        }
        if (error instanceof Damaged || !(error instanceof Permanent || error instanceof WorkerLost)) throw error;
        return invalid('query', TOO_MUCH_MEMORY);
      } finally {
        running[line].delete(own);
      }
    },
  };
};
