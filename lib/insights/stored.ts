/** Insights as stored: how one is made, read by its number, deleted and brought back. */
import { idsIn, keys, places, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Key, Op, Table } from '../ports/table/table.ts';
import type { InsightItem } from './model.ts';

/** A new insight, not yet written. */
export function insightItem(
  { project, id, now }: { project: number; id: number; now: number },
  fields: Pick<InsightItem, 'name' | 'description' | 'query' | 'filters' | 'created_by'>,
): InsightItem {
  const { name, description, query, filters, created_by } = fields;
  return {
    ...keys.insight(project, id),
    ...places.insightOf(project, now, id),
    id,
    project_id: project,
    name,
    description,
    query,
    filters,
    created_at: now,
    created_by,
    last_modified_at: now,
    last_modified_by: created_by,
    deleted_at: null,
    deleted_with: null,
    ver: 1,
  };
}

/** The insights of these numbers that are there, deleted ones too. No number: no read. */
export async function readInsights(
  table: Table,
  project: number,
  ids: Iterable<number>,
): Promise<Map<number, InsightItem>> {
  const asked = [...new Set(ids)];
  if (asked.length === 0) return new Map();
  const found = (await table.many(asked.map((id) => keys.insight(project, id)))) as (InsightItem | undefined)[];
  return new Map(found.filter((item) => item !== undefined).map((item) => [item.id, item]));
}

/** The insight as deleted; `dashboard`: with that one. */
export function deletedInsight(item: InsightItem, now: number, dashboard: number | null): InsightItem {
  return {
    ...item,
    ...places.deletedInsightOf(item.project_id, now, item.id),
    deleted_at: now,
    deleted_with: dashboard,
    ver: item.ver + 1,
  };
}

/** The insight as brought back. */
export function restoredInsight(item: InsightItem): InsightItem {
  return {
    ...item,
    ...places.insightOf(item.project_id, item.created_at, item.id),
    deleted_at: null,
    deleted_with: null,
    ver: item.ver + 1,
  };
}

/** What is set when an insight becomes this one by a deletion or a return. */
export function deletionSet(after: InsightItem) {
  const { first_pk = '', first_sk = '', second_pk = '', second_sk = '', deleted_at, deleted_with } = after;
  return { first_pk, first_sk, second_pk, second_sk, deleted_at, deleted_with };
}

/** Writes that an insight is deleted, or brought back, if it still is what it was. */
export function deletionOp(before: InsightItem, after: InsightItem): Op {
  return {
    change: keys.insight(before.project_id, before.id),
    set: deletionSet(after),
    add: { ver: 1 },
    if: { is: { id: before.id, deleted_at: before.deleted_at } },
  };
}

/** The keys of the tiles that show an insight, those of deleted dashboards too. One read, of an index. */
export async function tilesShowing(table: Table, project: number, insight: number): Promise<Key[]> {
  const found = await listAll(table, ranges.tilesOf(project, insight));
  return found.map(({ pk, sk }) => ({ pk, sk }));
}

/** The numbers of the dashboards that have these tiles, each once. */
export function dashboardsWith(tiles: readonly Key[]): number[] {
  return [...new Set(tiles.map((tile) => idsIn.ofProject(tile).id))];
}
