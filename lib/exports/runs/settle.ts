import { wireInstant } from '../../http/instant.ts';
import { jobOps } from '../../jobs/job.ts';
import type { Context } from '../../ports/context.ts';
import { messageOf } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import { noticeOps } from '../notices/notice.ts';
import { lineOps } from '../records/logs.ts';
import type { BatchExportItem, RunItem, RunStatus } from '../records/model.ts';
import { progressFields } from './backfill.ts';
import { builtDestinations, type DestinationOf, discard, openSending } from './delivery.ts';
import { completeRun, endRun, errorText } from './outcome.ts';
import { type Active, nextDue, type Plan, settle } from './plan.ts';
import { isOpen, latestRuns, rangeText, slotOf, slotsOfExecution, tokenOf } from './run.ts';
import { type FrozenChunk, frozen, receiptOf, unfreeze } from './run-files.ts';
import { exportWithPlan, planOp, runsOf } from './store.ts';

const HOUR = 3_600_000;

const DAY = 24 * HOUR;

/** Runs that failed for good in a row, after which an export is paused. */
const PATIENCE = 10;

/** A last attempt to commit may take so long, in milliseconds. */
const LAST_COMMIT = 120_000;

/** How a run ends that did not end by itself. */
export interface Ending {
  readonly status: Extract<RunStatus, 'Failed' | 'FailedRetryable' | 'Terminated' | 'TimedOut'>;
  readonly reason: string;
}

export const UNEXPECTED: Ending = { status: 'Failed', reason: 'An unexpected error has occurred' };

/**
 * Settles what an execution acquired: ends its open runs, gives the range back, and writes with it what follows. Its
 * runs as they ended; undefined: it holds nothing.
 */
export async function settleExecution(
  context: Context,
  exportId: string,
  execution: string,
  endingOfSlot: (n: number) => Ending,
  findDestination: DestinationOf = builtDestinations,
): Promise<RunItem[] | undefined> {
  const read = await exportWithPlan(context.table, exportId);
  const mine = read?.plan.active.find((active) => active.execution === execution);
  if (read === undefined || mine === undefined) return undefined;
  const token = tokenOf(exportId, mine);
  const slots = slotsOfExecution(read.item, read.plan, mine);
  const chunk = await frozen(context, token);
  for (const run of await runsOf(context.table, exportId, slots, mine.by)) {
    const n = slots.findIndex(({ start }) => start === run.data_interval_start);
    const isCommitted = chunk !== undefined && (await cleared(context, read.item, chunk, n, run, findDestination));
    if (!isCommitted && isOpen(run)) await endOpenRun(context, read.item, run, endingOfSlot(n));
  }
  const runs = await runsOf(context.table, exportId, slots, mine.by);
  await writeSettled(context, exportId, execution, runs);
  await unfreeze(context, token);
  return runs;
}

/**
 * Leaves nothing of a run at its destination that is not to be there: a commit that has begun is finished (true), what
 * was prepared for a run that did not complete is removed. Both are tried once.
 */
async function cleared(
  context: Context,
  item: BatchExportItem,
  chunk: FrozenChunk,
  n: number,
  run: RunItem,
  findDestination: DestinationOf,
): Promise<boolean> {
  if (!isOpen(run) && run.status !== 'Cancelled') return false;
  try {
    const signal = AbortSignal.timeout(LAST_COMMIT);
    const sending = await openSending(context, item, chunk, n, run, signal, findDestination);
    const receipt = await receiptOf(context, chunk.token, n);
    if (run.phase === 'committing' && receipt !== undefined) {
      await sending.destination.commit(sending.delivery, receipt);
      return await completeRun(context, sending, run.records_total_count ?? 0, receipt.bytes);
    }
    await discard(context, sending, receipt);
  } catch (error) {
    context.log.warning('what was prepared could not be removed', { run: run.id, reason: messageOf(error) });
  }
  return false;
}

/** Ends a run that did not end by itself. What may pass is tried again each hour, for a day from its first run. */
async function endOpenRun(context: Context, item: BatchExportItem, run: RunItem, ending: Ending): Promise<void> {
  const again = context.clock() + HOUR;
  const isRetried =
    ending.status === 'FailedRetryable' && again <= run.first_tried_at + DAY && item.deleted_at === null;
  const status = ending.status === 'FailedRetryable' && !isRetried ? 'Failed' : ending.status;
  const reason = ending.reason === '' ? UNEXPECTED.reason : ending.reason;
  const what = `Batch export for ${rangeText(slotOf(run))}`;
  const message = isRetried
    ? `${what} failed and will be tried again at ${wireInstant(again)}: ${reason}`
    : `${what} ended as ${status}: ${reason}`;
  await endRun(context, run, {
    status,
    fields: { latest_error: errorText(reason) },
    lines: [],
    last: { level: 'ERROR', message },
    ops: isRetried ? jobOps('retry', run.id, again, { export: item.id }) : [],
  });
}

/** The transaction that settles: plan, export, job or backfill, log. */
async function writeSettled(context: Context, exportId: string, execution: string, runs: RunItem[]): Promise<void> {
  await untilWritten(async () => {
    const read = await exportWithPlan(context.table, exportId);
    const mine = read?.plan.active.find((active) => active.execution === execution);
    if (read === undefined || mine === undefined) return;
    const { item, plan } = read;
    const after = settle(plan, execution);
    const now = context.clock();
    const failures = mine.by === runs[0]?.backfill ? item.failures_in_a_row : failuresAfter(item, runs);
    const isGivenUp = failures >= PATIENCE && !item.paused && item.deleted_at === null;
    const paused = isGivenUp
      ? { paused: true, last_paused_at: now, last_updated_at: now, ver: item.ver + 1, failures_in_a_row: 0 }
      : { failures_in_a_row: failures };
    const { latest_runs, failures_in_a_row, ver, deleted_at } = item;
    await context.table.write([
      planOp(exportId, plan, after),
      {
        change: keys.batchExport(exportId),
        set: { latest_runs: latestRuns(item, runs), ...paused },
        if: { is: { latest_runs, failures_in_a_row, ver, deleted_at } },
      },
      ...followingOps(context, { ...item, ...paused }, mine, after, runs),
      ...(isGivenUp ? givenUpOps(context, item, execution, runs) : []),
    ]);
  });
}

/** How many runs have failed for good since one reached the destination. */
function failuresAfter(item: BatchExportItem, runs: readonly RunItem[]): number {
  let failures = item.failures_in_a_row;
  for (const run of runs) {
    if (run.status === 'Failed') failures += 1;
    else if (run.status === 'Completed' && run.records_completed !== 0) failures = 0;
  }
  return failures;
}

/** What tells that an export was paused: a line of its log, and a notice. */
function givenUpOps(context: Context, { id }: BatchExportItem, execution: string, runs: readonly RunItem[]): Op[] {
  const at = context.clock();
  const last = runs.findLast((run) => run.latest_error !== null)?.latest_error ?? UNEXPECTED.reason;
  const message =
    `Batch export was paused, as ${PATIENCE} runs in a row failed. The last error was: ${last} ` +
    'Mend the cause, unpause the batch export, and retry the runs that failed or backfill their range.';
  return [
    ...lineOps(context, id, execution, 'pause', [{ at, level: 'ERROR', message, instance: id }]),
    ...noticeOps(context.newId(), { type: 'paused', export: id, subject: id, range: null, reason: message, at }),
  ];
}

/** What becomes of the export's job, or of the backfill's progress. */
function followingOps(
  { clock, settings }: Context,
  item: BatchExportItem,
  mine: Active,
  plan: Plan,
  runs: readonly RunItem[],
): Op[] {
  if (mine.chunk !== null) return [progressOp(item.id, mine.by, progressFields(mine.chunk, runs), clock())];
  return jobOps('export', item.id, nextDue(item, plan, clock(), settings));
}

const progressOp = (exportId: string, backfill: string, fields: Record<string, string>, now: number): Op => ({
  change: keys.backfill(exportId, backfill),
  set: { ...fields, last_updated_at: now },
  if: 'present',
});
