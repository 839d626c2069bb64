import type { Context } from '../../ports/context.ts';
import type { FrozenPlan } from '../../warehouse/warehouse.ts';
import type { Receipt } from '../destinations/destination.ts';

/** A frozen plan, and the runs of its slots, in their order. */
export interface FrozenChunk extends FrozenPlan {
  /** On whose behalf, as in the run's `by`. */
  readonly by: string;
  readonly runs: readonly string[];
}

const planPath = (token: string): string => `${token}/plan.json`;

const receiptPath = (token: string, slot: number): string => `${token}/receipt-${slot}.json`;

const notePath = (token: string, slot: number): string => `${token}/note-${slot}.json`;

/** Freezes a chunk. Written once: whoever comes later reads what is there. */
export async function freeze({ spool }: Pick<Context, 'spool'>, chunk: FrozenChunk): Promise<void> {
  await spool.write(planPath(chunk.token), JSON.stringify(chunk));
}

/** Undefined: it was never frozen, or has been settled. */
export async function frozen({ spool }: Pick<Context, 'spool'>, token: string): Promise<FrozenChunk | undefined> {
  return (await read(spool, planPath(token))) as FrozenChunk | undefined;
}

async function read(spool: Context['spool'], path: string): Promise<unknown> {
  const text = await spool.read(path);
  return text === undefined ? undefined : JSON.parse(text.toString());
}

export async function keepReceipt(
  { spool }: Pick<Context, 'spool'>,
  token: string,
  slot: number,
  receipt: Receipt,
): Promise<void> {
  await spool.write(receiptPath(token, slot), JSON.stringify(receipt));
}

export async function receiptOf(
  { spool }: Pick<Context, 'spool'>,
  token: string,
  slot: number,
): Promise<Receipt | undefined> {
  return (await read(spool, receiptPath(token, slot))) as Receipt | undefined;
}

/** Forgets a receipt: what it names is about to be removed. */
export const dropReceipt = ({ spool }: Pick<Context, 'spool'>, token: string, slot: number): Promise<void> =>
  spool.remove(receiptPath(token, slot));

export async function keepNote({ spool }: Pick<Context, 'spool'>, token: string, slot: number, note: unknown) {
  await spool.write(notePath(token, slot), JSON.stringify(note));
}

export const noteOf = ({ spool }: Pick<Context, 'spool'>, token: string, slot: number): Promise<unknown> =>
  read(spool, notePath(token, slot));

/** Removes all that the chunk kept. */
export const unfreeze = ({ spool }: Pick<Context, 'spool'>, token: string): Promise<void> => spool.remove(`${token}/`);
