/**
 * What a chunk keeps in the spool until it is settled: its frozen plan, a receipt for each slot that has been prepared
 * but not yet committed, and the note that a destination left for its next attempt at a slot.
 */

import { isTouched, type LakeFile } from '../../lake/catalog.ts';
import type { Slot } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import type { FrozenPlan, RowQuery } from '../../warehouse/warehouse.ts';
import type { Config, Receipt } from '../destinations/destination.ts';
import { selectionOf } from '../query/compile.ts';
import type { BatchExportItem } from '../records/model.ts';

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

/** Can a row of the lake be in the slot? */
export const hasRows = (files: readonly LakeFile[], { start, end }: Slot): boolean =>
  files.some((file) => isTouched(file, start, end));

/** Which rows an export lets through, and as which columns. `Permanent`: its own query cannot be run. */
export async function queryOf({ parser }: Pick<Context, 'parser'>, item: BatchExportItem): Promise<RowQuery> {
  return { ...eventsOf(item), ...(await selectionOf(parser, item)) };
}

/** May the export leave out rows of its slots, or much of them? Of persons only the newest are delivered. */
export function isFiltered(item: BatchExportItem): boolean {
  const { includeEvents, excludeEvents } = eventsOf(item);
  const choices = [includeEvents, excludeEvents, item.hogql_query, item.filters ?? null];
  return item.model === 'persons' || choices.some((one) => one !== null);
}

/** Lists of events say nothing of persons. */
function eventsOf({ model, destination_config }: BatchExportItem): Pick<RowQuery, 'includeEvents' | 'excludeEvents'> {
  if (model === 'persons') return { includeEvents: null, excludeEvents: null };
  const { include_events, exclude_events }: Config = JSON.parse(destination_config);
  return { includeEvents: listed(include_events), excludeEvents: listed(exclude_events) };
}

/** An empty list restricts nothing. */
const listed = (names: unknown): string[] | null => (Array.isArray(names) && names.length > 0 ? names : null);
