/**
 * The files that a batch keeps until it is settled, below its attempt: its input; a receipt for each interval that is
 * prepared and not yet committed; and the note that a destination leaves for its next attempt at an interval.
 */
import type { Context } from '../../ports/context.ts';
import type { FrozenPlan } from '../../warehouse/warehouse.ts';
import type { Receipt } from '../destinations/destination.ts';

/** What a batch delivers, fixed when it begins, and the runs of its intervals, in their order. */
export interface BatchInput extends FrozenPlan {
  /** On whose behalf, as in the run's `by`. */
  readonly by: string;
  readonly runs: readonly string[];
  /** How many rows each interval has at least, as the rows of the lake's files tell. */
  readonly leastRows: readonly number[];
}

type Files = Pick<Context, 'runFiles'>;

const inputPath = (attempt: string): string => `${attempt}/plan.json`;
const receiptPath = (attempt: string, interval: number): string => `${attempt}/receipt-${interval}.json`;
const notePath = (attempt: string, interval: number): string => `${attempt}/note-${interval}.json`;

async function read({ runFiles }: Files, path: string): Promise<unknown> {
  const text = await runFiles.read(path);
  return text === undefined ? undefined : JSON.parse(text.toString());
}

/** Writes a batch's input, once: whoever comes later reads what is there. */
export const keepInput = ({ runFiles }: Files, input: BatchInput): Promise<void> =>
  runFiles.write(inputPath(input.attempt), JSON.stringify(input));

/** Returns a batch's input; undefined when it was never written, or the batch is settled. */
export const inputOf = (files: Files, attempt: string): Promise<BatchInput | undefined> =>
  read(files, inputPath(attempt)) as Promise<BatchInput | undefined>;

/** Writes the receipt of what is prepared for an interval. */
export const keepReceipt = ({ runFiles }: Files, attempt: string, interval: number, receipt: Receipt): Promise<void> =>
  runFiles.write(receiptPath(attempt, interval), JSON.stringify(receipt));

/** Returns the receipt of what is prepared for an interval; undefined when nothing is, as far as is known. */
export const receiptOf = (files: Files, attempt: string, interval: number): Promise<Receipt | undefined> =>
  read(files, receiptPath(attempt, interval)) as Promise<Receipt | undefined>;

/** Removes a receipt: what it names is about to be removed. */
export const dropReceipt = ({ runFiles }: Files, attempt: string, interval: number): Promise<void> =>
  runFiles.remove(receiptPath(attempt, interval));

/** Writes the note of an interval, plain JSON, in place of the one before. */
export const keepNote = ({ runFiles }: Files, attempt: string, interval: number, note: unknown): Promise<void> =>
  runFiles.write(notePath(attempt, interval), JSON.stringify(note));

/** Returns the note of an interval; undefined when there is none. */
export const noteOf = (files: Files, attempt: string, interval: number): Promise<unknown> =>
  read(files, notePath(attempt, interval));

/** Removes all that the batch keeps. */
export const removeFiles = ({ runFiles }: Files, attempt: string): Promise<void> => runFiles.remove(`${attempt}/`);
