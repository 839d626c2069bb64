import type { Context } from '../../ports/context.ts';
import type { BatchExportItem } from '../records/model.ts';
import { closeBackfill } from './backfill.ts';
import type { Active, Claim } from './plan.ts';
import { settleExecution } from './settle.ts';
import type { ExportAndPlan } from './store.ts';

/** Closes a backfill whose machine ended without telling anybody. True: it had, and the plan has changed. */
export async function closedDead(
  context: Context,
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  { backfill }: Claim,
): Promise<boolean> {
  const status = await context.workflow.status('backfill', backfill);
  if (status === undefined || status === 'RUNNING') return false;
  const ending = { status: 'Failed', reason: 'its execution ended without a word' } as const;
  await closeBackfill(context, { export: exportId, backfill }, ending);
  return true;
}

const MINUTE = 60_000;

/** An execution that is older is asked about: it may have ended without telling anybody. */
const SUSPICIOUS = MINUTE;

/** Settles an execution that has ended without telling anybody. True: it had. */
export async function settledDead(
  context: Context,
  { id }: BatchExportItem,
  { execution, since }: Active,
): Promise<boolean> {
  if (context.clock() - since <= SUSPICIOUS) return false;
  if ((await context.workflow.status('export-run', execution)) === 'RUNNING') return false;
  const reason = 'Its execution ended without a word.';
  await settleExecution(context, id, execution, () => ({ status: 'Failed', reason }));
  return true;
}

/** The same for all that is under way, and for backfills: nobody else may ever meet them. True: the plan has changed. */
export async function settleDead(context: Context, { item, plan }: ExportAndPlan): Promise<boolean> {
  let isChanged = false;
  for (const mine of plan.active) isChanged = (await settledDead(context, item, mine)) || isChanged;
  for (const claim of plan.claimed) isChanged = (await closedDead(context, item, claim)) || isChanged;
  return isChanged;
}
