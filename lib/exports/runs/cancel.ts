/** Cancels what is under way of an export: a run, a backfill with its runs, or all of it. */

import { messageOf } from '../../basics/text.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused, type Table } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import type { MachineName } from '../../workflow/workflow.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { endOps } from './backfill.ts';
import { cancelOpenRun } from './outcome.ts';
import { type Active, isUnderWay } from './plan.ts';
import { isOpen } from './run.ts';
import { backfillWithPlan, type ExportAndPlan, exportWithPlan, runsOf, showRuns } from './store.ts';

/**
 * Cancels a run at once, with `also` in the transaction; its execution is stopped when nothing else is in its batch,
 * else its worker sees it within `cancelSeconds`. Fails with 404 when there is none; with 400 when it has ended, or is
 * being committed.
 */
export async function cancelRun(
  context: Context,
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  id: string,
  also: readonly Op[] = [],
): Promise<void> {
  const { table } = context;
  const run = await table.get(keys.run(exportId, id));
  if (run === undefined) fail('not_found');
  try {
    await showRuns(context, exportId, [await cancelOpenRun(context, run, also)]);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const found = error.foundAt(run);
    if (found === undefined) fail('not_found');
    if (isOpen(found)) invalid(null, 'Cannot cancel a run that is being committed');
    invalid(null, `Cannot cancel a run that is in '${found.status}' status`);
  }
  const read = (await exportWithPlan(table, exportId)) ?? fail('not_found');
  const mine = read.plan.active.find(({ execution }) => execution === run.execution);
  if (mine === undefined) return;
  const batch = await runsOf(table, read, mine);
  if (!batch.some(isOpen)) await stopIdle(context, 'export-run', run.execution, 'The run was cancelled.');
}

/**
 * Cancels a backfill with its runs, with `also` in the transaction: nothing of it starts from now on, no retry either.
 * A run that is being committed is finished. Fails with 404 when there is none; with 400 when it has ended.
 */
export async function cancelBackfill(
  context: Context,
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  id: string,
  also: readonly Op[] = [],
): Promise<void> {
  const { table } = context;
  const read = await untilWritten(async () => {
    const found = (await backfillWithPlan(table, { export: exportId, backfill: id })) ?? fail('not_found');
    const { plan, backfill } = found;
    if (!isOpen(backfill)) invalid(null, `Cannot cancel a backfill that is in '${backfill.status}' status`);
    const line = { level: 'INFO', message: 'Backfill was cancelled' } as const;
    await table.write([...endOps(context, plan, backfill, 'Cancelled', line), ...also]);
    return found;
  });
  const reason = 'The backfill was cancelled.';
  const batches = read.plan.active.filter(({ by }) => by === id);
  const stoppable = await Promise.all(batches.map((mine) => cancelOpenRuns(context, read, mine)));
  // Otherwise it ends by itself: its next batches find that there is nothing to do.
  if (stoppable.every(Boolean)) await stopIdle(context, 'backfill', id, reason);
  for (const mine of await retriesOf(table, read, id)) {
    if (await cancelOpenRuns(context, read, mine)) await stopIdle(context, 'export-run', mine.execution, reason);
  }
}

/** Returns what is under way to run a run of the backfill again. */
async function retriesOf(table: Table, { item, plan }: ExportAndPlan, backfill: string): Promise<Active[]> {
  const retries = plan.active.filter(({ by, batch }) => by !== 'schedule' && batch === null);
  const origins = await table.many(retries.map(({ by }) => keys.run(item.id, by)));
  return retries.filter((_, n) => origins[n]?.backfill === backfill);
}

/**
 * Cancels all that a deleted export runs: backfills with their runs, then the rest. What is being committed is
 * finished. Returns the export and its plan while anything of it is left, which must be cancelled again, for which it
 * has its job; undefined when nothing is.
 */
export async function stopExport(context: Context, { id: exportId }: Pick<BatchExportItem, 'id'>) {
  const { table, log } = context;
  const read = await exportWithPlan(table, exportId);
  if (read === undefined || !isUnderWay(read.plan)) return undefined;
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
      if (!(await cancelOpenRuns(context, read, mine))) return;
      await stopIdle(context, 'export-run', mine.execution, 'The batch export was deleted.');
    };
    await stop().catch(failed(mine.execution));
  }
  const left = await exportWithPlan(table, exportId);
  return left !== undefined && isUnderWay(left.plan) ? left : undefined;
}

/** Stops an execution that has nothing left to do. One that cannot be stopped now finds that out by itself. */
async function stopIdle({ workflow, log }: Context, machine: MachineName, name: string, why: string): Promise<void> {
  await workflow.stop(machine, name, why).catch((error: unknown) => {
    const about = { machine, execution: name, reason: messageOf(error) };
    log.warning('the execution of what was cancelled could not be stopped; it ends by itself', about);
  });
}

/** Cancels what an execution still runs. Returns whether it may be stopped: nothing is being committed. */
async function cancelOpenRuns(context: Context, read: ExportAndPlan, mine: Active): Promise<boolean> {
  const runs = await runsOf(context.table, read, mine);
  const cancel = async (run: RunItem): Promise<RunItem | undefined> => {
    try {
      return await cancelOpenRun(context, run);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return error.foundAt(run);
    }
  };
  const now = await Promise.all(runs.filter(isOpen).map(cancel));
  const known = now.filter((run) => run !== undefined);
  await showRuns(context, read.item.id, known);
  return !known.some(isOpen);
}
