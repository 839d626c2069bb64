import { join } from 'node:path';
import type { Examiners } from '../../../lib/admin/examination.ts';
import { pooledCompiler } from '../../../lib/exports/query/compiler.ts';
import { pooledImports } from '../../../lib/imports/pooled-imports.ts';
import { REJECTED } from '../../../lib/imports/spool.ts';
import { answersOf } from '../../../lib/insights/answering/answers.ts';
import { pooledAnswerer } from '../../../lib/insights/answering/pooled-answerer.ts';
import { pooledCompactor } from '../../../lib/lake/compactor.ts';
import { pooledPersonDeletions, pooledPersonRemoval } from '../../../lib/lake/import/person-removal.ts';
import { chromiumPictures } from '../../../lib/pictures/chromium.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import type { Log } from '../../../lib/ports/log.ts';
import { loggedMetrics } from '../../../lib/ports/metrics/logged.ts';
import { openOutbound } from '../../../lib/ports/outbound/outbound.ts';
import type { Settings } from '../../../lib/ports/settings.ts';
import { keyfileProblem, keyfileVault, noteKeyfile } from '../../../lib/ports/vault/keyfile.ts';
import { pooledWarehouse } from '../../../lib/warehouse/pooled.ts';
import { pooledReader } from '../../../lib/warehouse/pooled-reader.ts';
import { Turns } from '../../../lib/workers/turns.ts';
import { UnusableDataDirectory } from './data-folder.ts';
import { type Claim, importsIn, inboxProblemsIn, openStores, runFilesIn, temporaryIn } from './data-stores.ts';
import { dataWorkers } from './data-workers.ts';

/**
 * A server that says nothing holds a connection, and one that says too much memory, until a step is late. Each step has two,
 * of its organization and of its user.
 */
const TEST_TURNS = { atOnce: 80, each: 4, waiting: { each: 0, all: 0 } };

/** All that a data directory holds, opened: every port but the workflow, which only the running service has. */
interface DataDirectory extends Omit<Context, 'workflow'>, Examiners {
  readonly folder: string;
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
export function openDataDirectory(folder: string, settings: Settings, log: Log, claim: Claim = {}): DataDirectory {
  const stores = openStores(folder, settings, log, claim);
  const { table, clock } = stores;
  const workers = dataWorkers(folder, log);
  return {
    ...stores,
    folder,
    runFiles: folderFiles(runFilesIn(folder)),
    warehouse: pooledWarehouse(workers.rows, { folder: temporaryIn(folder) }),
    reader: pooledReader(workers.readers),
    personRemoval: pooledPersonRemoval(workers.removals, stores),
    personDeletions: pooledPersonDeletions(workers.compactions),
    answers: answersOf(stores, pooledAnswerer(workers.answerers)),
    imports: pooledImports(
      { files: folderFiles(importsIn(folder)), rejected: folderFiles(join(folder, REJECTED)) },
      workers.previews,
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
    compactor: pooledCompactor(workers.compactions, { isDelivering: () => workers.rows.isBusy, clock }),
    vault: keyfileVault(...vaultFilesIn(folder)),
    events: null,
    outbound: openOutbound(settings),
    mail: null,
    testTurns: new Turns(TEST_TURNS),
    compiler: pooledCompiler(workers.queries, workers.deliveredQueries),
    metrics: loggedMetrics(log),
    vaultProblems: async () => {
      const problem = await keyfileProblem(...vaultFilesIn(folder));
      return problem === undefined ? [] : [{ path: 'vault.key', problem }];
    },
    tableProblems: () => table.problems(),
    inboxProblems: () => inboxProblemsIn(folder),
    close: async () => {
      table.close();
      await workers.close();
    },
  };
}
