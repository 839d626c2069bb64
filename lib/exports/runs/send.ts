/** The step that sends an interval: its rows are prepared at the destination, its receipt is kept, then it is committed. */

import { messageOf } from '../../basics/text.ts';
import { MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { inWords } from '../../ports/disk-failures.ts';
import { Damaged, Permanent, Transient } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused, type Value } from '../../ports/table/table.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import type { SendInput, SendOutput } from '../../workflow/messages.ts';
import { STEPS } from '../../workflow/steps.ts';
import { destinationOf } from '../destinations/index.ts';
import { personWarning } from '../query/person-warning.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { admit, type Contact, conclude } from './back-off.ts';
import { type DestinationOf, discard, openSending, prepare, resume, type Sending } from './delivery.ts';
import { cancelOpenRun, completeRun, failRun, troubleOp } from './outcome.ts';
import { keepReceipt } from './receipt.ts';
import { type RowWaits, rowWaits } from './row-waits.ts';
import { ifHeldBy, intervalOf, isHeldBy, OPEN, rangeText } from './run.ts';
import { type BatchInput, inputOf } from './run-files.ts';
import { checkModel, unlessReplaced } from './run-input.ts';

/** How long a delivery may take: a minute of the step's time is left to tell of it, and to remove what it prepared. */
const MAX_SENDING_MS = STEPS['send-interval'].timeout * SECOND_MS - MINUTE_MS;
const TOO_LONG = `The delivery took longer than ${MAX_SENDING_MS / MINUTE_MS} minutes`;
/** A delivery that waits so long for its rows is late by that: its destination may have done nothing wrong. */
const LONG_WAIT_MS = MINUTE_MS;

/** The run is not this worker's any more: it was cancelled, or somebody else ended it. */
class Lost extends Error {
  override readonly name = 'Lost';
}

/**
 * Sends an interval, or finishes what an earlier attempt began: it may run twice, and two at once. What only the user can
 * mend ends the run as Failed. Throws what may pass, as which counts that the export waits, and what is unknown.
 */
export async function sendInterval(
  context: Context,
  { export: exportId, attempt, interval: n, unloaded }: SendInput,
  stopped: AbortSignal,
  findDestination: DestinationOf = destinationOf,
): Promise<SendOutput> {
  const { table } = context;
  const kept = await inputOf(context, attempt);
  const input = kept && { ...kept, unloaded };
  const runKey = keys.run(exportId, input?.runs[n] ?? '');
  const [item, run] = await table.many([keys.batchExport(exportId), runKey]);
  if (input === undefined || item === undefined || run === undefined) return { interval: n, status: 'Cancelled' };
  if (!isHeldBy(attempt, run)) return answer(n, run);

  const isTrial = await admit(context, item, run);
  const waits = rowWaits(context.warehouse, context.clock);
  const timed: Context = { ...context, warehouse: waits.warehouse };
  const watch = watching(context, run, waits);
  const signal = AbortSignal.any([stopped, watch.signal]);
  let sending: Sending | undefined;
  let contact: Contact = 'unknown';
  try {
    sending = await openSending(timed, { item, input, n, run }, { findDestination, signal });
    contact = await send(timed, sending, item, input);
  } catch (raised) {
    const given: unknown = watch.signal.reason;
    const state = { isLost: given instanceof Lost, isStopped: stopped.aborted };
    const error = inWords(given instanceof Transient ? given : await unlessReplaced(context, input, raised));
    contact = contactOf(error, state);
    await recover(context, run, sending, error, state);
  } finally {
    watch.end();
    await conclude(context, item, run, isTrial, contact);
  }
  return answer(n, (await table.get(runKey)) ?? run);
}

const answer = (interval: number, { status }: RunItem): SendOutput => ({
  interval,
  status: status === 'Completed' || status === 'Cancelled' ? status : 'Failed',
});

/**
 * Returns a signal that is aborted with `Lost` when the run is not this worker's to send any more, and with `Transient`
 * when sending it takes too long.
 */
function watching(
  { table, settings }: Context,
  run: RunItem,
  waits: RowWaits,
): { readonly signal: AbortSignal; end(): void } {
  const ended = new AbortController();
  const look = async (): Promise<void> => {
    const now = await table.get(keys.run(run.batch_export, run.id));
    if (!isHeldBy(run.attempt, now)) ended.abort(new Lost('the run was ended'));
  };
  // A look that fails is followed by another one.
  const looks = setInterval(() => void look().catch(() => {}), settings.cancelSeconds * 1000).unref();
  const late = setTimeout(() => ended.abort(tooLong(waits.ms())), MAX_SENDING_MS).unref();
  return { signal: ended.signal, end: () => (clearInterval(looks), clearTimeout(late)) };
}

/** Returns what ends a delivery that is late; `waitedMs`: for how long its rows had it wait. */
function tooLong(waitedMs: number): Transient {
  if (waitedMs < LONG_WAIT_MS) return new Transient(`${TOO_LONG}.`);
  const minutes = Math.round(waitedMs / MINUTE_MS);
  return new Transient(`${TOO_LONG}, ${minutes} of which it waited for its rows.`, { isOwn: true });
}

/** What may pass is the destination's trouble, unless it has taken a part; what only the customer can mend is an answer of it. */
function contactOf(
  error: unknown,
  { isLost, isStopped }: { readonly isLost: boolean; readonly isStopped: boolean },
): Contact {
  if (isLost || isStopped) return 'unknown';
  if (error instanceof Transient && error.isPartial) return 'reached';
  if (error instanceof Transient) return error.isOwn ? 'unknown' : { failed: error.message };
  return error instanceof Permanent ? 'reached' : 'unknown';
}

async function send(context: Context, sending: Sending, item: BatchExportItem, input: BatchInput): Promise<Contact> {
  const { run, destination, delivery, lines } = sending;
  checkModel(item, input);
  let prepared = await resume(context, sending);
  let records = run.records_total_count ?? 0;
  if (prepared === undefined) {
    const [at, warning] = [context.clock(), personWarning(input.query)];
    const warnings: LogLine[] =
      warning === undefined ? [] : [{ at, level: 'WARNING', message: warning, instance: run.id }];
    lines.push({ at, level: 'INFO', message: startText(item, run), instance: run.id }, ...warnings);
    records = await context.warehouse.count(input, delivery.interval, delivery.signal);
    checkCounted(input, sending.n, records);
    await change(context, run, { status: 'Running', records_total_count: records });
    if (records === 0) {
      await completeRun(context, run, { records: 0, bytes: 0 }, warnings);
      return 'unknown';
    }
    prepared = await prepare(sending);
  }
  const receipt = await keepReceipt(context, run, sending.n, prepared.receipt);
  await change(context, run, { phase: 'committing', ...receipt }, stillBackfilling(run));
  await destination.commit(delivery, prepared);
  await completeRun(context, run, { records, bytes: prepared.receipt.bytes }, lines);
  return 'reached';
}

/** Throws `Permanent` when rows are missing, wherever they got lost: where the lake lies, or on the way from there. */
function checkCounted({ leastRows }: BatchInput, n: number, records: number): void {
  const least = leastRows[n] ?? 0;
  if (records >= least) return;
  throw new Permanent(
    `The interval has at least ${least} rows, but only ${records} could be read, so that nothing was delivered: files of ` +
      'the lake are damaged or missing.',
  );
}

const startText = (item: BatchExportItem, run: RunItem): string =>
  `Batch exporting ${rangeText(intervalOf(run))} to ${item.destination_type}`;

/** Changes the run while it is open and ours. Throws `Lost` when it is not. */
async function change(
  { table, clock }: Context,
  run: RunItem,
  fields: Readonly<Record<string, Value>>,
  also: readonly Op[] = [],
): Promise<void> {
  const set = { ...fields, last_updated_at: clock() };
  const ops: Op[] = [{ change: keys.run(run.batch_export, run.id), set, if: ifHeldBy(run.attempt) }, ...also];
  if (!(await tryWrite(table, ops))) throw new Lost('the run was ended');
}

/** Returns the check that a run's backfill, if it has one, is not cancelled. */
const stillBackfilling = ({ batch_export, backfill, by }: RunItem): Op[] =>
  backfill === null || by !== backfill
    ? []
    : [{ check: keys.backfill(batch_export, backfill), if: { is: { status: OPEN } } }];

/** Leaves the destination as before the failure, unless the commit has begun; ends the run, or throws what may pass. */
async function recover(
  context: Context,
  run: RunItem,
  sending: Sending | undefined,
  error: unknown,
  { isLost, isStopped }: { readonly isLost: boolean; readonly isStopped: boolean },
): Promise<void> {
  const found = await context.table.get(keys.run(run.batch_export, run.id));
  const isOurs = isHeldBy(run.attempt, found);
  const isCommitting = isOurs && found.phase === 'committing';
  if (sending !== undefined && (!isCommitting || error instanceof Permanent))
    await undo(context, { ...sending, run: found ?? run });
  if (isLost || error instanceof Lost) {
    // Open still: it was its backfill that ended. Who cancels that may be first.
    if (isOurs && !isCommitting) await cancelOpenRun(context, found).catch(unlessRefused);
  } else if (error instanceof Permanent && !isStopped) {
    if (error instanceof Damaged) context.log.error('a file is damaged', { path: error.path, run: run.id });
    await failRun(context, run, error.message, sending?.lines ?? []);
  } else {
    if (error instanceof Transient && !isStopped) await noteTrouble(context, run, error, sending?.lines ?? []);
    throw error;
  }
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof Refused)) throw error;
}

/** Removes what was prepared, by others too. If that fails, it is left to the next attempt, or to the run's end. */
async function undo(context: Context, sending: Sending): Promise<void> {
  try {
    if (sending.prepared === undefined) await resume(context, sending);
    await discard(context, sending);
  } catch (error) {
    context.log.warning('what was prepared could not be removed', { run: sending.run.id, reason: messageOf(error) });
  }
}

/** Lets the customer see what is in the way, while it is tried again. */
async function noteTrouble(context: Context, run: RunItem, error: Transient, lines: readonly LogLine[]): Promise<void> {
  const at = context.clock();
  const message = `Batch export for ${rangeText(intervalOf(run))} failed for now and will be tried again: ${error.message}`;
  const trouble: LogLine = { at, level: 'WARNING', message, instance: run.id };
  await tryWrite(context.table, [
    troubleOp(run, error.message, at),
    ...lineOps(context, run.batch_export, run.execution, `send-${run.id}`, [...lines, trouble]),
  ]);
}
