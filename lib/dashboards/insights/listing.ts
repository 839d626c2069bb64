/** Lists of insights: a page of the index, or, for a filter or hidden dashboards, one of all that may be listed. */
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import { type Paging, readPage } from '../../http/page.ts';
import { holdsText } from '../../http/search.ts';
import { type InsightFilter, type InsightItem, numberOfShortId } from '../../insights/model.ts';
import { fromJsonText } from '../../ports/table/json-text.ts';
import { isSameKind, keys, ranges } from '../../ports/table/keys.ts';
import { picked } from '../../ports/table/list-all.ts';
import type { Table } from '../../ports/table/table.ts';
import { byName, hasFilter } from '../listing.ts';
import { mayBeHidden } from '../rules.ts';
import type { InsightWithTiles } from './store.ts';
import { tilesOfInsight } from './tiles.ts';
import { seenInsights } from './visibility.ts';

/** The insights of one page, and how many there are in all. */
interface InsightPage {
  readonly found: readonly InsightWithTiles[];
  readonly count: number;
  readonly cursor?: string | undefined;
}

const withTiles = (table: Table, items: readonly InsightItem[]): Promise<InsightWithTiles[]> =>
  Promise.all(items.map(async (item) => ({ item, tiles: await tilesOfInsight(table, item.project_id, item.id) })));

/** Returns a page of a project's insights, newest first, and how many there are in all. Who asks is not yet known. */
export async function readInsightPage(
  table: Table,
  project: number,
  filter: InsightFilter,
  paging: Paging,
): Promise<InsightPage> {
  if (hasFilter(filter)) {
    return pageOf(table, project, await soughtIn(table, project, filter), filter, paging);
  }
  const { items, count, cursor } = await readPage(table, ranges.insightsOf(project), paging);
  return { found: await withTiles(table, items), count, cursor };
}

/** An insight that a filter lets through, what decides who sees it and what sorts it. It may be large, and is read for its page. */
interface Sought extends Pick<InsightItem, 'id' | 'created_by'> {
  readonly name: string;
  readonly at: number;
}

async function pageOf(
  table: Table,
  project: number,
  sought: readonly Sought[],
  { deleted = false }: InsightFilter,
  { limit, offset }: Paging,
): Promise<InsightPage> {
  const ids = sought.slice(offset, offset + limit).map(({ id }) => id);
  const [items, tiles] = await Promise.all([
    table.many(ids.map((id) => keys.insight(project, id))),
    Promise.all(ids.map((id) => tilesOfInsight(table, project, id))),
  ]);
  const found = items.flatMap((item, at): InsightWithTiles[] =>
    // One may have been deleted meanwhile, or brought back.
    item === undefined || (item.deleted_at !== null) !== deleted ? [] : [{ item, tiles: tiles[at] ?? [] }],
  );
  return { found, count: sought.length };
}

/** Returns the insights of a project that pass the filter, in their order; without one newest first, of deleted ones the last one. */
async function soughtIn(table: Table, project: number, filter: InsightFilter): Promise<readonly Sought[]> {
  const { order } = filter;
  const found = await passing(table, project, filter);
  if (order === undefined) return found;
  const isByName = order === 'name' || order === '-name';
  const sorted = isByName ? byName(found) : found.toSorted((a, b) => a.at - b.at || a.id - b.id);
  return order.startsWith('-') ? sorted.toReversed() : sorted;
}

/** Returns those that pass. A short id is one read. */
async function passing(table: Table, project: number, filter: InsightFilter): Promise<readonly Sought[]> {
  const { search, short_id, favorited, order, deleted = false } = filter;
  const instant = order?.includes('last_modified_at') === true ? 'last_modified_at' : 'created_at';
  const pick = (item: InsightItem): Sought | undefined => {
    const { id, created_by, name, derived_name, description, tags, favorited: isFavorite = false } = item;
    const texts = [name, derived_name, description, ...(tags === undefined ? [] : fromJsonText(tags))];
    const isSought = (favorited === undefined || isFavorite === favorited) && holdsText(texts, search);
    return isSought ? { id, created_by, name: name ?? '', at: item[instant] } : undefined;
  };
  if (short_id !== undefined) {
    const id = numberOfShortId(short_id);
    const item = id === undefined ? undefined : await table.get(keys.insight(project, id));
    const found = item !== undefined && (item.deleted_at !== null) === deleted ? pick(item) : undefined;
    return found === undefined ? [] : [found];
  }
  if (!deleted) return picked(table, ranges.insightsOf(project), pick);
  const isInsight = isSameKind(keys.insight(project, 0));
  const found = await picked(table, ranges.deletedOf(project), (item) => (isInsight(item) ? pick(item) : undefined));
  return found.toReversed();
}

/** Returns the page for a member: an insight that they may not see is neither listed nor counted. */
export async function insightPageFor(
  table: Table,
  tenant: Tenant,
  read: InsightPage,
  filter: InsightFilter,
  paging: Paging,
): Promise<InsightPage> {
  if (tenant.project === undefined || !mayBeHidden(tenant)) return read;
  const { id: project } = tenant.project;
  const seen = await seenInsights(table, tenant, await soughtIn(table, project, filter));
  return pageOf(table, project, seen, filter, paging);
}
