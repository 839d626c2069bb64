/** The program of a worker that computes answers of queries. */
import { existsSync } from 'node:fs';
import { folderFiles } from '../../ports/files/folder.ts';
import { serveTasks } from '../../workers/serve.ts';
import { type AnswerInput, computed } from './answerer.ts';
import { type AnswerOfCopies, answerOfCopies } from './copied-world.ts';
import { worldDatabase } from './world.ts';

export interface AnswerWorkerOptions {
  /** The folder of the lake, or of copies of it. */
  readonly lake: string;
  /** The folder where it is kept, for workers that start later, what the program's own questions are parsed to. */
  readonly parsed: string;
  /** What DuckDB holds at most, as it writes sizes. */
  readonly memoryLimit: string;
}

void serveTasks<AnswerWorkerOptions>(async ({ folder, options: { lake, parsed, memoryLimit } }) => {
  const files = folderFiles(lake);
  const worlds = worldDatabase({ lake: files, parsed: folderFiles(parsed), tempDirectory: folder, memoryLimit });
  return {
    answer: (asked: AnswerInput) => computed(worlds, asked),
    'answer-of-copies': (asked: AnswerOfCopies) =>
      answerOfCopies(worlds, asked, (path) => existsSync(files.address(path))),
  };
});
