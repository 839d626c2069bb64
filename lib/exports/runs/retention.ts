import { DAY_MS, HOUR_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { ranges } from '../../ports/table/keys.ts';
import type { Op } from '../../ports/table/table.ts';
import { isOpen } from './run.ts';

/** The number of runs that one look of the schedule removes: a backfill's 200,000 in 200 looks. */
const MAX_RUNS_REMOVED = 1_000;

/**
 * Removes runs that were made `runDays` ago and have ended. No trigger can run their intervals again: which intervals are still
 * to be run is known from the plan, the backfill and the retry's job, never from the absence of a run.
 */
export async function removeOldRuns(
  { table, clock, settings }: Pick<Context, 'table' | 'clock' | 'settings'>,
  exportId: string,
): Promise<void> {
  if (settings.runDays === null) return;
  const range = ranges.runsByCreation(exportId, undefined, clock() - settings.runDays * DAY_MS);
  const { items } = await table.list({ ...range, newestFirst: false }, { limit: MAX_RUNS_REMOVED });
  const ops = items.filter((run) => !isOpen(run)).map(({ pk, sk }): Op => ({ remove: { pk, sk } }));
  if (ops.length > 0) await table.write(ops, { apart: true });
}

/**
 * Returns when an export that has nothing to run is to be looked at, so that its runs go in time: never twice in a day, but
 * each hour while there are more than one look removes. Null: it has none, or they are kept for ever.
 */
export async function nextRemoval(
  { table, clock, settings }: Pick<Context, 'table' | 'clock' | 'settings'>,
  exportId: string,
): Promise<number | null> {
  if (settings.runDays === null) return null;
  const { items } = await table.list({ ...ranges.runsByCreation(exportId), newestFirst: false }, { limit: 1 });
  const [oldest] = items;
  if (oldest === undefined) return null;
  const now = clock();
  const due = oldest.created_at + settings.runDays * DAY_MS;
  return due <= now ? now + HOUR_MS : Math.max(due, now + DAY_MS);
}
