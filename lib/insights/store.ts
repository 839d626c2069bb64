/** Makes, reads, changes, deletes and restores insights by themselves, without the tiles that show them. */
import type * as z from 'zod';
import type { Change } from '../accounts/activity/model.ts';
import { changesOf, type LoggedFields } from '../accounts/activity/rules.ts';
import { definedOf } from '../basics/defined.ts';
import { tagTexts } from '../http/tags.ts';
import { toJsonText } from '../ports/table/json-text.ts';
import { keys, places } from '../ports/table/keys.ts';
import type { Op, Table, Value } from '../ports/table/table.ts';
import type { InsightInput, InsightItem, InsightPatch } from './model.ts';
import { checkInsightSize, hasFiltersAlone, refuseFiltersAlone } from './rules.ts';

/** What an insight is made of, as it is stored. */
export type NewInsight = Pick<
  InsightItem,
  'name' | 'derived_name' | 'description' | 'query' | 'filters' | 'tags' | 'favorited' | 'created_by'
>;

/** Where an insight is made, its number, and when. */
interface InsightPlace {
  readonly project: number;
  readonly id: number;
  readonly now: number;
}

/** Returns a new insight, which is not yet written. */
export function insightItem({ project, id, now }: InsightPlace, fields: NewInsight): InsightItem {
  const { name, description, query, filters, created_by } = fields;
  const { derived_name = null, tags = toJsonText([]), favorited = false } = fields;
  return {
    ...keys.insight(project, id),
    ...places.insightOf(project, now, id),
    id,
    project_id: project,
    name,
    derived_name,
    description,
    query,
    filters,
    tags,
    favorited,
    created_at: now,
    created_by,
    last_modified_at: now,
    last_modified_by: created_by,
    deleted_at: null,
    deleted_with: null,
    ver: 1,
  };
}

/** Returns the insights of these numbers that are there, deleted ones too. Without a number it reads nothing. */
export async function readInsights(
  table: Table,
  project: number,
  ids: Iterable<number>,
): Promise<Map<number, InsightItem>> {
  const asked = [...new Set(ids)];
  if (asked.length === 0) return new Map();
  const found = await table.many(asked.map((id) => keys.insight(project, id)));
  return new Map(found.filter((item) => item !== undefined).map((item) => [item.id, item]));
}

/** Returns the insight as it is when deleted; `dashboard`: with that one. */
export function deletedInsight(item: InsightItem, now: number, dashboard: number | null): InsightItem {
  return {
    ...item,
    ...places.deletedInsightOf(item.project_id, now, item.id),
    deleted_at: now,
    deleted_with: dashboard,
    ver: item.ver + 1,
  };
}

/** Returns the insight as it is when brought back. */
export function restoredInsight(item: InsightItem): InsightItem {
  return {
    ...item,
    ...places.insightOf(item.project_id, item.created_at, item.id),
    deleted_at: null,
    deleted_with: null,
    ver: item.ver + 1,
  };
}

/** Returns what a deletion or a return sets, of the insight as it is then. */
function deletionSet(after: InsightItem) {
  const { first_pk = '', first_sk = '', second_pk = '', second_sk = '', deleted_at, deleted_with } = after;
  return { first_pk, first_sk, second_pk, second_sk, deleted_at, deleted_with };
}

/** Returns the op that deletes an insight, or brings it back. Its write throws `Refused` when that was done already. */
export function deletionOp(before: InsightItem, after: InsightItem): Op {
  return {
    change: keys.insight(before.project_id, before.id),
    set: deletionSet(after),
    add: { ver: 1 },
    if: { is: { id: before.id, deleted_at: before.deleted_at } },
  };
}

/** Returns the insight that a caller's input makes, which is not yet written. Throws a 400 when it is too large. */
export function newInsight(place: InsightPlace, input: z.output<typeof InsightInput>, by: string): InsightItem {
  const { name = null, derived_name = null, description = '', query = null, filters = {}, deleted = false } = input;
  const { tags = [], favorited = false } = input;
  const made = insightItem(place, {
    name,
    derived_name,
    description,
    query: query === null ? null : JSON.stringify(query),
    filters: JSON.stringify(filters),
    tags: tagTexts(tags),
    favorited,
    created_by: by,
  });
  refuseFiltersAlone(made);
  const item: InsightItem = deleted ? { ...deletedInsight(made, place.now, null), ver: made.ver } : made;
  checkInsightSize(item);
  return item;
}

/** Returns how an entry of the activity log names an insight. */
export const aboutInsight = ({ id, name, project_id: project }: InsightItem) =>
  ({ scope: 'Insight', id, name, project }) as const;

/** The fields whose changes the activity log shows. */
const LOGGED_FIELDS: LoggedFields = {
  name: 'plain',
  derived_name: 'plain',
  description: 'plain',
  query: 'json',
  filters: 'json',
  tags: 'json',
  favorited: 'plain',
};

/**
 * Returns what a PATCH sets of an insight (its place in the indexes too, when that changes), and its changes for the
 * activity log. Throws a 400 when the insight becomes too large.
 */
export function insightChange(
  item: InsightItem,
  { name, derived_name, description, query, filters, tags, favorited, deleted }: z.output<typeof InsightPatch>,
  { by, now }: { by: string; now: number },
): { readonly set: Readonly<Record<string, Value>>; readonly changes: readonly Change[] } {
  const moved =
    deleted === undefined ? {} : deletionSet(deleted ? deletedInsight(item, now, null) : restoredInsight(item));
  const set = {
    ...definedOf({ name, derived_name, description, favorited }),
    ...definedOf({ query: query && JSON.stringify(query), filters: filters && JSON.stringify(filters) }),
    ...definedOf({ tags: tags && tagTexts(tags) }),
    ...moved,
    last_modified_at: now,
    last_modified_by: by,
  };
  // Where they were alone before, whoever sends the whole back changes something else.
  if (!hasFiltersAlone(item)) refuseFiltersAlone({ ...item, ...set });
  checkInsightSize({ ...item, ...set });
  return { set, changes: changesOf(item, set, LOGGED_FIELDS) };
}
