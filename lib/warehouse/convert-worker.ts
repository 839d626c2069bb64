/** The program of a worker that forms the bytes of unloaded rows. */
import { serveTasks } from '../workers/serve.ts';
import { conversions } from './converter.ts';

export interface ConvertWorkerOptions {
  /** What DuckDB holds at most, as it writes sizes. */
  readonly memoryLimit: string;
  /** The folder below which the files are. */
  readonly place: string;
}

void serveTasks<ConvertWorkerOptions>(async ({ folder, options: { memoryLimit, place } }) =>
  conversions({ memoryLimit, tempDirectory: folder, places: [place] }),
);
