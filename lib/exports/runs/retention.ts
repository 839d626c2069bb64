import { DAY_MS, HOUR_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { ranges } from '../../ports/table/keys.ts';
import type { Op, Range } from '../../ports/table/table.ts';
import type { BackfillItem } from '../records/backfills/model.ts';
import { nextDue, type Plan, type Scheduled } from './plan.ts';
import { isOpen } from './run.ts';

type Kept = Pick<Context, 'table' | 'clock' | 'settings'>;

/** What one look of the schedule removes: of runs a backfill's 200,000 in 200 looks; a backfill may have 200 KB. */
const MAX_RUNS_REMOVED = 1_000;
const MAX_BACKFILLS_REMOVED = 50;

/** So long after its end a backfill is asked at least, whether it was cancelled: failed runs of it are retried for a day. */
const RETRIED_MS = 2 * DAY_MS;

/**
 * Removes runs and backfills that were made `runDays` ago and have ended. No trigger can run their intervals again: which
 * intervals are still to be run is known from the plan, the backfill and the retry's job, never from the absence of a run.
 */
export async function removeOldRuns({ table, clock, settings }: Kept, exportId: string): Promise<void> {
  if (settings.runDays === null) return;
  const until = clock() - settings.runDays * DAY_MS;
  const [runs, backfills] = await Promise.all([
    table.list(oldestFirst(ranges.runsByCreation(exportId, undefined, until)), { limit: MAX_RUNS_REMOVED }),
    table.list(oldestFirst(ranges.backfillsByCreation(exportId, undefined, until)), { limit: MAX_BACKFILLS_REMOVED }),
  ]);
  const isOver = ({ finished_at }: BackfillItem): boolean =>
    finished_at !== null && finished_at <= clock() - RETRIED_MS;
  const ended = [...runs.items.filter((run) => !isOpen(run)), ...backfills.items.filter(isOver)];
  const ops = ended.map(({ pk, sk }): Op => ({ remove: { pk, sk } }));
  if (ops.length > 0) await table.write(ops, { apart: true });
}

const oldestFirst = <T>(range: Range<T>): Range<T> => ({ ...range, newestFirst: false });

/**
 * Returns when the job of an export is due: when its plan must be looked at; when it has nothing to run, when the oldest of its
 * runs and backfills is to go, but never twice in a day, and each hour while there are more than one look removes. Null: never,
 * as things stand.
 */
export async function nextLook({ table, clock, settings }: Kept, item: Scheduled, plan: Plan): Promise<number | null> {
  const now = clock();
  const due = nextDue(item, plan, now, settings);
  if (due !== null || settings.runDays === null || item.deleted_at !== null) return due;
  const oldest = await Promise.all([
    table.list(oldestFirst(ranges.runsByCreation(item.id)), { limit: 1 }),
    table.list(oldestFirst(ranges.backfillsByCreation(item.id)), { limit: 1 }),
  ]);
  const made = oldest.flatMap(({ items }) => items.map(({ created_at }) => created_at));
  if (made.length === 0) return null;
  const goes = Math.min(...made) + settings.runDays * DAY_MS;
  return goes <= now ? now + HOUR_MS : Math.max(goes, now + DAY_MS);
}
