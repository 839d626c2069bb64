/** The program of a worker that selects rows of the lake and forms their bytes, or reads some for who looks at them. */
import { folderFiles } from '../ports/files/folder.ts';
import { serveTasks } from '../workers/serve.ts';
import { type AllWanted, duckdbWarehouse } from './duckdb.ts';
import { duckdbReader } from './duckdb-reader.ts';
import type { CountsWanted, FilesWanted, LinesWanted, RowsWanted } from './pooled.ts';
import type { Reading } from './reader.ts';

export interface RowWorkerOptions {
  /** The folder of the lake. */
  readonly lake: string;
  /** What DuckDB holds at most, as it writes sizes. */
  readonly memoryLimit: string;
}

const never = new AbortController().signal;

void serveTasks<RowWorkerOptions>(async ({ folder, options: { lake, memoryLimit } }) => {
  const options = { lake: folderFiles(lake), tempDirectory: folder, memoryLimit };
  const warehouse = duckdbWarehouse(options);
  const reader = duckdbReader(options);
  return {
    count: ({ plan, interval }: RowsWanted) => warehouse.count(plan, interval, never),
    counts: ({ plan, intervals }: CountsWanted) => warehouse.counts(plan, intervals, never),
    look: (reading: Reading) => reader.read(reading, { organization: '', signal: never }),
    'read-all': (wanted: AllWanted) => warehouse.readAll(wanted, never),
    read: async function* ({ plan, interval, form }: LinesWanted) {
      yield* warehouse.read(plan, interval, form, never);
    },
    files: async function* ({ plan, interval, form }: FilesWanted) {
      yield* warehouse.files(plan, interval, form, never);
    },
  };
});
