/** Acquires a batch: in one transaction the plan, the runs, and what becomes of the job or of the backfill. */
import { jobOps } from '../../jobs/job.ts';
import { isTouched, type LakeFile } from '../../lake/catalog.ts';
import type { Interval } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused } from '../../ports/table/table.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { progressFields } from './backfill.ts';
import { amountIn } from './estimate.ts';
import { measure, noRowsText } from './outcome.ts';
import { type Active, nextDue, type Plan, settle, WATCH_MS } from './plan.ts';
import { leftAfterRestore } from './restored.ts';
import { intervalOf, isOpen, latestRuns, newRun, OPEN, rangeText } from './run.ts';
import { isFiltered } from './run-input.ts';
import { type ExportAndPlan, planOp, scheduleOf } from './store.ts';
import type { Work } from './trigger.ts';

/**
 * Writes what was acquired: plan, export, job or backfill, log lines and runs, at most 4 + 96 items. `files`: the
 * lake's, of the batch's range. Returns the runs; those that need not be sent have ended, and when all are completed
 * the batch is settled too. Throws `Refused` when the plan or the schedule is not as it was read.
 */
export async function writeAcquired(
  context: Context,
  { item, plan }: ExportAndPlan,
  work: Work,
  acquired: { readonly plan: Plan; readonly mine: Active },
  files: readonly LakeFile[],
): Promise<readonly RunItem[]> {
  const now = context.clock();
  const { mine } = acquired;
  const { batch, backfill, firstTriedAt } = work;
  const left = work.by === 'schedule' ? await leftAfterRestore(context.table, item) : () => undefined;
  const runs = work.intervals.map((interval) => {
    const ended = endedAtOnce(context, item, files, interval, left(interval));
    return newRun(now, item, interval, mine, { ended, backfill, firstTriedAt });
  });
  // What failed is counted at the batch's end.
  const isDone = runs.every(({ status }) => status === 'Completed');
  const after = isDone ? settle(acquired.plan, mine.execution) : acquired.plan;
  const { latest_runs } = item;
  const ended = runs.filter((run) => !isOpen(run));
  const ops: Op[] = [
    planOp(item.id, plan, after),
    {
      change: keys.batchExport(item.id),
      set: { latest_runs: latestRuns(item, runs) },
      if: { is: { latest_runs, ...(batch === null ? scheduleOf(item) : { deleted_at: null }) } },
    },
    ...followingOps(context, item, work, after, isDone ? runs : null),
    ...lineOps(context, item.id, mine.execution, 'begin', ended.map(endLine)),
    ...runs.map((run): Op => ({ put: run, if: 'absent', else: 'run_exists' })),
  ];
  try {
    await context.table.write(ops);
  } catch (error) {
    if (!(error instanceof Refused) || error.reason !== 'run_exists') throw error;
    throw new Error(`run ${String(error.found?.['id'])} is there, but not in the plan`, { cause: error });
  }
  for (const run of ended) measure(context, run);
  return runs;
}

/** Returns what becomes of the job, or of the backfill. `done`: the runs, when all of them are completed. */
function followingOps(
  { clock, settings }: Context,
  item: BatchExportItem,
  { by, batch }: Work,
  plan: Plan,
  done: readonly RunItem[] | null,
): Op[] {
  const now = clock();
  if (batch !== null) {
    const key = keys.backfill(item.id, batch.backfill.id);
    const open = { is: { status: OPEN } };
    if (done === null) return [{ check: key, if: open }];
    return [{ change: key, set: { ...progressFields(batch.number, done), last_updated_at: now }, if: open }];
  }
  // What has nothing left to run is looked at once more: when its runs are to go is known when they are there.
  const due = (by === 'schedule' && done === null ? null : nextDue(item, plan, now, settings)) ?? now + WATCH_MS;
  return [...(by === 'schedule' ? [] : jobOps('retry', by, null)), ...jobOps('export', item.id, due)];
}

const gigabytes = (n: number): string => (n / 1e9).toFixed(1);

/**
 * Returns how a run ends that need not be sent: no file touches its interval, it is `left` alone for this reason, or the files
 * hold more than a worker can deliver; null when it is to be sent. How much the filters of an export let through is not known yet.
 */
function endedAtOnce(
  { settings: { maxIntervalBytes } }: Context,
  item: BatchExportItem,
  files: readonly LakeFile[],
  { start, end }: Interval,
  left: string | undefined,
): Parameters<typeof newRun>[4]['ended'] {
  if (!files.some((file) => isTouched(file, start, end))) return 'empty';
  if (left !== undefined) return { failed: left };
  const { rows, bytes } = amountIn(files, { from: start, to: end });
  const isTooMuch = maxIntervalBytes !== null && bytes > maxIntervalBytes && !isFiltered(item);
  if (!isTooMuch) return null;
  return {
    failed:
      `The interval holds about ${rows} rows, ${gigabytes(bytes)} GB as stored: more than the ` +
      `${gigabytes(maxIntervalBytes)} GB that one run can deliver. ` +
      (item.interval === 'every 5 minutes'
        ? 'Split the events among several batch exports by include_events.'
        : `Set a shorter interval than '${item.interval}'; for this range, make another batch export with it and backfill it.`),
  };
}

function endLine(run: RunItem): LogLine {
  const range = rangeText(intervalOf(run));
  const about = { at: run.created_at, instance: run.id } as const;
  if (run.latest_error === null) return { ...about, level: 'INFO', message: noRowsText(range) };
  const message = `Batch export for ${range} failed with a non-recoverable error: ${run.latest_error}`;
  return { ...about, level: 'ERROR', message };
}
