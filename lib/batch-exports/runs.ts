/** What a caller may do to runs. */
import type { Context } from '../context.ts';
import { fail, invalid, messageOf } from '../errors.ts';
import { keys } from '../table/keys.ts';
import { Refused } from '../table/table.ts';
import { cancelBackfill } from './backfills.ts';
import type { BatchExportItem, RunItem } from './model.ts';
import { cancelOpenRun, cancelOpenRuns, exportWithPlan, isOpen, runsOf, showRuns, slotsOfHolder } from './run-state.ts';

/**
 * Cancels a run at once; its execution is stopped when nothing else is in its chunk. 404: there is none; 400: it has
 * ended, or is being committed.
 */
export async function cancelRun(context: Context, { id: exportId }: BatchExportItem, id: string) {
  const { table, workflow } = context;
  const run = (await table.get(keys.run(exportId, id))) as RunItem | undefined;
  if (run === undefined) fail('not_found');
  try {
    await showRuns(context, exportId, [await cancelOpenRun(context, run)]);
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
 * Cancels all that an export runs, after its deletion: backfills with their runs, then the rest. What is being
 * committed is finished. What fails here is only logged: nothing that belongs to a deleted export begins any more.
 */
export async function stopExport(context: Context, { id: exportId }: BatchExportItem): Promise<void> {
  const { table, workflow, log } = context;
  const read = await exportWithPlan(table, exportId);
  if (read === undefined) return;
  const { item, plan } = read;
  const failed = (what: string) => (error: unknown) =>
    log.warning('not all of a deleted export could be stopped', { export: exportId, what, reason: messageOf(error) });
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
}
