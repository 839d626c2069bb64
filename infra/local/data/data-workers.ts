/** The worker processes of a data directory: how many of each, what they may hold, and how long they may say nothing. */
import { join } from 'node:path';
import { MINUTE_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import type { AnswerWorkerOptions } from '../../../lib/insights/answering/answer-worker.ts';
import { BACKGROUND_MS, WAITED_MS } from '../../../lib/insights/answering/pooled-answerer.ts';
import type { Log } from '../../../lib/ports/log.ts';
import { READING_MS } from '../../../lib/warehouse/reader.ts';
import type { RowWorkerOptions } from '../../../lib/warehouse/row-worker.ts';
import { type PoolOptions, type WorkerPool, workerPool } from '../../../lib/workers/pool.ts';
import type { TurnLimits } from '../../../lib/workers/turns.ts';
import { compiledIn, lakeIn, temporaryIn } from './data-stores.ts';

/** What DuckDB may hold in each worker that selects rows; the process has some 100 MB beside that. */
const DATABASE_MEMORY = '400MB';
const ROW_MEMORY_MB = { each: 650, all: 950, kept: 500 };
/** A large Parquet file is made before its first byte is told: 8 GB, the most that a run may read, take minutes. */
const ROW_SILENCE_MS = 10 * MINUTE_MS;
/** A query of a thousand columns takes 1.3 s, and 100 MB. */
const QUERY_SILENCE_MS = 10 * SECOND_MS;
const QUERY_MEMORY_MB = { each: 200, all: 350 };
/** Those that wait are requests: an organization, or a user, who sends what takes long waits for themselves. */
const QUERY_TURNS = { atOnce: 2, each: 1, waiting: { each: 4, all: 32 }, users: { waiting: 8 } };
/** Those that wait are deliveries, of which the engine runs so many at a time: not behind what is tried. */
const DELIVERED_QUERY_TURNS = { atOnce: 2, each: 1 };

/** Those that wait are deliveries, of which the engine runs so many at a time. */
const ROW_TURNS = { atOnce: 4, each: 2 };

/** Those that wait are requests, beside the deliveries, whose workers may be busy for minutes. */
const READ_TURNS = { atOnce: 2, each: 1, waiting: { each: 8, all: 32 }, users: { waiting: 16 } };
const READ_DATABASE_MEMORY = '250MB';
const READ_MEMORY_MB = { each: 450, all: 600 };
/** Those that wait are requests, or runs that a request has begun; of notifiers steps, of which the engine runs so many at a time. */
const NOTIFIER_TURNS = { atOnce: 2, each: 1, users: { waiting: Infinity } };
/** A user may have many organizations. One that nobody waits for takes minutes, so fewer of those wait. */
const answerTurns = (ofUser: number): TurnLimits => ({
  ...NOTIFIER_TURNS,
  waiting: { each: 16, all: 64 },
  users: { waiting: ofUser },
});
const ANSWER_DATABASE_MEMORY = '500MB';
/** What is kept of events for the next question is most of what one has after a task. */
const ANSWER_MEMORY_MB = { each: 900, all: 1_200, kept: 750 };
/** One deletion after the other; each has what a landing has. */
const REMOVAL_TURNS = { atOnce: 1, each: 1, waiting: { each: 8, all: 32 }, users: { waiting: 8 } };
/** Of one project after the other, deletions that were cut as well; a walk begins nothing more after ten minutes. */
const COMPACTION_TURNS = { atOnce: 1, each: 1 };
const COMPACTION_SILENCE_MS = 20 * MINUTE_MS;
/** Those that wait are requests; each reads a part of a file, or a Parquet file. */
const PREVIEW_TURNS = { atOnce: 2, each: 1, waiting: { each: 8, all: 32 }, users: { waiting: 8 } };
const PREVIEW_MEMORY_MB = { each: 450, all: 600 };
const REMOVAL_MEMORY_MB = { each: 700, all: 700 };

type OwnOptions = Omit<PoolOptions, 'folder' | 'compiled' | 'log'>;

/** Returns a pool of workers of a data directory, which its caller ends. */
export const poolIn = (folder: string, log: Log, options: OwnOptions): WorkerPool =>
  workerPool({ ...options, folder: temporaryIn(folder), compiled: compiledIn(folder), log });

/**
 * Returns the workers of a data directory, each pool by what its processes do, and `close`, which ends all of them. A process is
 * started when there is something to do.
 */
export function dataWorkers(folder: string, log: Log) {
  const opened: WorkerPool[] = [];
  const pool = (options: OwnOptions): WorkerPool => {
    const made = poolIn(folder, log, options);
    opened.push(made);
    return made;
  };
  const answering = (silenceMs: number, turns: TurnLimits) =>
    pool({
      program: join(import.meta.dirname, '../../../lib/insights/answering/answer-worker.ts'),
      options: {
        lake: lakeIn(folder),
        parsed: join(temporaryIn(folder), 'parsed'),
        memoryLimit: ANSWER_DATABASE_MEMORY,
      } satisfies AnswerWorkerOptions,
      what: 'Answering the query',
      turns,
      memory: ANSWER_MEMORY_MB,
      silenceMs,
    });
  const landWorkers = (own: Pick<OwnOptions, 'what' | 'turns' | 'silenceMs'>) =>
    pool({
      program: join(import.meta.dirname, '../workers/land-worker.ts'),
      options: { home: folder },
      memory: REMOVAL_MEMORY_MB,
      ...own,
    });
  const queryWorkers = (turns: TurnLimits) =>
    pool({
      program: join(import.meta.dirname, '../../../lib/exports/query/query-worker.ts'),
      options: null,
      what: 'Reading the query',
      turns,
      memory: QUERY_MEMORY_MB,
      silenceMs: QUERY_SILENCE_MS,
    });
  return {
    rows: pool({
      program: join(import.meta.dirname, '../../../lib/warehouse/row-worker.ts'),
      options: { lake: lakeIn(folder), memoryLimit: DATABASE_MEMORY } satisfies RowWorkerOptions,
      what: 'Selecting its rows',
      turns: ROW_TURNS,
      memory: ROW_MEMORY_MB,
      silenceMs: ROW_SILENCE_MS,
      deaths: join(folder, 'under-way'),
    }),
    readers: pool({
      program: join(import.meta.dirname, '../../../lib/warehouse/row-worker.ts'),
      options: { lake: lakeIn(folder), memoryLimit: READ_DATABASE_MEMORY } satisfies RowWorkerOptions,
      what: 'Reading',
      turns: READ_TURNS,
      memory: READ_MEMORY_MB,
      silenceMs: READING_MS,
    }),
    removals: landWorkers({ what: 'Deleting the person', turns: REMOVAL_TURNS, silenceMs: READING_MS }),
    compactions: landWorkers({
      what: 'Writing files anew',
      turns: COMPACTION_TURNS,
      silenceMs: COMPACTION_SILENCE_MS,
    }),
    previews: pool({
      program: join(import.meta.dirname, '../workers/import-worker.ts'),
      options: { home: folder },
      what: 'Reading the first records',
      turns: PREVIEW_TURNS,
      memory: PREVIEW_MEMORY_MB,
      silenceMs: READING_MS,
    }),
    queries: queryWorkers(QUERY_TURNS),
    deliveredQueries: queryWorkers(DELIVERED_QUERY_TURNS),
    answerers: {
      waited: answering(WAITED_MS, answerTurns(16)),
      background: answering(BACKGROUND_MS, answerTurns(8)),
      notifier: answering(BACKGROUND_MS, NOTIFIER_TURNS),
    },
    close: async (): Promise<void> => {
      await Promise.all(opened.map((one) => one.close()));
    },
  };
}
