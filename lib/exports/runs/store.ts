/** Reads and writes what the pipeline shares: an export with its plan, runs, and what an export shows of its runs. */
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op, Table } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import type { BackfillInput } from '../../workflow/messages.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { type Active, type Plan, planFields, planOf } from './plan.ts';
import { intervalsOfExecution, latestRuns, runId } from './run.ts';

/** An export and its plan, read together. */
export interface ExportAndPlan {
  readonly item: BatchExportItem;
  readonly plan: Plan;
}

/** Returns an export and its plan; undefined when it was never made, or has been purged. */
export async function exportWithPlan(table: Table, exportId: string): Promise<ExportAndPlan | undefined> {
  const [item, stored] = await table.many([keys.batchExport(exportId), keys.plan(exportId)]);
  return item && stored && { item, plan: planOf(stored) };
}

/** Returns a backfill with its export and plan; undefined when one of them is gone. */
export async function backfillWithPlan(table: Table, { export: exportId, backfill: id }: BackfillInput) {
  const wanted = [keys.batchExport(exportId), keys.plan(exportId), keys.backfill(exportId, id)] as const;
  const [item, stored, backfill] = await table.many(wanted);
  return item && stored && backfill && { item, plan: planOf(stored), backfill };
}

/** Returns the runs of what an execution acquired, in the order of their intervals. */
export async function runsOf(table: Table, { item, plan }: ExportAndPlan, mine: Active) {
  const ids = intervalsOfExecution(item, plan, mine).map((interval) => runId(item.id, interval, mine.by));
  const found = await table.many(ids.map((id) => keys.run(item.id, id)));
  return found.filter((run) => run !== undefined);
}

/** Returns the condition that nothing has changed of what decides when the export is due. */
export const scheduleOf = ({ interval: frequency, paused, start_at, end_at }: BatchExportItem) => ({
  interval: frequency,
  paused,
  start_at,
  end_at,
  deleted_at: null,
});

/** Returns the op that writes a plan that was made of `before`. Its condition: nobody else was first. */
export const planOp = (exportId: string, before: Plan, after: Plan): Op => ({
  change: keys.plan(exportId),
  set: { ...planFields(after) },
  if: { is: { version: before.version } },
});

/** Lets the export's `latest_runs` show these runs as they are now. */
export async function showRuns({ table }: Pick<Context, 'table'>, exportId: string, runs: readonly RunItem[]) {
  await untilWritten(async () => {
    const item = await table.get(keys.batchExport(exportId));
    if (item === undefined) return;
    const latest_runs = latestRuns(item, runs);
    if (latest_runs === item.latest_runs) return;
    const unchanged = { id: exportId, latest_runs: item.latest_runs };
    await table.write([{ change: keys.batchExport(exportId), set: { latest_runs }, if: { is: unchanged } }]);
  });
}
