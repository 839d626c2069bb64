import { jobOps } from '../../jobs/job.ts';
import type { Slot } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op } from '../../ports/table/table.ts';
import type { BeginInput, Trigger } from '../../workflow/messages.ts';
import type { BackfillItem, BatchExportItem, RunItem } from '../records/model.ts';
import { backfillSlots, chunkField } from './backfill.ts';
import { failedRunOps } from './outcome.ts';
import { chunkOf, dueSlots, nextDue } from './plan.ts';
import { isOpen, runId } from './run.ts';
import type { ExportAndPlan } from './store.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** What a trigger wants to run. */
export interface Work {
  readonly by: string;
  /** In order, without a gap, at most a chunk. */
  readonly slots: readonly Slot[];
  readonly chunk: { readonly backfill: BackfillItem; readonly number: number } | null;
  /** Which backfill the runs belong to, a retry of them too. */
  readonly backfill: string | null;
  readonly firstTriedAt: number | null;
}

export function jobGone({ export: exportId, trigger }: BeginInput): Op[] {
  if (trigger === 'schedule') return jobOps('export', exportId, null);
  return 'retry' in trigger ? jobOps('retry', trigger.retry, null) : [];
}

/** The slots that a trigger is about; or, when there are none now, what becomes of its job. */
export async function wanted(
  context: Context,
  { item, plan }: ExportAndPlan,
  trigger: Trigger,
): Promise<Work | { leave: Op[] }> {
  const { table, clock, settings } = context;
  if (trigger === 'schedule') {
    const slots = dueSlots(item, plan, clock(), settings);
    if (slots.length > 0) return { by: 'schedule', slots, chunk: null, backfill: null, firstTriedAt: null };
    return { leave: jobOps('export', item.id, nextDue(item, plan, clock(), settings)) };
  }
  if ('retry' in trigger) return wantedAgain(context, item, trigger.retry);
  const backfill = (await table.get(keys.backfill(item.id, trigger.backfill))) as BackfillItem | undefined;
  if (backfill === undefined || !isOpen(backfill) || backfill[chunkField(trigger.chunk)] !== undefined) {
    return { leave: [] };
  }
  const slots = chunkOf(backfillSlots(plan, backfill), trigger.chunk);
  if (slots.length === 0) return { leave: [] };
  const chunk = { backfill, number: trigger.chunk };
  return { by: backfill.id, slots, chunk, backfill: backfill.id, firstTriedAt: null };
}

/**
 * The slot of a run that is to be run again, unless that has been done, or its backfill was cancelled. A paused export
 * waits, hour by hour.
 */
async function wantedAgain(context: Context, item: BatchExportItem, retry: string): Promise<Work | { leave: Op[] }> {
  const run = (await context.table.get(keys.run(item.id, retry))) as RunItem | undefined;
  const done = { leave: jobOps('retry', retry, null) };
  if (run?.status !== 'FailedRetryable') return done;
  const slot = { start: run.data_interval_start, end: run.data_interval_end };
  if ((await context.table.get(keys.run(item.id, runId(item.id, slot, retry)))) !== undefined) return done;
  const now = context.clock();
  const end = (status: 'Cancelled' | 'Failed'): Op => ({
    change: keys.run(item.id, retry),
    set: { status, last_updated_at: now },
    if: { is: { status: 'FailedRetryable' } },
  });
  const { backfill, first_tried_at: firstTriedAt } = run;
  const origin = backfill === null ? undefined : await context.table.get(keys.backfill(item.id, backfill));
  if ((origin as BackfillItem | undefined)?.status === 'Cancelled') return { leave: [end('Cancelled'), ...done.leave] };
  if (!item.paused) return { by: retry, slots: [slot], chunk: null, backfill, firstTriedAt };
  if (now < firstTriedAt + DAY) return { leave: jobOps('retry', retry, now + HOUR, { export: item.id }) };
  return { leave: [end('Failed'), ...failedRunOps(run, run.latest_error ?? '', now), ...done.leave] };
}
