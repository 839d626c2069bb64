/** Settles what executions hold that ended without a word: nobody was told, so whoever needs their intervals looks. */

import { MINUTE_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { BatchExportItem } from '../records/model.ts';
import { closeBackfill } from './backfill.ts';
import type { Active, Claim } from './plan.ts';
import { settleExecution } from './settle.ts';
import type { ExportAndPlan } from './store.ts';

/**
 * An execution is asked about when it is older. Whoever ends is settled at once, by its last step or by the rule that
 * tells of its end; so this is for what both have missed, and an engine answers few such questions (Step Functions: 10 to
 * 15 in a second).
 */
const SUSPICIOUS_AFTER_MS = 30 * MINUTE_MS;

/** Settles an execution if it has ended. Returns whether it had. */
export async function reapRun(context: Context, { id }: BatchExportItem, { execution, since }: Active) {
  if (context.clock() - since <= SUSPICIOUS_AFTER_MS) return false;
  if ((await context.workflow.status('export-run', execution)) === 'RUNNING') return false;
  const reason = 'The run ended, and the service does not know why. Retry it.';
  await settleExecution(context, id, execution, () => ({ status: 'Failed', reason }));
  return true;
}

/**
 * Closes a backfill if its execution has ended, or is gone: its job waits for an execution to begin, so without both
 * nothing will. Returns whether it was so, and the plan has changed.
 */
export async function reapBackfill(
  context: Context,
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  { backfill }: Claim,
): Promise<boolean> {
  const { table, clock, workflow } = context;
  const begun = await table.get(keys.backfill(exportId, backfill));
  if (begun !== undefined && clock() - begun.created_at <= SUSPICIOUS_AFTER_MS) return false;
  // Read first: an execution that begins in between removes it.
  const job = await table.get(keys.job('backfill', backfill));
  const status = await workflow.status('backfill', backfill);
  if (status === 'RUNNING' || (status === undefined && job !== undefined)) return false;
  const what = status === undefined ? 'is gone' : 'ended without a word';
  const reason = `Its execution ${what}. Backfill the range again.`;
  await closeBackfill(context, { export: exportId, backfill }, { status: 'Failed', reason });
  return true;
}

/** Does both for all that is under way of an export: nobody else may meet it. Returns whether the plan has changed. */
export async function reapAll(context: Context, { item, plan }: ExportAndPlan): Promise<boolean> {
  let isChanged = false;
  for (const mine of plan.active) isChanged = (await reapRun(context, item, mine)) || isChanged;
  for (const claim of plan.claimed) isChanged = (await reapBackfill(context, item, claim)) || isChanged;
  return isChanged;
}
