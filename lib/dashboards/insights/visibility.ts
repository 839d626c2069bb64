/** Which insights are there for a member, where rules may hide the dashboards that show them. */
import { placeIn } from '../../accounts/organizations/projects/store.ts';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import type { InsightItem } from '../../insights/model.ts';
import { readInsights } from '../../insights/store.ts';
import { ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Table } from '../../ports/table/table.ts';
import { mayBeHidden, maySee } from '../rules.ts';
import { readDashboard } from '../store.ts';
import { insightsOf } from '../tiles.ts';
import { dashboardsOf, tilesOfInsight } from './tiles.ts';

/**
 * Returns the insights, of these, that are there for the member, as `maySeeInsight` says. Where no rule hides anything
 * it reads nothing; else the project's dashboards, the tiles of the hidden ones, and who else shows what these show.
 */
export async function seenInsights(
  table: Table,
  tenant: Tenant,
  insights: readonly InsightItem[],
): Promise<readonly InsightItem[]> {
  const { membership, project } = tenant;
  if (project === undefined || !mayBeHidden(tenant)) return insights;
  const summaries = await listAll(table, ranges.dashboardsOf(project.id));
  const { seen = [], hidden = [] } = Object.groupBy(summaries, (one) => (maySee(one, membership) ? 'seen' : 'hidden'));
  const seenIds = new Set(seen.map(({ id }) => id));
  const stored = await Promise.all(hidden.map(({ id }) => readDashboard(table, project.id, id)));
  const onHidden = new Set(stored.flatMap((dashboard) => insightsOf(dashboard?.tiles ?? [])));
  const isSeen = await Promise.all(
    insights.map(
      async ({ id, created_by }) =>
        created_by === membership.user_uuid ||
        !onHidden.has(id) ||
        dashboardsOf(await tilesOfInsight(table, project.id, id)).some((dashboard) => seenIds.has(dashboard)),
    ),
  );
  return insights.filter((_, at) => isSeen[at]);
}

/** Reads the insights with these numbers that are there for the member, by their numbers. */
export async function readSeenInsights(
  table: Table,
  tenant: Tenant,
  ids: Iterable<number>,
): Promise<ReadonlyMap<number, InsightItem>> {
  const found = await readInsights(table, placeIn(tenant).project.id, ids);
  const live = [...found.values()].filter(({ deleted_at }) => deleted_at === null);
  return new Map((await seenInsights(table, tenant, live)).map((insight) => [insight.id, insight]));
}

/** Returns an insight that was looked up; undefined: there is none, it is deleted, or it is not there for the member. */
export async function seenInsight(
  table: Table,
  tenant: Tenant,
  found: InsightItem | undefined,
): Promise<InsightItem | undefined> {
  return found?.deleted_at === null ? (await seenInsights(table, tenant, [found]))[0] : undefined;
}
