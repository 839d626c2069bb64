/** One slot on its way: what a destination is given, and how its run comes to its end. */
import { setTimeout } from 'node:timers/promises';
import type { Context } from '../../ports/context.ts';
import { Permanent } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused, type Table, type Value } from '../../ports/table/table.ts';
import { deliveredColumns } from '../../warehouse/query-columns.ts';
import type { Delivery, Destination, Receipt } from '../destinations/destination.ts';
import { destinationOf } from '../destinations/index.ts';
import { noticeOps } from '../notices/notice.ts';
import { type LogLine, lineOps, writeLines } from '../records/logs.ts';
import type { BatchExportItem, RunItem, RunStatus } from '../records/model.ts';
import { openConfig } from '../resource/store.ts';
import { dropReceipt, type FrozenChunk, keepNote, noteOf } from './frozen.ts';
import { OPEN, rangeText, slotOf } from './run-state.ts';

/** `latest_error` in characters: at most 2 KB of UTF-8. */
const ERROR_LENGTH = 500;

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
      await writeLines(context, item.id, run.holder, `pause-${run.id}`, lines.splice(0));
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

/** What the log says of a run without rows. */
export const noRowsText = (range: string): string =>
  `Batch export will finish early as there is no data matching specified filters in ${range}`;

/** The run is completed, in one write with its numbers and its log. False: somebody else has ended it. */
export function completeRun(context: Context, { run, lines }: Sending, records: number, bytes: number) {
  const range = rangeText(slotOf(run));
  const message =
    records === 0
      ? noRowsText(range)
      : `Batch export for ${range} finished successfully with ${records} records exported`;
  const numbers = { records_total_count: records, records_completed: records, bytes_exported: bytes };
  const fields = { ...numbers, latest_error: null };
  return endRun(context, run, { status: 'Completed', fields, lines, last: { level: 'INFO', message } });
}

/** The run has failed for good. */
export function failRun(context: Context, run: RunItem, reason: string, lines: readonly LogLine[]) {
  const message = `Batch export for ${rangeText(slotOf(run))} failed with a non-recoverable error: ${reason}`;
  const fields = { latest_error: errorText(reason) };
  return endRun(context, run, { status: 'Failed', fields, lines, last: { level: 'ERROR', message } });
}

/** What tells of a run that has failed for good. Those that a backfill runs are told of together, at its end. */
export const failedRunOps = (run: RunItem, reason: string, at: number): Op[] =>
  run.by === run.backfill
    ? []
    : noticeOps(run.id, {
        type: 'run_failed',
        export: run.batch_export,
        subject: run.id,
        range: slotOf(run),
        reason,
        at,
      });

/** Ends an open run of ours, with its log, in one write. False: somebody else has ended it. */
export async function endRun(
  context: Context,
  run: RunItem,
  end: {
    readonly status: RunStatus;
    readonly fields: Readonly<Record<string, Value>>;
    readonly lines: readonly LogLine[];
    readonly last: Pick<LogLine, 'level' | 'message'>;
    /** What else becomes true with it. */
    readonly ops?: readonly Op[];
  },
): Promise<boolean> {
  const now = context.clock();
  const set = { ...end.fields, status: end.status, phase: null, finished_at: now, last_updated_at: now };
  const lines = [...end.lines, { at: now, instance: run.id, ...end.last }];
  const isEnded = await isWritten(context.table, [
    { change: keys.run(run.batch_export, run.id), set, if: { is: { status: OPEN, token: run.token } } },
    ...lineOps(context, run.batch_export, run.holder, `end-${run.id}`, lines),
    ...(end.status === 'Failed' ? failedRunOps(run, String(end.fields['latest_error']), now) : []),
    ...(end.ops ?? []),
  ]);
  if (isEnded) measure(context, { ...run, ...set });
  return isEnded;
}

/** Tells of a run that has ended. A run that was cancelled neither completed nor failed. */
export function measure({ metrics }: Pick<Context, 'metrics'>, run: RunItem): void {
  if (run.status === 'Cancelled') return;
  const about = { export: run.batch_export, run: run.id };
  if (run.status !== 'Completed') {
    metrics.record({ RunsFailed: 1 }, about);
    return;
  }
  const numbers = {
    RunsCompleted: 1,
    RowsDelivered: run.records_completed ?? 0,
    BytesDelivered: run.bytes_exported ?? 0,
  };
  const lag = ((run.finished_at ?? run.last_updated_at) - run.data_interval_end) / 1000;
  metrics.record(run.by === 'schedule' ? { ...numbers, DeliveryLag: lag } : numbers, about);
}

/** False: the conditions did not hold. */
export async function isWritten(table: Table, ops: readonly Op[]): Promise<boolean> {
  try {
    await table.write(ops);
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

/** A reason as a run keeps it: short, without NUL. */
export const errorText = (reason: string): string => reason.replaceAll('\0', '').slice(0, ERROR_LENGTH);
