/** What a caller may do to runs. */
import type { Context } from '../../ports/context.ts';
import { fail, invalid, messageOf } from '../../ports/errors.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { type Op, Refused } from '../../ports/table/table.ts';
import type { BatchExportItem, RunItem } from '../records/model.ts';
import { isUnderWay } from '../runs/plan.ts';
import {
  cancelOpenRun,
  cancelOpenRuns,
  exportWithPlan,
  isOpen,
  runsOf,
  showRuns,
  slotsOfHolder,
} from '../runs/run-state.ts';
import { cancelBackfill } from './backfills.ts';

/**
 * Cancels a run at once, with `also` in the transaction; its execution is stopped when nothing else is in its chunk, else
 * its worker sees it within `cancelSeconds`. 404: there is none; 400: it has ended, or is being committed.
 */
export async function cancelRun(
  context: Context,
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  id: string,
  also: readonly Op[] = [],
): Promise<void> {
  const { table, workflow } = context;
  const run = (await table.get(keys.run(exportId, id))) as RunItem | undefined;
  if (run === undefined) fail('not_found');
  try {
    await showRuns(context, exportId, [await cancelOpenRun(context, run, also)]);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const found = error.found as RunItem | undefined;
    if (found === undefined) fail('not_found');
    if (isOpen(found)) invalid(null, 'Cannot cancel a run that is being committed');
    invalid(null, `Cannot cancel a run that is in '${found.status}' status`);
  }
  const { item, plan } = (await exportWithPlan(table, exportId)) ?? fail('not_found');
  const mine = plan.active.find(({ holder }) => holder === run.holder);
  if (mine === undefined) return;
  const chunk = await runsOf(table, exportId, slotsOfHolder(item, plan, mine), mine.by);
  if (!chunk.some(isOpen)) await workflow.stop('export-run', run.holder, 'The run was cancelled.');
}

/**
 * Cancels all that a deleted export runs: backfills with their runs, then the rest. What is being committed is
 * finished. Answers whether nothing of it is left; else it must be asked again, for which it has its job.
 */
export async function stopExport(context: Context, { id: exportId }: BatchExportItem): Promise<boolean> {
  const { table, workflow, log } = context;
  const read = await exportWithPlan(table, exportId);
  if (read === undefined) return true;
  const { item, plan } = read;
  const failed = (what: string) => (error: unknown) =>
    log.warning('not all of a deleted export could be stopped yet', {
      export: exportId,
      what,
      reason: messageOf(error),
    });
  for (const { backfill } of plan.claimed) {
    await cancelBackfill(context, item, backfill).catch(failed(backfill));
  }
  for (const mine of plan.active) {
    const stop = async () => {
      if (!(await cancelOpenRuns(context, item, plan, mine))) return;
      await workflow.stop('export-run', mine.holder, 'The batch export was deleted.');
    };
    await stop().catch(failed(mine.holder));
  }
  if (!isUnderWay(plan)) return true;
  const after = await exportWithPlan(table, exportId);
  return after === undefined || !isUnderWay(after.plan);
}

const DAY = 86_400_000;
/** Runs that one look of the schedule removes: a backfill's 200,000 in 200 looks. */
const AT_ONCE = 1_000;

/**
 * Removes runs that were made `runDays` ago and have ended. No trigger can run their slots again: which slots are still
 * to be run is known from the plan, the backfill and the retry's job, never from the absence of a run.
 */
export async function forgetRuns(
  { table, clock, settings }: Pick<Context, 'table' | 'clock' | 'settings'>,
  exportId: string,
): Promise<void> {
  if (settings.runDays === null) return;
  const range = ranges.runsByCreation(exportId, undefined, clock() - settings.runDays * DAY);
  const { items } = await table.list({ ...range, newestFirst: false }, { limit: AT_ONCE });
  const old = (items as RunItem[]).filter((run) => !isOpen(run));
  if (old.length > 0)
    await table.write(
      old.map(({ pk, sk }): Op => ({ remove: { pk, sk } })),
      { apart: true },
    );
}
