/**
 * The files that a chunk keeps until it is settled, below its token: its input; a receipt for each slot that is
 * prepared and not yet committed; and the note that a destination leaves for its next attempt at a slot.
 */
import type { Context } from '../../ports/context.ts';
import type { FrozenPlan } from '../../warehouse/warehouse.ts';
import type { Receipt } from '../destinations/destination.ts';

/** What a chunk delivers, fixed when it begins, and the runs of its slots, in their order. */
export interface ChunkInput extends FrozenPlan {
  /** On whose behalf, as in the run's `by`. */
  readonly by: string;
  readonly runs: readonly string[];
}

type Files = Pick<Context, 'spool'>;

const inputPath = (token: string): string => `${token}/plan.json`;
const receiptPath = (token: string, slot: number): string => `${token}/receipt-${slot}.json`;
const notePath = (token: string, slot: number): string => `${token}/note-${slot}.json`;

async function read({ spool }: Files, path: string): Promise<unknown> {
  const text = await spool.read(path);
  return text === undefined ? undefined : JSON.parse(text.toString());
}

/** Writes a chunk's input, once: whoever comes later reads what is there. */
export const keepInput = ({ spool }: Files, input: ChunkInput): Promise<void> =>
  spool.write(inputPath(input.token), JSON.stringify(input));

/** Returns a chunk's input; undefined when it was never written, or the chunk is settled. */
export const inputOf = (files: Files, token: string): Promise<ChunkInput | undefined> =>
  read(files, inputPath(token)) as Promise<ChunkInput | undefined>;

/** Writes the receipt of what is prepared for a slot. */
export const keepReceipt = ({ spool }: Files, token: string, slot: number, receipt: Receipt): Promise<void> =>
  spool.write(receiptPath(token, slot), JSON.stringify(receipt));

/** Returns the receipt of what is prepared for a slot; undefined when nothing is, as far as is known. */
export const receiptOf = (files: Files, token: string, slot: number): Promise<Receipt | undefined> =>
  read(files, receiptPath(token, slot)) as Promise<Receipt | undefined>;

/** Removes a receipt: what it names is about to be removed. */
export const dropReceipt = ({ spool }: Files, token: string, slot: number): Promise<void> =>
  spool.remove(receiptPath(token, slot));

/** Writes the note of a slot, plain JSON, in place of the one before. */
export const keepNote = ({ spool }: Files, token: string, slot: number, note: unknown): Promise<void> =>
  spool.write(notePath(token, slot), JSON.stringify(note));

/** Returns the note of a slot; undefined when there is none. */
export const noteOf = (files: Files, token: string, slot: number): Promise<unknown> =>
  read(files, notePath(token, slot));

/** Removes all that the chunk keeps. */
export const removeFiles = ({ spool }: Files, token: string): Promise<void> => spool.remove(`${token}/`);
