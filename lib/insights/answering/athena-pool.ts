/** Who has large queries answered by Athena: a pool for `pooledAnswerer`, beside that of functions with copies. */

import { messageOf } from '../../basics/text.ts';
import { Failure } from '../../ports/errors.ts';
import type { Log } from '../../ports/log.ts';
import { QueryFailed, type RowQueries } from '../../ports/queries/athena.ts';
import { valuesInWords } from '../../ports/queries/values.ts';
import { inTime, type SharedTurns } from '../../workers/function-pool.ts';
import type { WorkerPool } from '../../workers/pool.ts';
import type { Answerer, AnswerInput } from './answerer.ts';
import type { AnsweredOfAthena, AnswerOfAthena, AthenaLake } from './athena-world.ts';
import { LESS, queryFailure, TOO_MANY_ROWS, TOO_MUCH_MEMORY } from './query-failures.ts';
import { TOO_LARGE } from './read-bytes.ts';

interface AthenaPoolOptions {
  readonly queries: RowQueries;
  /** Its workers run `athena-worker.ts`. */
  readonly workers: Pick<WorkerPool, 'run'>;
  /** An organization has so many at once, so that it neither holds up others nor spends without end. */
  readonly turns: SharedTurns;
  readonly lake: AthenaLake;
  /** In bytes, as the rows of the files tell their sizes. */
  readonly mostBytes: number;
  /** A task takes at most so long, with the wait for its turn. */
  readonly ms: number;
  readonly log: Pick<Log, 'error'>;
}

/** A query asks so many questions at most, whose rows are so many bytes in all. */
const MOST_ROUNDS = 50;
const MOST_ROWS_BYTES = 40_000_000;

/** Does the tasks that `pooledAnswerer` gives to a pool. Stops what Athena does when nobody waits any more. */
export function athenaPool(options: AthenaPoolOptions): Pick<WorkerPool, 'run'> {
  const { queries, workers, turns, lake, mostBytes, ms, log } = options;
  const rowsOf = (sql: string, signal: AbortSignal): ReturnType<RowQueries['rows']> =>
    queries.rows(sql, signal).catch((error: unknown) => {
      throw error instanceof QueryFailed ? inWords(error, mostBytes, log) : error;
    });
  return {
    run: ({ name, input, owner, signal: left, begins }) =>
      inTime(ms, left, async (signal) => {
        if (name !== 'answer') throw new Error(`there is no task ${name}`);
        const turn = await turns.take(owner, ms, signal);
        try {
          begins?.();
          const given: AnswerOfAthena['given'][number][] = [];
          let bytes = 0;
          while (given.length < MOST_ROUNDS) {
            const asked: AnswerOfAthena = { ...(input as AnswerInput), lake, mostBytes, given };
            const told = (await workers.run({
              name: 'answer-of-athena',
              input: asked,
              owner,
              signal,
            })) as AnsweredOfAthena;
            if ('answered' in told) return told.answered;
            const rows = await rowsOf(told.wanted, signal);
            bytes += Buffer.byteLength(JSON.stringify(rows));
            if (bytes > MOST_ROWS_BYTES)
              throw inWords(new QueryFailed('rows', 'all questions together'), mostBytes, log);
            given.push({ sql: told.wanted, rows });
          }
          throw new Error('a query asks again and again');
        } finally {
          await turns.giveBack(turn);
        }
      }),
  };
}

/** Why Athena gave no rows, to who asked. */
function inWords(error: QueryFailed, mostBytes: number, log: Pick<Log, 'error'>): Failure {
  const said: Readonly<Record<QueryFailed['blame'], () => string>> = {
    bytes: () => `The query reads more than ${Math.round(mostBytes / 1e9)} GB. ${LESS}`,
    rows: () => TOO_MANY_ROWS,
    memory: () => TOO_MUCH_MEMORY,
    time: () => `The query takes too long. ${LESS}`,
    values: () => valuesInWords(messageOf(error)),
    other: () => {
      log.error('Athena does not take a query', { reason: messageOf(error) });
      return `A query that reads so much is answered by Athena, which does not take it. ${LESS}`;
    },
  };
  return queryFailure(said[error.blame]());
}

/** Answers by `small`, and what reads too much for it by `large`. */
export const bySize = (small: Answerer, large: Answerer): Answerer => ({
  answer: (asked, waiting) =>
    small.answer(asked, waiting).catch((error: unknown) => {
      if (error instanceof Failure && error.body.code === TOO_LARGE) return large.answer(asked, waiting);
      throw error;
    }),
});
