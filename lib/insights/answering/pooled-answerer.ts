/** The answerer of one machine as the service sees it: answers are computed by worker processes. */

import { SECOND_MS } from '../../basics/units.ts';
import { Damaged, invalid, Permanent } from '../../ports/errors.ts';
import { WorkerLost, type WorkerPool } from '../../workers/pool.ts';
import { failFull, LineFull, type Turns } from '../../workers/turns.ts';
import type { Answerer, AnswerLine, ComputedAnswer } from './answerer.ts';

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

/** The turns of users, by the line in which they stand: an owner is a user in all of their organizations. */
export type UserTurns = Readonly<Record<AnswerLine, Pick<Turns, 'run'>>>;

/**
 * Answers by pools whose workers run `answer-worker.ts`, one for each line, so that no line holds up another. A task of
 * those who wait takes at most `WAITED_MS`, any other `BACKGROUND_MS`, from when it has its turn. Who has `users`, first
 * waits for the turn of the user who asks, then for that of the organization.
 */
export const pooledAnswerer = (
  { waited, background, notifier = background }: AnswerPools,
  users?: UserTurns,
): Answerer => ({
  answer: async (asked, { organization: owner, user, signal, line }) => {
    const pool = { waited, background, notifier }[line];
    const isWaited = line === 'waited';
    const ms = isWaited ? WAITED_MS : BACKGROUND_MS;
    const late = isWaited ? AbortSignal.timeout(WITH_TURN_MS) : undefined;
    const ends = late === undefined ? signal : AbortSignal.any([signal, late]);
    const askedAt = performance.now();
    const turnOfUser = user === undefined ? undefined : users?.[line];
    let waitsFor: 'user' | 'organization' = turnOfUser === undefined ? 'organization' : 'user';
    let hasItsTime = false;
    const begins = (): void => {
      hasItsTime = performance.now() - askedAt <= WITH_TURN_MS - WAITED_MS;
    };
    const run = (): Promise<unknown> => {
      waitsFor = 'organization';
      return pool.run({ name: 'answer', input: asked, owner, signal: ends, begins });
    };
    try {
      const answer = turnOfUser === undefined ? run() : turnOfUser.run(user ?? '', run, ends);
      return (await answer) as ComputedAnswer;
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
      if (isLate || error instanceof LineFull)
        return waitsFor === 'user' ? failFull('Too many of your queries are being answered.') : failCrowded();
      if (error instanceof Damaged || !(error instanceof Permanent || error instanceof WorkerLost)) throw error;
      return invalid(
        'query',
        'The query takes more memory than one query may have. Ask for less: a shorter time, or a filter.',
      );
    }
  },
});
