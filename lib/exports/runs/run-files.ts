/**
 * The files that a batch keeps until it is settled, below its attempt: its input; a receipt for each interval that is
 * prepared and not yet committed; and the note that a destination leaves for its next attempt at an interval.
 */
import { hash } from 'node:crypto';
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

type Files = Pick<Context, 'runFiles' | 'log'>;

const inputPath = (attempt: string): string => `${attempt}/plan.json`;
const receiptPath = (attempt: string, interval: number): string => `${attempt}/receipt-${interval}.json`;
const notePath = (attempt: string, interval: number): string => `${attempt}/note-${interval}.json`;

/**
 * A file of a run is not what was written, or the disk cannot read it; or what its input was made of is no more: a file
 * of the lake was replaced, or the export is of another model. The run ends, and is run again with files anew.
 */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const damagedText = (path: string): string => `The file '${path}', which the service kept for this run, is damaged.`;

/** A file is JSON, of its content and the SHA-256 of the content's own text. */
const sealed = (content: unknown): string => {
  const text = JSON.stringify(content);
  return `{"sha256":"${hash('sha256', text)}","content":${text}}`;
};

const SEALED = /^{"sha256":"([0-9a-f]{64})","content":(.*)}$/s;

/** Returns the content of a file's text; undefined when it is not what was written. */
export function unsealed(text: string): { readonly content: unknown } | undefined {
  const [, digest, content = ''] = SEALED.exec(text) ?? [];
  return digest === hash('sha256', content) ? { content: JSON.parse(content) as unknown } : undefined;
}

/** Returns the content of a file; undefined when there is none. Throws `Unreadable`. */
async function read({ runFiles }: Files, path: string): Promise<unknown> {
  const text = await runFiles.read(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EIO' ? new Unreadable(damagedText(path), { cause: error }) : error;
  });
  if (text === undefined) return undefined;
  const found = unsealed(text.toString());
  if (found === undefined) throw new Unreadable(damagedText(path));
  return found.content;
}

/** Returns the content of a file that may be missing: one that cannot be read is taken for missing. */
async function readIfWhole(files: Files, path: string): Promise<unknown> {
  try {
    return await read(files, path);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    files.log.error('a file of a run is damaged', { path });
    return undefined;
  }
}

/** Writes a batch's input, once: whoever comes later reads what is there. */
export const keepInput = ({ runFiles }: Files, input: BatchInput): Promise<void> =>
  runFiles.write(inputPath(input.attempt), sealed(input));

/** Returns a batch's input; undefined when it was never written, or the batch is settled. Throws `Unreadable`. */
export const inputOf = (files: Files, attempt: string): Promise<BatchInput | undefined> =>
  read(files, inputPath(attempt)) as Promise<BatchInput | undefined>;

/** Writes the receipt of what is prepared for an interval, where it is too large for the run itself. */
export const keepReceiptFile = (
  { runFiles }: Files,
  attempt: string,
  interval: number,
  receipt: Receipt,
): Promise<void> => runFiles.write(receiptPath(attempt, interval), sealed(receipt));

/** Returns a receipt that was kept in a file; undefined when there is none, or it cannot be read. */
export const receiptInFile = (files: Files, attempt: string, interval: number): Promise<Receipt | undefined> =>
  readIfWhole(files, receiptPath(attempt, interval)) as Promise<Receipt | undefined>;

/** Removes the file of a receipt, if there is one. */
export const dropReceiptFile = ({ runFiles }: Files, attempt: string, interval: number): Promise<void> =>
  runFiles.remove(receiptPath(attempt, interval));

/** Writes the note of an interval, plain JSON, in place of the one before. */
export const keepNote = ({ runFiles }: Files, attempt: string, interval: number, note: unknown): Promise<void> =>
  runFiles.write(notePath(attempt, interval), sealed(note));

/** Returns the note of an interval; undefined when there is none, or it cannot be read. */
export const noteOf = (files: Files, attempt: string, interval: number): Promise<unknown> =>
  readIfWhole(files, notePath(attempt, interval));

/** Removes all that the batch keeps. */
export const removeFiles = ({ runFiles }: Files, attempt: string): Promise<void> => runFiles.remove(`${attempt}/`);
