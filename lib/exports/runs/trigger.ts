/** What a trigger wants to be run: what is due by the schedule, a batch of a backfill, or a run that failed. */

import { DAY_MS, HOUR_MS } from '../../basics/units.ts';
import { jobOps } from '../../jobs/job.ts';
import type { Interval } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op } from '../../ports/table/table.ts';
import type { BeginInput, Trigger } from '../../workflow/messages.ts';
import type { BackfillItem } from '../records/backfills/model.ts';
import type { BatchExportItem } from '../records/model.ts';
import { waitsUntil } from './back-off.ts';
import { backfillIntervals, batchField } from './backfill.ts';
import { runFailureOps } from './outcome.ts';
import { batchOf, dueIntervals, isUnderWay, type Plan, WATCH_MS } from './plan.ts';
import { nextLook } from './retention.ts';
import { intervalOf, isOpen, latestRuns, runId } from './run.ts';
import { type ExportAndPlan, scheduleOf } from './store.ts';

/** What is to be run. */
export interface Work {
  /** On whose behalf, as in a run's `by`. */
  readonly by: string;
  /** In order, without a gap, at most a batch. */
  readonly intervals: readonly Interval[];
  readonly batch: { readonly backfill: BackfillItem; readonly number: number } | null;
  /** The backfill that the runs belong to, a retry of its runs too. */
  readonly backfill: string | null;
  /** When the interval was first tried, if it is tried again. */
  readonly firstTriedAt: number | null;
}

/** There is nothing to run now: what becomes of the trigger's job. */
interface Idle {
  readonly ops: readonly Op[];
}

/** Returns what a trigger wants to be run, or that there is nothing. */
export async function workOf(context: Context, { item, plan }: ExportAndPlan, trigger: Trigger): Promise<Work | Idle> {
  const { table, clock, settings } = context;
  if (trigger === 'schedule') {
    const now = clock();
    const intervals = dueIntervals(item, plan, now, settings);
    if (intervals.length === 0) return { ops: lookOps(item, plan, await nextLook(context, item, plan)) };
    const until = waitsUntil(item, now);
    if (until === null) return { by: 'schedule', intervals, batch: null, backfill: null, firstTriedAt: null };
    return { ops: lookOps(item, plan, isUnderWay(plan) ? Math.min(until, now + WATCH_MS) : until) };
  }
  if ('retry' in trigger) return retryOf(context, item, trigger.retry);
  const backfill = await table.get(keys.backfill(item.id, trigger.backfill));
  if (backfill === undefined || !isOpen(backfill) || backfill[batchField(trigger.batch)] !== undefined) {
    return { ops: [] };
  }
  const intervals = batchOf(backfillIntervals(plan, backfill), trigger.batch);
  if (intervals.length === 0) return { ops: [] };
  const batch = { backfill, number: trigger.batch };
  return { by: backfill.id, intervals, batch, backfill: backfill.id, firstTriedAt: null };
}

/**
 * Returns the ops that put the job of an export, or remove it. They are refused when anything that it follows from is not
 * as it was read, so that a job which was put with such a change stays.
 */
const lookOps = (item: BatchExportItem, plan: Plan, due: number | null): Op[] => [
  ...jobOps('export', item.id, due),
  { check: keys.plan(item.id), if: { is: { version: plan.version } } },
  { check: keys.batchExport(item.id), if: { is: { ...scheduleOf(item), trouble: item.trouble ?? null } } },
];

/**
 * Returns the interval of a run to run again, unless done or its backfill cancelled. A paused export waits an hour, and
 * one that waits for its destination until then.
 */
async function retryOf(context: Context, item: BatchExportItem, retry: string): Promise<Work | Idle> {
  const run = await context.table.get(keys.run(item.id, retry));
  const done = jobOps('retry', retry, null);
  if (run?.status !== 'FailedRetryable') return { ops: done };
  const interval = intervalOf(run);
  if ((await context.table.get(keys.run(item.id, runId(item.id, interval, retry)))) !== undefined) return { ops: done };
  const now = context.clock();
  const end = (status: 'Cancelled' | 'Failed'): Op[] => {
    const set = { status, last_updated_at: now };
    const latest_runs = latestRuns(item, [{ ...run, ...set }]);
    return [
      { change: keys.run(item.id, retry), set, if: { is: { status: 'FailedRetryable' } } },
      { change: keys.batchExport(item.id), set: { latest_runs }, if: { is: { latest_runs: item.latest_runs } } },
    ];
  };
  const { backfill, first_tried_at: firstTriedAt } = run;
  const origin = backfill === null ? undefined : await context.table.get(keys.backfill(item.id, backfill));
  if (origin?.status === 'Cancelled') return { ops: [...end('Cancelled'), ...done] };
  const until = item.paused ? now + HOUR_MS : waitsUntil(item, now);
  if (until === null) return { by: retry, intervals: [interval], batch: null, backfill, firstTriedAt };
  if (now < firstTriedAt + DAY_MS) return { ops: jobOps('retry', retry, until, { export: item.id }) };
  return { ops: [...end('Failed'), ...runFailureOps(run, run.latest_error ?? '', now), ...done] };
}

/** Returns the ops that remove a trigger's job: its export is gone. */
export function removeJobOps({ export: exportId, trigger }: BeginInput): Op[] {
  if (trigger === 'schedule') return jobOps('export', exportId, null);
  return 'retry' in trigger ? jobOps('retry', trigger.retry, null) : [];
}
