/** The program of a worker that computes answers of queries. */
import { folderFiles } from '../../ports/files/folder.ts';
import { serveTasks } from '../../workers/serve.ts';
import { type Asked, computed } from './answerer.ts';
import { worldDatabase } from './world.ts';

export interface AnswerWorkerOptions {
  /** The folder of the lake. */
  readonly lake: string;
  /** What DuckDB holds at most, as it writes sizes. */
  readonly memoryLimit: string;
}

void serveTasks<AnswerWorkerOptions>(async ({ folder, options: { lake, memoryLimit } }) => {
  const worlds = worldDatabase({ lake: folderFiles(lake), tempDirectory: folder, memoryLimit });
  return { answer: (asked: Asked) => computed(worlds, asked) };
});
