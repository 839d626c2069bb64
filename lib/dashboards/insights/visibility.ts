/** Which insights are there for a member, where rules may hide the dashboards that show them. */
import { placeIn } from '../../accounts/organizations/projects/store.ts';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import type { InsightItem } from '../../insights/model.ts';
import { readInsights } from '../../insights/store.ts';
import { isSameKind, keys, ranges } from '../../ports/table/keys.ts';
import { picked } from '../../ports/table/list-all.ts';
import type { Table } from '../../ports/table/table.ts';
import { lineOf } from '../../workers/turns.ts';
import type { DashboardItem } from '../model.ts';
import { checkStaysSeen, mayBeHidden, maySee, protecting } from '../rules.ts';
import { knownShowings, showingsOf, tilesOfInsight } from './tiles.ts';

/** So many dashboards or insights are looked up at a time. */
const AT_ONCE = 50;

/** Looks up all of these, so many at a time, and returns what was found, in their order. */
function lookedUp<T, Found>(all: readonly T[], look: (one: T) => Promise<Found>): Promise<Found[]> {
  const inLine = lineOf(AT_ONCE);
  return Promise.all(all.map((one) => inLine(() => look(one))));
}

/**
 * Returns the insights, of these, that are there for the member, as `maySeeInsight` says. Where no rule hides anything
 * it reads nothing; else the project's dashboards, deleted ones too, the tiles of the hidden ones where these are fewer than
 * the insights, and what shows the insights that these may show.
 */
export async function seenInsights<T extends Pick<InsightItem, 'id' | 'created_by'>>(
  table: Table,
  tenant: Tenant,
  insights: readonly T[],
): Promise<readonly T[]> {
  const { membership, project } = tenant;
  if (project === undefined || !mayBeHidden(tenant)) return insights;
  const told = (summary: DashboardItem) => ({
    id: summary.id,
    deleted_at: summary.deleted_at,
    isSeen: maySee(summary, membership),
  });
  const isDashboard = isSameKind(keys.dashboard(project.id, 0));
  // One after another: what is deleted in between is among the deleted.
  const summaries = [
    ...(await picked(table, ranges.dashboardsOf(project.id), told)),
    ...(await picked(table, ranges.deletedOf(project.id), (item) => (isDashboard(item) ? told(item) : undefined))),
  ];
  const known = new Map(summaries.map((summary) => [summary.id, summary]));
  const hidden = summaries.filter((summary) => !summary.isSeen);
  const others = insights.filter(({ created_by }) => created_by !== membership.user_uuid);
  if (hidden.length === 0 || others.length === 0) return insights;
  let looking: Promise<ReadonlySet<number>> | undefined;
  const onHidden = (): Promise<ReadonlySet<number>> => {
    looking ??= lookedUp(hidden, ({ id }) => shownOn(table, project.id, id)).then((found) => new Set(found.flat()));
    return looking;
  };
  const isClosed = async (insight: T): Promise<boolean> => {
    const showings = await knownShowings(table, await tilesOfInsight(table, project.id, insight.id), known);
    // The index of tiles lags behind those of a hidden dashboard.
    if (showings.length === 0) return (await onHidden()).has(insight.id);
    const deciding = protecting(insight, showings);
    return deciding.length > 0 && !deciding.some((dashboard) => dashboard.isSeen);
  };
  const shown = hidden.length < others.length ? await onHidden() : undefined;
  const doubtful = others.filter(({ id }) => shown?.has(id) ?? true);
  const areClosed = await lookedUp(doubtful, isClosed);
  const closed = new Set(doubtful.filter((_, at) => areClosed[at]));
  return insights.filter((insight) => !closed.has(insight));
}

/** Returns the numbers of the insights that a dashboard shows. */
function shownOn(table: Table, project: number, dashboard: number): Promise<number[]> {
  const isTile = isSameKind(keys.tile(project, dashboard, 0));
  return picked(table, ranges.ofDashboard(project, dashboard), (item) =>
    isTile(item) ? (item.insight ?? undefined) : undefined,
  );
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

/**
 * Throws a 403 as `checkStaysSeen`, when a member takes tiles of these insights from a dashboard; `to`: they go to that
 * one, or are put there. Where no rule hides anything it reads nothing.
 */
export async function checkStaySeen(
  table: Table,
  tenant: Tenant,
  insights: readonly number[],
  { from, to }: { readonly from: number; readonly to?: DashboardItem },
): Promise<void> {
  if (!mayBeHidden(tenant)) return;
  const { project, membership } = placeIn(tenant);
  const found = await readInsights(table, project.id, insights);
  const showings = await lookedUp([...found.values()], async (insight) => {
    const tiles = await tilesOfInsight(table, project.id, insight.id);
    return { insight, before: await showingsOf(table, project.id, tiles) };
  });
  for (const { insight, before } of showings) {
    const left = before.filter(({ summary }) => summary.id !== from);
    const after = to === undefined ? left : [...left, { summary: to, placedBy: membership.user_uuid }];
    checkStaysSeen(insight, { before, after }, membership);
  }
}
