/**
 * What the function that reads the lake does: it has copies of the lake's files on its disk, and worker processes over
 * them. It does one task at a time.
 */

import { messageOf } from '../../basics/text.ts';
import type { CopiedFile, LakeCopies } from '../../lake/copies.ts';
import { Damaged, Permanent } from '../../ports/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Settings } from '../../ports/settings.ts';
import type { Reading } from '../../warehouse/reader.ts';
import { sentError } from '../../workers/errors.ts';
import type { FunctionOutcome, FunctionTask } from '../../workers/function-pool.ts';
import { WorkerLost, type WorkerPool } from '../../workers/pool.ts';
import type { AnswerInput } from './answerer.ts';
import type { AnsweredOfCopies, AnswerOfCopies } from './copied-world.ts';
import type { MostRead } from './read-bytes.ts';

export interface LakeWorker {
  /** Does a task that `pooledAnswerer` or `pooledReader` gives to a pool. What it throws is in the outcome. */
  run(task: FunctionTask): Promise<FunctionOutcome>;
}

interface LakeWorkerOptions {
  readonly copies: LakeCopies;
  /** Its workers run `answer-worker.ts` over the copies. */
  readonly answers: Pick<WorkerPool, 'run'>;
  /** Its workers run `row-worker.ts` over the copies. */
  readonly rows: Pick<WorkerPool, 'run'>;
  /** What a task reads at most. */
  readonly mostBytes: NonNullable<Settings['queryBytes']>;
  readonly clock: () => number;
  readonly log: Pick<Log, 'error'>;
}

/** Nobody who asks through the gateway waits longer. */
const LONGEST_WAITED_MS = 30_000;

/** A query asks so many questions at most, and each may want files once. */
const MOST_ROUNDS = 50;

export function lakeWorker({ copies, answers, rows, mostBytes, clock, log }: LakeWorkerOptions): LakeWorker {
  const answered = async (input: AnswerInput, owner: string, most: MostRead, signal: AbortSignal): Promise<unknown> => {
    const asked: AnswerOfCopies = { ...input, most };
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const told = (await answers.run({ name: 'answer-of-copies', input: asked, owner, signal })) as AnsweredOfCopies;
      if ('answered' in told) {
        copies.used(told.read);
        return told.answered;
      }
      await copies.fetch(told.wanted, signal);
    }
    throw new Error('a query wants files again and again');
  };

  const read = async (input: Reading, owner: string, most: MostRead, signal: AbortSignal): Promise<unknown> => {
    const files: CopiedFile[] = input.files.map(({ path, bytes = 0 }) => ({ path, bytes }));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    // As the reader says it of what takes too much of anything.
    if (bytes > most.mostBytes) throw new Permanent('the files are larger than what is read at once');
    await copies.fetch(files, signal);
    return rows.run({ name: 'look', input, owner, signal });
  };

  return {
    run: async ({ name, input, owner, until }) => {
      const left = Math.max(0, until - clock());
      const { waited, background, athena } = mostBytes;
      const isBackground = left > LONGEST_WAITED_MS;
      const mostLater = Math.max(background, athena);
      const most: MostRead = { mostBytes: isBackground ? background : waited, mostLater, isBackground };
      const signal = AbortSignal.timeout(left);
      try {
        if (name === 'answer') return { result: await answered(input as AnswerInput, owner, most, signal) };
        if (name === 'look') return { result: await read(input as Reading, owner, most, signal) };
        throw new Error(`there is no task ${name}`);
      } catch (error) {
        if (error instanceof Damaged) {
          log.error('a copy is not what was written', { path: error.path });
          await copies.drop(error.path);
        }
        if (signal.aborted) return { lost: 'silence', message: 'its time was over' };
        if (error instanceof WorkerLost) return { lost: error.loss, message: messageOf(error) };
        return { error: sentError(error) };
      }
    },
  };
}
