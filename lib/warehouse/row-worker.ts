/** The program of a worker that selects rows of the lake and forms their bytes. */
import { folderFiles } from '../ports/files/folder.ts';
import { serveTasks } from '../workers/serve.ts';
import { duckdbWarehouse } from './duckdb.ts';
import type { RowsWanted } from './pooled.ts';

export interface RowWorkerOptions {
  /** The folder of the lake. */
  readonly lake: string;
  /** What DuckDB holds at most, as it writes sizes. */
  readonly memoryLimit: string;
}

const never = new AbortController().signal;

void serveTasks<RowWorkerOptions>(async ({ folder, options: { lake, memoryLimit } }) => {
  const warehouse = duckdbWarehouse({ lake: folderFiles(lake), tempDirectory: folder, memoryLimit });
  return {
    count: ({ plan, interval }: RowsWanted) => warehouse.count(plan, interval, never),
    read: async function* ({ plan, interval, form }: RowsWanted) {
      if (form === undefined) throw new Error('rows are read in a form');
      yield* warehouse.read(plan, interval, form, never);
    },
  };
});
