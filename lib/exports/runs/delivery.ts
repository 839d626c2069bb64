/** One slot on its way: what a destination is given, and how its run comes to its end. */
import { setTimeout } from 'node:timers/promises';
import type { Context } from '../../ports/context.ts';
import { Permanent } from '../../ports/errors.ts';
import { deliveredColumns } from '../../warehouse/query-columns.ts';
import type { Delivery, Destination, Receipt } from '../destinations/destination.ts';
import { destinationOf } from '../destinations/index.ts';
import { openConfig } from '../destinations/secrets.ts';
import { type LogLine, writeLines } from '../records/logs.ts';
import type { BatchExportItem, RunItem } from '../records/model.ts';
import { slotOf } from './run.ts';
import { dropReceipt, type FrozenChunk, keepNote, noteOf } from './run-files.ts';

/** How a step finds a destination by its type; a test adds its own. */
export type DestinationOf = (type: string) => Destination | undefined;

export const builtDestinations: DestinationOf = destinationOf;

/** A slot, its run, its destination, and what the log is told when the run ends or waits. */
export interface Sending {
  readonly run: RunItem;
  /** Index of the slot in its chunk. */
  readonly n: number;
  readonly destination: Destination;
  readonly delivery: Delivery;
  readonly lines: LogLine[];
}

/** Makes a slot ready to be sent. Throws `Permanent` when its destination cannot be used at all. */
export async function openSending(
  context: Context,
  item: BatchExportItem,
  chunk: FrozenChunk,
  n: number,
  run: RunItem,
  signal: AbortSignal,
  findDestination: DestinationOf,
): Promise<Sending> {
  const { warehouse, settings, outbound, clock } = context;
  const destination = findDestination(item.destination_type);
  if (destination === undefined) throw new Permanent(`There is no destination of type '${item.destination_type}'.`);
  const slot = slotOf(run);
  const lines: LogLine[] = [];
  const delivery: Delivery = {
    exportId: item.id,
    runId: run.id,
    token: chunk.token,
    model: chunk.model,
    teamId: chunk.teamId,
    slot,
    config: await openConfig(context, item),
    columns: (defaults) => deliveredColumns(chunk.query.select ?? null, defaults),
    rows: (form) => warehouse.read(chunk, slot, form, signal),
    outbound,
    reach: settings,
    signal,
    say: (level, message) => lines.push({ at: clock(), level, message, instance: run.id }),
    pause: async (milliseconds) => {
      await writeLines(context, item.id, run.execution, `pause-${run.id}`, lines.splice(0));
      await setTimeout(milliseconds, undefined, { signal }).catch(() => signal.throwIfAborted());
    },
    keep: (note) => keepNote(context, chunk.token, n, note),
    kept: () => noteOf(context, chunk.token, n),
  };
  return { run, n, destination, delivery, lines };
}

/** Removing may take so long, in milliseconds, whatever stopped the delivery. */
const DISCARD = 30_000;

/** Removes what was prepared for a slot. The receipt goes first, so that nobody commits what is being removed. */
export async function discard(context: Context, { destination, delivery, n }: Sending, receipt: Receipt | undefined) {
  await dropReceipt(context, delivery.token, n);
  await destination.discard({ ...delivery, signal: AbortSignal.timeout(DISCARD) }, receipt);
}
