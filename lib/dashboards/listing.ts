/** Lists of dashboards: a page of the index, or, for a filter or hidden dashboards, a page of all summaries. */
import type { Tenant } from '../accounts/organizations/tenant.ts';
import { type Paging, readPage } from '../http/page.ts';
import { holdsText } from '../http/search.ts';
import { fromJsonText } from '../ports/table/json-text.ts';
import { isSameKind, keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Table } from '../ports/table/table.ts';
import type { DashboardFilter, DashboardItem } from './model.ts';
import { mayBeHidden, maySee } from './rules.ts';

/** The dashboards of one page, and how many there are in all. */
interface DashboardPage {
  readonly items: readonly DashboardItem[];
  readonly count: number;
  readonly cursor?: string | undefined;
}

const hasFilter = (filter: DashboardFilter): boolean => Object.values(filter).some((value) => value !== undefined);

/** Returns the page; or all summaries, when a filter needs them. Who asks is not yet known. */
export async function readListing(
  table: Table,
  project: number,
  filter: DashboardFilter,
  paging: Paging,
): Promise<DashboardPage | DashboardItem[]> {
  if (filter.deleted === true) {
    const deleted = await listAll(table, ranges.deletedOf(project));
    return deleted.filter(isSameKind(keys.dashboard(project, 0))).toReversed();
  }
  const range = ranges.dashboardsOf(project);
  return hasFilter(filter) ? listAll(table, range) : readPage(table, range, paging);
}

/** Returns the page for a member: what a rule hides from them is neither listed nor counted. */
export async function listingFor(
  table: Table,
  tenant: Tenant,
  read: DashboardPage | DashboardItem[],
  filter: DashboardFilter,
  { limit, offset }: Paging,
): Promise<DashboardPage> {
  const { membership, project } = tenant;
  if (!Array.isArray(read) && !mayBeHidden(tenant)) return read;
  const summaries = Array.isArray(read) ? read : await listAll(table, ranges.dashboardsOf(project?.id ?? 0));
  const fitting = summaries.filter((summary) => maySee(summary, membership) && fits(summary, filter));
  const found = sort(fitting, filter.ordering);
  return { items: found.slice(offset, offset + limit), count: found.length };
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

/** Sorts names by the code points of their lower case. What is equal stays as it comes: pinned first, then by name. */
function sort(summaries: readonly DashboardItem[], ordering: DashboardFilter['ordering']): DashboardItem[] {
  if (ordering === undefined) return [...summaries];
  const sign = ordering.startsWith('-') ? -1 : 1;
  switch (ordering.replace('-', '')) {
    case 'created_at':
      return summaries.toSorted((a, b) => sign * (a.created_at - b.created_at || a.id - b.id));
    case 'pinned':
      return summaries.toSorted((a, b) => sign * (Number(a.pinned) - Number(b.pinned)));
    default: {
      const named = summaries.map((summary) => ({ summary, name: Buffer.from(summary.name.toLowerCase()) }));
      const byName = named.toSorted((a, b) => Buffer.compare(a.name, b.name) || a.summary.id - b.summary.id);
      const sorted = byName.map(({ summary }) => summary);
      return sign < 0 ? sorted.toReversed() : sorted;
    }
  }
}
