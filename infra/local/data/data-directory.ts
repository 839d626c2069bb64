import { join } from 'node:path';
import { MINUTE_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import { pooledCompiler } from '../../../lib/exports/query/compiler.ts';
import { pooledImports } from '../../../lib/imports/pooled-imports.ts';
import { REJECTED } from '../../../lib/imports/spool.ts';
import type { AnswerWorkerOptions } from '../../../lib/insights/answering/answer-worker.ts';
import { answersOf } from '../../../lib/insights/answering/answers.ts';
import { BACKGROUND_MS, pooledAnswerer, WAITED_MS } from '../../../lib/insights/answering/pooled-answerer.ts';
import { pooledCompactor } from '../../../lib/lake/compactor.ts';
import { pooledPersonDeletions, pooledPersonRemoval } from '../../../lib/lake/import/person-removal.ts';
import { chromiumPictures } from '../../../lib/pictures/chromium.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { damagedSegments } from '../../../lib/ports/inbox/folder.ts';
import type { Log } from '../../../lib/ports/log.ts';
import { loggedMetrics } from '../../../lib/ports/metrics/logged.ts';
import { openOutbound } from '../../../lib/ports/outbound/outbound.ts';
import type { Settings } from '../../../lib/ports/settings.ts';
import { keyfileProblem, keyfileVault, noteKeyfile } from '../../../lib/ports/vault/keyfile.ts';
import { pooledWarehouse } from '../../../lib/warehouse/pooled.ts';
import { pooledReader } from '../../../lib/warehouse/pooled-reader.ts';
import { READING_MS } from '../../../lib/warehouse/reader.ts';
import type { RowWorkerOptions } from '../../../lib/warehouse/row-worker.ts';
import { type PoolOptions, workerPool } from '../../../lib/workers/pool.ts';
import { type TurnLimits, Turns } from '../../../lib/workers/turns.ts';
import { UnusableDataDirectory } from './data-folder.ts';
import { compiledIn, importsIn, inboxIn, lakeIn, openStores, runFilesIn, temporaryIn } from './data-stores.ts';

/** What DuckDB may hold in each worker that selects rows; the process has some 100 MB beside that. */
const DATABASE_MEMORY = '400MB';
const ROW_MEMORY_MB = { each: 650, all: 950, kept: 500 };
/** A large Parquet file is made before its first byte is told: 8 GB, the most that a run may read, take minutes. */
const ROW_SILENCE_MS = 10 * MINUTE_MS;
/** A query of a thousand columns takes 1.3 s, and 100 MB. */
const QUERY_SILENCE_MS = 10 * SECOND_MS;
const QUERY_MEMORY_MB = { each: 200, all: 350 };
/** Those that wait are requests: an organization that sends what takes long waits for itself. */
const QUERY_TURNS = { atOnce: 2, each: 1, waiting: { each: 4, all: 32 } };

/**
 * A server that says nothing holds a connection, and one that says too much memory, until a step is late. Each step has two,
 * of its organization and of its user.
 */
const TEST_TURNS = { atOnce: 80, each: 4, waiting: { each: 0, all: 0 } };

/** Those that wait are deliveries, of which the engine runs so many at a time. */
const ROW_TURNS = { atOnce: 4, each: 2 };

/** Those that wait are requests, beside the deliveries, whose workers may be busy for minutes. */
const READ_TURNS = { atOnce: 2, each: 1, waiting: { each: 8, all: 32 } };
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
const REMOVAL_TURNS = { atOnce: 1, each: 1, waiting: { each: 8, all: 32 } };
/** Of one project after the other, deletions that were cut as well; a walk begins nothing more after ten minutes. */
const COMPACTION_TURNS = { atOnce: 1, each: 1 };
const COMPACTION_SILENCE_MS = 20 * MINUTE_MS;
/** Those that wait are requests; each reads a part of a file, or a Parquet file. */
const PREVIEW_TURNS = { atOnce: 2, each: 1, waiting: { each: 8, all: 32 } };
const PREVIEW_MEMORY_MB = { each: 450, all: 600 };
const REMOVAL_MEMORY_MB = { each: 700, all: 700 };

/** All that a data directory holds, opened: every port but the workflow, which only the running service has. */
interface DataDirectory extends Omit<Context, 'workflow'> {
  readonly folder: string;
  /** Reads the whole table. Returns what is wrong with it. */
  tableProblems(): string[];
  /** Returns what is wrong with the key of the stored credentials, by its path below the data directory. */
  vaultProblems(): Promise<{ readonly path: string; readonly problem: string }[]>;
  /** Reads the whole inbox. Returns what is wrong with it, by paths below the data directory. */
  inboxProblems(): Promise<{ readonly path: string; readonly problem: string }[]>;
  close(): Promise<void>;
}

/** The key of the stored credentials, and where it is noted which one it is. */
const vaultFilesIn = (folder: string) => [join(folder, 'vault.key'), join(folder, 'vault.fingerprint')] as const;

/** Throws `UnusableDataDirectory` when the key of the stored credentials is gone or another one. Only whoever serves it may ask. */
export async function checkVault(folder: string): Promise<void> {
  const files = vaultFilesIn(folder);
  const problem = await keyfileProblem(...files);
  if (problem !== undefined) throw new UnusableDataDirectory(problem);
  // One from before keys were noted. Where the disk is full, a later start notes it.
  await noteKeyfile(...files).catch(() => {});
}

/**
 * Opens (and at first makes) the data directory, and brings it up to date. Several processes may have it open; one may
 * serve it (`claimDataDirectory`), which says so by `isClaimed`. Throws `UnusableDataDirectory` or `DataDirectoryInUse`.
 */
export function openDataDirectory(folder: string, settings: Settings, log: Log, isClaimed = false): DataDirectory {
  const stores = openStores(folder, settings, log, isClaimed);
  const { table, clock } = stores;
  const pool = (options: Omit<PoolOptions, 'folder' | 'compiled' | 'log'>) =>
    workerPool({ ...options, folder: temporaryIn(folder), compiled: compiledIn(folder), log });
  const rows = pool({
    program: join(import.meta.dirname, '../../../lib/warehouse/row-worker.ts'),
    options: { lake: lakeIn(folder), memoryLimit: DATABASE_MEMORY } satisfies RowWorkerOptions,
    what: 'Selecting its rows',
    turns: ROW_TURNS,
    memory: ROW_MEMORY_MB,
    silenceMs: ROW_SILENCE_MS,
    deaths: join(folder, 'under-way'),
  });
  const readers = pool({
    program: join(import.meta.dirname, '../../../lib/warehouse/row-worker.ts'),
    options: { lake: lakeIn(folder), memoryLimit: READ_DATABASE_MEMORY } satisfies RowWorkerOptions,
    what: 'Reading',
    turns: READ_TURNS,
    memory: READ_MEMORY_MB,
    silenceMs: READING_MS,
  });
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
  const [waited, background] = [answering(WAITED_MS, answerTurns(16)), answering(BACKGROUND_MS, answerTurns(8))];
  const notifier = answering(BACKGROUND_MS, NOTIFIER_TURNS);
  const landWorkers = (own: Pick<PoolOptions, 'what' | 'turns' | 'silenceMs'>) =>
    pool({
      program: join(import.meta.dirname, '../workers/land-worker.ts'),
      options: { home: folder },
      memory: REMOVAL_MEMORY_MB,
      ...own,
    });
  const removals = landWorkers({ what: 'Deleting the person', turns: REMOVAL_TURNS, silenceMs: READING_MS });
  const compactions = landWorkers({
    what: 'Writing files anew',
    turns: COMPACTION_TURNS,
    silenceMs: COMPACTION_SILENCE_MS,
  });
  const previews = pool({
    program: join(import.meta.dirname, '../workers/import-worker.ts'),
    options: { home: folder },
    what: 'Reading the first records',
    turns: PREVIEW_TURNS,
    memory: PREVIEW_MEMORY_MB,
    silenceMs: READING_MS,
  });
  const queries = pool({
    program: join(import.meta.dirname, '../../../lib/exports/query/query-worker.ts'),
    options: null,
    what: 'Reading the query',
    turns: QUERY_TURNS,
    memory: QUERY_MEMORY_MB,
    silenceMs: QUERY_SILENCE_MS,
  });
  return {
    ...stores,
    folder,
    runFiles: folderFiles(runFilesIn(folder)),
    warehouse: pooledWarehouse(rows, { folder: temporaryIn(folder) }),
    reader: pooledReader(readers),
    personRemoval: pooledPersonRemoval(removals, stores),
    personDeletions: pooledPersonDeletions(compactions),
    answers: answersOf(stores, pooledAnswerer({ waited, background, notifier })),
    imports: pooledImports(
      { files: folderFiles(importsIn(folder)), rejected: folderFiles(join(folder, REJECTED)) },
      previews,
    ),
    pictures:
      settings.chromium === null
        ? null
        : chromiumPictures({
            program: settings.chromium,
            environment: process.env,
            folder: temporaryIn(folder),
            log,
          }),
    inbox: null,
    landing: null,
    lakeWorker: null,
    queryRunner: null,
    compactor: pooledCompactor(compactions, { isDelivering: () => rows.isBusy, clock }),
    vault: keyfileVault(...vaultFilesIn(folder)),
    events: null,
    outbound: openOutbound(settings),
    mail: null,
    testTurns: new Turns(TEST_TURNS),
    compiler: pooledCompiler(queries),
    metrics: loggedMetrics(log),
    vaultProblems: async () => {
      const problem = await keyfileProblem(...vaultFilesIn(folder));
      return problem === undefined ? [] : [{ path: 'vault.key', problem }];
    },
    tableProblems: () => table.problems(),
    inboxProblems: async () =>
      (await damagedSegments(inboxIn(folder))).map(({ path, problem }) => ({ path: `inbox/${path}`, problem })),
    close: async () => {
      table.close();
      await Promise.all(
        [rows, readers, removals, compactions, previews, queries, waited, background, notifier].map((pool) =>
          pool.close(),
        ),
      );
    },
  };
}
