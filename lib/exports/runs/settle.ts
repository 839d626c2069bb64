/** Settles what an execution acquired, however it ended: runs, plan, what the export shows, the next job. */

import { messageOf } from '../../basics/text.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import { wireInstant } from '../../http/instant.ts';
import { jobOps } from '../../jobs/job.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import { STEPS } from '../../workflow/steps.ts';
import { destinationOf } from '../destinations/index.ts';
import { noticeOps } from '../notices/notice.ts';
import { lineOps } from '../records/logs.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem, RunStatus } from '../records/runs/model.ts';
import { progressFields } from './backfill.ts';
import { type BatchRun, type Delivering, discard, openSending, resume } from './delivery.ts';
import { completeRun, endRun, errorText, runFailureOps } from './outcome.ts';
import { type Active, type Plan, settle } from './plan.ts';
import { nextLook } from './retention.ts';
import { attemptOf, intervalOf, intervalsOfExecution, isOpen, latestRuns, rangeText } from './run.ts';
import { inputOf, removeFiles, Unreadable } from './run-files.ts';
import { type ExportAndPlan, exportWithPlan, planOp, runsOf } from './store.ts';
import { ticketBackOps } from './ticket.ts';

/** The number of runs that failed for good in a row, after which an export is paused. */
const MAX_FAILURES_IN_A_ROW = 10;

/** How long a last attempt to commit may take. */
const LAST_COMMIT_TIMEOUT_MS = 2 * MINUTE_MS;

/**
 * How long a batch has to leave nothing of its runs at the destination: with a last commit it is half a minute less than
 * the step may take, which would begin with all of it again.
 */
const CLEARING_MS = STEPS['finish-run'].timeout * SECOND_MS - LAST_COMMIT_TIMEOUT_MS - MINUTE_MS / 2;

/** How a run ends that did not end by itself. */
export interface Ending {
  readonly status: Extract<RunStatus, 'Failed' | 'FailedRetryable' | 'Terminated'>;
  readonly reason: string;
}

/** The end of a run of which nobody knows why. */
export const UNEXPECTED: Ending = { status: 'Failed', reason: 'An unexpected error has occurred' };

/**
 * Ends the open runs of what an execution acquired, gives the range back, and writes with it what follows. Returns its
 * runs as they ended; undefined when it holds nothing. Throws the reason of the signal when that is aborted.
 */
export async function settleExecution(
  context: Context,
  exportId: string,
  execution: string,
  endingOfInterval: (n: number) => Ending,
  { findDestination = destinationOf, signal = new AbortController().signal }: Partial<Delivering> = {},
): Promise<RunItem[] | undefined> {
  const read = await exportWithPlan(context.table, exportId);
  const mine = read?.plan.active.find((active) => active.execution === execution);
  if (read === undefined || mine === undefined) return undefined;
  await endRuns(context, read, mine, endingOfInterval, { findDestination, signal });
  const runs = await runsOf(context.table, read, mine);
  await tellOfFailedAtOnce(context, runs);
  await writeSettled(context, exportId, execution, runs);
  await removeFiles(context, attemptOf(exportId, mine));
  return runs;
}

/** Ends the open runs of what an execution acquired, and leaves nothing of them at their destination, if there is time. */
async function endRuns(
  context: Context,
  read: ExportAndPlan,
  mine: Active,
  endingOfInterval: (n: number) => Ending,
  delivering: Delivering,
): Promise<void> {
  const { item, plan } = read;
  const attempt = attemptOf(item.id, mine);
  const intervals = intervalsOfExecution(item, plan, mine);
  const input = await inputOf(context, attempt).catch((error: unknown) => {
    // What was prepared is left to the next run of the interval, which takes it away.
    if (!(error instanceof Unreadable)) throw error;
    context.log.error('the input of a batch is damaged', { attempt });
    return undefined;
  });
  const until = context.clock() + CLEARING_MS;
  let left = 0;
  for (const run of commitsFirst(await runsOf(context.table, read, mine))) {
    const n = intervals.findIndex(({ start }) => start === run.data_interval_start);
    let isCommitted = false;
    if (input !== undefined && hasPrepared(run)) {
      if (context.clock() < until) isCommitted = await cleared(context, { item, input, n, run }, delivering);
      else left += 1;
    }
    if (!isCommitted && isOpen(run)) await endOpenRun(context, item, run, endingOfInterval(n));
  }
  // The next run of each interval takes it away.
  if (left > 0) context.log.warning('what was prepared could not be removed in time', { attempt, runs: left });
}

const commitsFirst = (runs: readonly RunItem[]): RunItem[] =>
  runs.toSorted((a, b) => Number(b.phase === 'committing') - Number(a.phase === 'committing'));

/**
 * Returns whether something of a run may be at its destination that is not to be there. Nothing is prepared before its
 * rows are counted, and a destination that is down would be waited for.
 */
const hasPrepared = (run: RunItem): boolean =>
  (isOpen(run) || run.status === 'Cancelled') && run.records_total_count !== null;

/**
 * Leaves nothing of a run at its destination that is not to be there: a commit that has begun is finished, unless the
 * export is of another model now, and what was prepared for a run that did not complete is removed. Both are tried once.
 * Returns whether the run is completed now.
 */
async function cleared(
  context: Context,
  one: BatchRun,
  { findDestination, signal: stopped }: Delivering,
): Promise<boolean> {
  const { item, input, run } = one;
  try {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(LAST_COMMIT_TIMEOUT_MS)]);
    const sending = await openSending(context, one, { findDestination, signal });
    const prepared = await resume(context, sending);
    if (run.phase === 'committing' && prepared !== undefined && input.model === item.model) {
      await sending.destination.commit(sending.delivery, prepared);
      const numbers = { records: run.records_total_count ?? 0, bytes: prepared.receipt.bytes };
      return await completeRun(context, run, numbers, sending.lines);
    }
    await discard(context, sending);
  } catch (error) {
    stopped.throwIfAborted();
    context.log.warning('what was prepared could not be removed', { run: run.id, reason: messageOf(error) });
  }
  return false;
}

/** Ends a run that did not end by itself. What may pass is tried again each hour, for a day from its first run. */
async function endOpenRun(context: Context, item: BatchExportItem, run: RunItem, ending: Ending): Promise<void> {
  const again = context.clock() + HOUR_MS;
  const isRetried =
    ending.status === 'FailedRetryable' && again <= run.first_tried_at + DAY_MS && item.deleted_at === null;
  const status = ending.status === 'FailedRetryable' && !isRetried ? 'Failed' : ending.status;
  const reason = ending.reason === '' ? UNEXPECTED.reason : ending.reason;
  const what = `Batch export for ${rangeText(intervalOf(run))}`;
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

/**
 * Lets the notices be sent of runs that had failed as they began: neither the transaction that begins them nor the one
 * that settles has room. Who settles again, as after a crash before the end, puts the same ones.
 */
async function tellOfFailedAtOnce({ table }: Context, runs: readonly RunItem[]): Promise<void> {
  const ops = runs
    .filter(({ status, finished_at, created_at }) => status === 'Failed' && finished_at === created_at)
    .flatMap((run) => runFailureOps(run, run.latest_error ?? UNEXPECTED.reason, run.created_at));
  if (ops.length > 0) await table.write(ops);
}

/** Writes the transaction that settles: plan, export, job or backfill, log. */
async function writeSettled(context: Context, exportId: string, execution: string, runs: RunItem[]): Promise<void> {
  await untilWritten(async () => {
    const read = await exportWithPlan(context.table, exportId);
    const mine = read?.plan.active.find((active) => active.execution === execution);
    if (read === undefined || mine === undefined) return;
    const { item, plan } = read;
    const after = settle(plan, execution);
    const now = context.clock();
    const failures = mine.by === runs[0]?.backfill ? item.failures_in_a_row : failuresAfter(item, runs);
    const isGivenUp = failures >= MAX_FAILURES_IN_A_ROW && !item.paused && item.deleted_at === null;
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
      ...(await followingOps(context, { ...item, ...paused }, mine, after, runs)),
      ...ticketBackOps(context, item, execution),
      ...(isGivenUp ? pauseOps(context, item, execution, runs) : []),
    ]);
  });
}

/** Returns how many runs have failed for good since one reached the destination. */
function failuresAfter(item: BatchExportItem, runs: readonly RunItem[]): number {
  let failures = item.failures_in_a_row;
  for (const run of runs) {
    if (run.status === 'Failed') failures += 1;
    else if (run.status === 'Completed' && run.records_completed !== 0) failures = 0;
  }
  return failures;
}

/** Returns what tells that an export was paused: a line of its log, and a notice. */
function pauseOps(context: Context, { id }: BatchExportItem, execution: string, runs: readonly RunItem[]): Op[] {
  const at = context.clock();
  const last = runs.findLast((run) => run.latest_error !== null)?.latest_error ?? UNEXPECTED.reason;
  const message =
    `Batch export was paused, as ${MAX_FAILURES_IN_A_ROW} runs in a row failed. The last error was: ${last} ` +
    'Mend the cause, unpause the batch export, and retry the runs that failed or backfill their range.';
  return [
    ...lineOps(context, id, execution, 'pause', [{ at, level: 'ERROR', message, instance: id }]),
    ...noticeOps(context.newId(), { type: 'paused', export: id, subject: id, range: null, reason: message, at }),
  ];
}

/** Returns what becomes of the export's job, or of the backfill's progress. */
async function followingOps(
  context: Context,
  item: BatchExportItem,
  { by, batch }: Active,
  plan: Plan,
  runs: readonly RunItem[],
): Promise<Op[]> {
  if (batch === null) return jobOps('export', item.id, await nextLook(context, item, plan));
  const key = keys.backfill(item.id, by);
  // One that ended long ago may be removed.
  if ((await context.table.get(key)) === undefined) return [];
  const set = { ...progressFields(batch, runs), last_updated_at: context.clock() };
  return [{ change: key, set, if: 'present' }];
}
