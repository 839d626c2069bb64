/** The program of a worker that forms the bytes of unloaded rows. */
import { serveTasks } from '../workers/serve.ts';
import { conversions } from './converter.ts';

export interface ConvertWorkerOptions {
  /** What DuckDB holds at most, as it writes sizes. */
  readonly memoryLimit: string;
}

void serveTasks<ConvertWorkerOptions>(async ({ folder, options: { memoryLimit } }) =>
  conversions({ memoryLimit, tempDirectory: folder }),
);
