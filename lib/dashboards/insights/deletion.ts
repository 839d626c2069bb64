/** What becomes of a dashboard's insights when it is deleted with them, and when they come back with it. */
import { type IfMatch, inVersion } from '../../http/etag.ts';
import type { InsightItem } from '../../insights/model.ts';
import { deletedInsight, deletionOp, readInsights, restoredInsight } from '../../insights/store.ts';
import { groupsOf, type Weighed, weighed } from '../../ports/table/groups.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Table } from '../../ports/table/table.ts';
import { untilWrittenFrom } from '../../ports/table/until-written.ts';
import type { DashboardItem } from '../model.ts';
import { readSummaries } from '../store.ts';
import { dashboardsOf, tilesOfInsight } from './tiles.ts';

/** Returns the ops that delete the insights, of these, that are not deleted and that no other dashboard shows. */
export async function deletionOps(
  table: Table,
  summary: DashboardItem,
  insights: readonly InsightItem[],
  now: number,
): Promise<Weighed[]> {
  const own = await insightsOnlyOn(table, summary, insights);
  return own.map((item) => weighedChange(item, deletedInsight(item, now, summary.id)));
}

/** Returns the ops that bring back the insights, of these, that were deleted with the dashboard. */
export const returnOps = ({ id }: DashboardItem, insights: readonly InsightItem[]): Weighed[] =>
  insights.filter(({ deleted_with }) => deleted_with === id).map((item) => weighedChange(item, restoredInsight(item)));

const weighedChange = (before: InsightItem, after: InsightItem): Weighed => weighed(deletionOp(before, after), after);

/**
 * Writes ops on insights, in as many transactions as they take, while the dashboard is as it was read. Throws `Refused`
 * when it is not, or an insight was deleted or brought back meanwhile: then a part is written, and who reads the insights
 * again finds what is left.
 */
export async function writeInsights(
  table: Table,
  { project_id, id, deleted_at }: DashboardItem,
  ops: readonly Weighed[],
  ifMatch?: IfMatch,
): Promise<void> {
  const check = keys.dashboard(project_id, id);
  for (const group of groupsOf(ops)) {
    await table.write([{ check, if: { is: { id, deleted_at, ...inVersion(ifMatch) } } }, ...group]);
  }
}

/**
 * Brings back the insights with these numbers that are deleted with the dashboard, unless it is another than it was read.
 */
export async function bringBack(table: Table, summary: DashboardItem, ids: readonly number[]): Promise<void> {
  const { project_id, id, deleted_at } = summary;
  const readAgain = async () => (await table.get(keys.dashboard(project_id, id))) ?? null;
  await untilWrittenFrom<DashboardItem | null, void>(summary, readAgain, async (now) => {
    if (now?.deleted_at !== deleted_at) return;
    const insights = await readInsights(table, project_id, ids);
    await writeInsights(table, summary, returnOps(summary, [...insights.values()]));
  });
}

/** Returns the insights, of these, that are not deleted and that no other dashboard shows. */
async function insightsOnlyOn(table: Table, { project_id, id }: DashboardItem, insights: readonly InsightItem[]) {
  const live = insights.filter(({ deleted_at }) => deleted_at === null);
  const others = await Promise.all(
    live.map(async ({ id: insight }) => dashboardsOf(await tilesOfInsight(table, project_id, insight))),
  );
  const summaries = await readSummaries(table, project_id, others.flat());
  return live.filter((_, at) => others[at]?.every((other) => other === id || !summaries.has(other)));
}
