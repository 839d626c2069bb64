/**
 * The answers of a stage: of many functions, none of which outlives its request. What is known of them is in the table,
 * and what nobody waits for is carried out by a function that is started for it.
 */

import { messageOf } from '../../basics/text.ts';
import type { Context } from '../../ports/context.ts';
import { Failure, invalid } from '../../ports/errors.ts';
import type { SharedTurns } from '../../workers/function-pool.ts';
import { LineFull } from '../../workers/turns.ts';
import type { Answerer } from './answerer.ts';
import type { Answers } from './answers.ts';
import { answerCache, OF_MANY } from './cache.ts';
import { type AskedQuery, computations } from './computations.ts';
import { failCrowded, TOO_SLOW } from './pooled-answerer.ts';
import { fits, ORDER_MS, ordered, ordersOf, type QueryRunner } from './query-orders.ts';
import { TOO_LARGE } from './read-bytes.ts';
import { cancelled, failureOfRun, type QueryRun, withAnswer } from './runs.ts';
import { interrupted, storedRuns } from './stored-runs.ts';

export type StageContext = Pick<Context, 'table' | 'clock' | 'newId' | 'log'>;

/** What nobody can wait for is answered behind: the gateway would end the request a moment later. */
const LATER: ReadonlySet<string> = new Set([TOO_SLOW, TOO_LARGE]);

interface StageAnswersOptions {
  readonly answerer: Answerer;
  /** Has an order carried out by somebody else. Resolves when it is sure that it begins. */
  readonly start: QueryRunner;
  /** A turn of what runs behind is taken when it is asked for, so that nobody's orders stand in others' way. */
  readonly background: SharedTurns;
}

export function stageAnswers(context: StageContext, { answerer, start, background }: StageAnswersOptions): Answers {
  const { newId, log } = context;
  const cache = answerCache(context, OF_MANY);
  const { cached, compute, look } = computations(context, answerer, cache);
  const runs = storedRuns(context);

  /**
   * Has a query answered behind, under the run that `begin` notes. Throws when there is no place for it, or nobody who
   * begins; then the run has ended.
   */
  const order = async (asked: AskedQuery, begin: () => Promise<QueryRun>): Promise<QueryRun> => {
    const { project } = asked;
    const alone = { project: project.id, queries: [ordered(asked)] };
    if (!fits({ ...alone, run: null }))
      invalid('query', 'The query is too long to be answered later. Send `"refresh": "blocking"`.');
    const turn = await background.take(project.organization_id, ORDER_MS).catch((error: unknown) => {
      if (error instanceof LineFull) failCrowded();
      throw error;
    });
    try {
      const run = await begin();
      await start({ ...alone, run: { id: run.id, startedAt: run.startedAt, turn } }).catch(async (error: unknown) => {
        await runs.end(run, interrupted());
        throw error;
      });
      return run;
    } catch (error) {
      await background.giveBack(turn);
      throw error;
    }
  };

  return {
    ask: async (asked, refresh, { runId, callerLeft, isNotifier = false, seen }) => {
      const { key, moment, way, cached } = await look(asked, refresh, seen);
      if (way === 'cached') return cached;
      if (way === 'now') {
        // Only who has given it a name can ask about it.
        const run = runId === undefined ? null : await runs.begin(asked, key, runId, false);
        const signal = callerLeft ?? new AbortController().signal;
        try {
          const made = await compute(asked, key, moment, { signal, line: isNotifier ? 'notifier' : 'waited' });
          if (run !== null) await runs.end(run, null);
          return { key, state: 'computed', kept: made, run };
        } catch (error) {
          if (!isNotifier && error instanceof Failure && LATER.has(error.body.code)) {
            const begin = () => (run === null ? runs.begin(asked, key, newId(), true) : runs.goOn(run));
            const later = await order(asked, begin).catch((cause: unknown) => {
              // Why it is not answered now says more than why it is not answered later.
              if (!(cause instanceof Failure)) log.warning('a query was not ordered', { reason: messageOf(cause) });
            });
            if (later !== undefined) return { key, state: 'missing', kept: null, run: later };
          }
          if (run !== null) await runs.end(run, failureOfRun(error));
          throw error;
        }
      }
      const run = await order(asked, () => runs.begin(asked, key, runId ?? newId(), true));
      return way === 'both' ? { ...cached, run } : { key, state: 'missing', kept: null, run };
    },
    cached,
    renew: async (asked) => {
      const orders = ordersOf(asked);
      await Promise.all(orders.map(start)).catch((error: unknown) => {
        log.warning('answers were not renewed', { reason: messageOf(error) });
      });
    },
    run: async (project, id) => {
      const run = await runs.find(project, id);
      return run && withAnswer(run, cache, context.table);
    },
    cancel: (run) => runs.end(run, cancelled()),
    idle: () => Promise.resolve(),
  };
}
