import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ConvertWorkerOptions } from '../../../../lib/warehouse/convert-worker.ts';
import { pooledConverter } from '../../../../lib/warehouse/converter.ts';
import { STEPS } from '../../../../lib/workflow/steps.ts';
import { ofMemory, workers } from '../workers.ts';
import { runFiles } from './run-files.ts';
import { warehouse } from './warehouse.ts';

const { memory: DECLARED } = STEPS['send-interval'];
/** Of the 4 GB that the function has: DuckDB's, and those of the process in which it runs. */
const DATABASE_MEMORY_MB = ofMemory(2_000, DECLARED);
const WORKER_MEMORY_MB = ofMemory(3_000, DECLARED);
/** The function itself has 15 minutes. */
const SILENCE_MS = 14 * 60 * 1000;

/** The function's own disk. */
const FOLDER = join(tmpdir(), `unloaded-${process.pid}`);

/** The warehouse of the one function that reads rows: with DuckDB, in a worker whose program lies beside it (bundle.ts). */
export const converter = () =>
  warehouse(
    pooledConverter({
      runFiles: runFiles(),
      folder: FOLDER,
      pool: workers({
        program: fileURLToPath(new URL('./convert-worker.js', import.meta.url)),
        options: { memoryLimit: `${DATABASE_MEMORY_MB}MB`, place: FOLDER } satisfies ConvertWorkerOptions,
        what: 'Forming its rows',
        memoryMb: WORKER_MEMORY_MB,
        silenceMs: SILENCE_MS,
      }),
    }),
  );
