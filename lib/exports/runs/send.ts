/** Sends one slot: counts, prepares, commits. One worker, one pass, one visible act. */
import type { Context } from '../../ports/context.ts';
import { messageOf, Permanent, Transient } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op, Value } from '../../ports/table/table.ts';
import type { SendInput, SendOutput } from '../../workflow/messages.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import type { BatchExportItem, RunItem } from '../records/model.ts';
import { builtDestinations, type DestinationOf, discard, openSending, type Sending } from './delivery.ts';
import { cancelOpenRun, completeRun, errorText, failRun, isWritten } from './outcome.ts';
import { isOpen, OPEN, rangeText, slotOf } from './run.ts';
import { type FrozenChunk, frozen, keepReceipt, receiptOf } from './run-files.ts';

/** The run is not this worker's any more: it was cancelled, or somebody else ended it. */
class Lost extends Error {
  override readonly name = 'Lost';
}

/**
 * Sends a slot, or finishes what an earlier attempt began: may run twice, and beside its own ghost. Throws what may
 * pass and what is unknown; what only the user can mend ends the run as Failed.
 */
export async function sendSlot(
  context: Context,
  { export: exportId, token, slot: n, unloaded }: SendInput,
  stopped: AbortSignal,
  findDestination: DestinationOf = builtDestinations,
): Promise<SendOutput> {
  const { table } = context;
  const found = await frozen(context, token);
  const chunk = found && { ...found, unloaded };
  const runKey = keys.run(exportId, chunk?.runs[n] ?? '');
  const [item, run] = (await table.many([keys.batchExport(exportId), runKey])) as [BatchExportItem?, RunItem?];
  if (chunk === undefined || item === undefined || run === undefined) return { slot: n, status: 'Cancelled' };
  if (!isOpen(run) || run.token !== token) return answer(n, run);

  const watch = watching(context, run);
  const signal = AbortSignal.any([stopped, watch.signal]);
  let sending: Sending | undefined;
  try {
    sending = await openSending(context, item, chunk, n, run, signal, findDestination);
    await send(context, sending, item, chunk);
  } catch (error) {
    await recover(context, run, sending, error, { isLost: watch.signal.aborted, isStopped: stopped.aborted });
  } finally {
    watch.end();
  }
  return answer(n, ((await table.get(runKey)) as RunItem | undefined) ?? run);
}

const answer = (slot: number, { status }: RunItem): SendOutput => ({
  slot,
  status: status === 'Completed' || status === 'Cancelled' ? status : 'Failed',
});

/** A signal that is aborted when the run is not this worker's to send any more. */
function watching({ table, settings }: Context, run: RunItem): { signal: AbortSignal; end(): void } {
  const lost = new AbortController();
  const look = async (): Promise<void> => {
    const now = (await table.get(keys.run(run.batch_export, run.id))) as RunItem | undefined;
    if (now === undefined || !isOpen(now) || now.token !== run.token) lost.abort(new Lost('the run was ended'));
  };
  // A look that fails is followed by another one.
  const timer = setInterval(() => void look().catch(() => {}), settings.cancelSeconds * 1000).unref();
  return { signal: lost.signal, end: () => clearInterval(timer) };
}

async function send(context: Context, sending: Sending, item: BatchExportItem, chunk: FrozenChunk): Promise<void> {
  const { run, n, destination, delivery, lines } = sending;
  const prepared = await receiptOf(context, chunk.token, n);
  let receipt = prepared;
  let records = run.records_total_count ?? 0;
  if (receipt === undefined) {
    lines.push({ at: context.clock(), level: 'INFO', message: startLine(item, run), instance: run.id });
    records = await context.warehouse.count(chunk, delivery.slot, delivery.signal);
    await change(context, run, { status: 'Running', records_total_count: records });
    if (records === 0) {
      await completeRun(context, { ...sending, lines: [] }, 0, 0);
      return;
    }
    receipt = await destination.deliver(delivery);
    delivery.signal.throwIfAborted();
    await keepReceipt(context, chunk.token, n, receipt);
  }
  await change(context, run, { phase: 'committing' }, stillBackfilling(run));
  await destination.commit(delivery, receipt);
  await completeRun(context, sending, records, receipt.bytes);
}

const startLine = (item: BatchExportItem, run: RunItem): string =>
  `Batch exporting ${rangeText(slotOf(run))} to ${item.destination_type}`;

/** Changes the run while it is open and ours; else it is `Lost`. */
async function change(
  { table, clock }: Context,
  run: RunItem,
  fields: Readonly<Record<string, Value>>,
  also: readonly Op[] = [],
): Promise<void> {
  const set = { ...fields, last_updated_at: clock() };
  const mine = { is: { status: OPEN, token: run.token } };
  const ops: Op[] = [{ change: keys.run(run.batch_export, run.id), set, if: mine }, ...also];
  if (!(await isWritten(table, ops))) throw new Lost('the run was ended');
}

/** A run of a backfill is committed only while the backfill is not cancelled. */
const stillBackfilling = ({ batch_export, backfill, by }: RunItem): Op[] =>
  backfill === null || by !== backfill
    ? []
    : [{ check: keys.backfill(batch_export, backfill), if: { is: { status: OPEN } } }];

/**
 * After a failure: leaves the destination as it was before, unless the commit has begun, and ends the run or throws.
 */
async function recover(
  context: Context,
  run: RunItem,
  sending: Sending | undefined,
  error: unknown,
  { isLost, isStopped }: { readonly isLost: boolean; readonly isStopped: boolean },
): Promise<void> {
  const found = (await context.table.get(keys.run(run.batch_export, run.id))) as RunItem | undefined;
  const isOurs = found !== undefined && isOpen(found) && found.token === run.token;
  const isCommitting = isOurs && found.phase === 'committing';
  if (sending !== undefined && (!isCommitting || error instanceof Permanent)) await undo(context, sending);
  if (isLost || error instanceof Lost) {
    // Open still: it was its backfill that ended.
    if (isOurs && !isCommitting) await cancelOpenRun(context, found);
  } else if (error instanceof Permanent && !isStopped) {
    await failRun(context, run, error.message, sending?.lines ?? []);
  } else {
    if (error instanceof Transient && !isStopped) await noteTrouble(context, run, error, sending?.lines ?? []);
    throw error;
  }
}

/** Removes what was prepared. If that fails too, it is only a leftover: a next attempt, or the end of the run, tries again. */
async function undo(context: Context, sending: Sending): Promise<void> {
  try {
    await discard(context, sending, await receiptOf(context, sending.delivery.token, sending.n));
  } catch (error) {
    context.log.warning('what was prepared could not be removed', { run: sending.run.id, reason: messageOf(error) });
  }
}

/** The customer sees what is in the way, while it is tried again. */
async function noteTrouble(context: Context, run: RunItem, error: Transient, lines: readonly LogLine[]): Promise<void> {
  const at = context.clock();
  const message = `Batch export for ${rangeText(slotOf(run))} failed for now and will be tried again: ${error.message}`;
  const trouble: LogLine = { at, level: 'WARNING', message, instance: run.id };
  await isWritten(context.table, [
    {
      change: keys.run(run.batch_export, run.id),
      set: { latest_error: errorText(error.message), last_updated_at: at },
      if: { is: { status: OPEN, token: run.token } },
    },
    ...lineOps(context, run.batch_export, run.execution, `send-${run.id}`, [...lines, trouble]),
  ]);
}
