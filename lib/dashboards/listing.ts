/** Lists of dashboards: a page of the index, or, for a filter or hidden dashboards, one of all that may be listed. */
import { placeIn } from '../accounts/organizations/projects/store.ts';
import type { Tenant } from '../accounts/organizations/tenant.ts';
import { type Paging, readPage } from '../http/page.ts';
import { holdsText } from '../http/search.ts';
import { fromJsonText } from '../ports/table/json-text.ts';
import { isSameKind, keys, ranges } from '../ports/table/keys.ts';
import { picked } from '../ports/table/list-all.ts';
import type { Table } from '../ports/table/table.ts';
import type { DashboardFilter, DashboardItem } from './model.ts';
import { mayBeHidden, maySee } from './rules.ts';

/** The dashboards of one page, and how many there are in all. */
interface DashboardPage {
  readonly items: readonly DashboardItem[];
  readonly count: number;
  readonly cursor?: string | undefined;
}

/** Returns whether a filter asks for something. */
export const hasFilter = (filter: object): boolean => Object.values(filter).some((value) => value !== undefined);

/** A dashboard that a filter lets through: what sorts it. Its summary may be large, and is read for its page. */
type Sought = Pick<DashboardItem, 'id' | 'name' | 'pinned' | 'created_at'>;

/** Returns a page of a project's dashboards, and how many there are in all. Who asks is not yet known. */
export async function readListing(
  table: Table,
  project: number,
  filter: DashboardFilter,
  paging: Paging,
): Promise<DashboardPage> {
  return hasFilter(filter)
    ? pageOf(table, project, await soughtIn(table, project, filter), filter, paging)
    : readPage(table, ranges.dashboardsOf(project), paging);
}

/** Returns the page for a member: what a rule hides from them is neither listed nor counted. */
export async function listingFor(
  table: Table,
  tenant: Tenant,
  read: DashboardPage,
  filter: DashboardFilter,
  paging: Paging,
): Promise<DashboardPage> {
  if (!mayBeHidden(tenant)) return read;
  const { project, membership } = placeIn(tenant);
  const sought = await soughtIn(table, project.id, filter, (summary) => maySee(summary, membership));
  return pageOf(table, project.id, sought, filter, paging);
}

async function pageOf(
  table: Table,
  project: number,
  sought: readonly Sought[],
  { deleted = false, ordering }: DashboardFilter,
  { limit, offset }: Paging,
): Promise<DashboardPage> {
  const ofPage = sort(sought, ordering).slice(offset, offset + limit);
  const summaries = await table.many(ofPage.map(({ id }) => keys.dashboard(project, id)));
  // One may have been deleted meanwhile, or brought back.
  const items = summaries.flatMap((one) => (one === undefined || (one.deleted_at !== null) !== deleted ? [] : [one]));
  return { items, count: sought.length };
}

/** Returns the dashboards that pass the filter and are there: in their order, of deleted ones the last one first. */
async function soughtIn(
  table: Table,
  project: number,
  filter: DashboardFilter,
  isThere: (summary: DashboardItem) => boolean = () => true,
): Promise<Sought[]> {
  const pick = (summary: DashboardItem): Sought | undefined => {
    const { id, name, pinned, created_at } = summary;
    return isThere(summary) && fits(summary, filter) ? { id, name, pinned, created_at } : undefined;
  };
  if (filter.deleted !== true) return picked(table, ranges.dashboardsOf(project), pick);
  const isDashboard = isSameKind(keys.dashboard(project, 0));
  const found = await picked(table, ranges.deletedOf(project), (item) => (isDashboard(item) ? pick(item) : undefined));
  return found.toReversed();
}

function fits(summary: DashboardItem, filter: DashboardFilter): boolean {
  const { search, tags = [], creation_mode, pinned, created_by } = filter;
  return (
    holdsText([summary.name, summary.description], search) &&
    (tags.length === 0 || hasAny(summary, tags)) &&
    (creation_mode === undefined || summary.creation_mode === creation_mode) &&
    (pinned === undefined || summary.pinned === pinned) &&
    (created_by === undefined || summary.created_by === created_by)
  );
}

function hasAny(summary: DashboardItem, tags: readonly string[]): boolean {
  const held = new Set(fromJsonText(summary.tags));
  return tags.some((tag) => held.has(tag.toLowerCase()));
}

/** Returns them in the order that is asked for. What is equal stays as it comes: pinned first, then by name. */
function sort(summaries: readonly Sought[], ordering: DashboardFilter['ordering']): Sought[] {
  if (ordering === undefined) return [...summaries];
  const sign = ordering.startsWith('-') ? -1 : 1;
  switch (ordering.replace('-', '')) {
    case 'created_at':
      return summaries.toSorted((a, b) => sign * (a.created_at - b.created_at || a.id - b.id));
    case 'pinned':
      return summaries.toSorted((a, b) => sign * (Number(a.pinned) - Number(b.pinned)));
    default: {
      const sorted = byName(summaries);
      return sign < 0 ? sorted.toReversed() : sorted;
    }
  }
}

/** Sorts by the code points of the lower case of names; of equal ones, what was made first comes first. */
export function byName<T extends { readonly id: number; readonly name: string }>(items: readonly T[]): T[] {
  const named = items.map((item) => ({ item, name: Buffer.from(item.name.toLowerCase()) }));
  return named.toSorted((a, b) => Buffer.compare(a.name, b.name) || a.item.id - b.item.id).map(({ item }) => item);
}
