/** Lists of dashboards: a page of the index, or, where something is asked for or hidden, of all heads. */

import { LEVELS } from '../accounts/organizations/model.ts';
import { readPage } from '../http/page.ts';
import type { Paging, Tenant } from '../http/request.ts';
import { ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Table } from '../ports/table/table.ts';
import type { DashboardFilter, DashboardItem } from './model.ts';
import { type Member, maySee } from './rules.ts';

/** Dashboards of one page, and how many there are in all. */
export interface Listed {
  readonly items: readonly DashboardItem[];
  readonly count: number;
  readonly cursor?: string | undefined;
}

const isAnythingAsked = (filter: DashboardFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined);

/** The page, as far as it can be read without knowing who asks; undefined: all heads are needed. */
export async function readListing(
  table: Table,
  project: number,
  filter: DashboardFilter,
  paging: Paging,
): Promise<Listed | DashboardItem[]> {
  if (isAnythingAsked(filter)) return readAll(table, project);
  return (await readPage(table, ranges.dashboardsOf(project), paging)) as unknown as Listed;
}

async function readAll(table: Table, project: number): Promise<DashboardItem[]> {
  return (await listAll(table, ranges.dashboardsOf(project))) as DashboardItem[];
}

/** The page for this member: what a rule hides from him is neither listed nor counted. */
export async function listedFor(
  table: Table,
  { membership, project }: Tenant,
  read: Listed | DashboardItem[],
  filter: DashboardFilter,
  { limit, offset }: Paging,
): Promise<Listed> {
  const mayMiss = project?.hides_dashboards === true && membership.level < LEVELS.admin;
  if (!Array.isArray(read) && !mayMiss) return read;
  const heads = Array.isArray(read) ? read : await readAll(table, project?.id ?? 0);
  const found = arranged(heads, membership, filter);
  return { items: found.slice(offset, offset + limit), count: found.length };
}

/** The heads that are asked for and not hidden, in the order that is asked for. They come pinned first, then by name. */
export function arranged(heads: readonly DashboardItem[], member: Member, filter: DashboardFilter): DashboardItem[] {
  return ordered(
    heads.filter((head) => maySee(head, member) && isAsked(head, filter)),
    filter.ordering,
  );
}

function isAsked(head: DashboardItem, filter: DashboardFilter): boolean {
  const { search = '', tags = [], creation_mode, pinned, created_by } = filter;
  const sought = search.toLowerCase();
  const isFound = head.name.toLowerCase().includes(sought) || head.description.toLowerCase().includes(sought);
  return (
    isFound &&
    (tags.length === 0 || hasAny(head, tags)) &&
    (creation_mode === undefined || head.creation_mode === creation_mode) &&
    (pinned === undefined || head.pinned === pinned) &&
    (created_by === undefined || head.created_by === created_by)
  );
}

function hasAny(head: DashboardItem, tags: readonly string[]): boolean {
  const held = new Set(JSON.parse(head.tags) as string[]);
  return tags.some((tag) => held.has(tag.toLowerCase()));
}

/** Names by the code points of their lower case; sorts are stable: what is equal stays pinned first, then by name. */
function ordered(heads: readonly DashboardItem[], ordering: DashboardFilter['ordering']): DashboardItem[] {
  if (ordering === undefined) return [...heads];
  const sign = ordering.startsWith('-') ? -1 : 1;
  switch (ordering.replace('-', '')) {
    case 'created_at':
      return heads.toSorted((a, b) => sign * (a.created_at - b.created_at || a.id - b.id));
    case 'pinned':
      return heads.toSorted((a, b) => sign * (Number(a.pinned) - Number(b.pinned)));
    default: {
      const named = heads.map((head) => ({ head, name: Buffer.from(head.name.toLowerCase()) }));
      const byName = named.toSorted((a, b) => Buffer.compare(a.name, b.name) || a.head.id - b.head.id);
      const sorted = byName.map(({ head }) => head);
      return sign < 0 ? sorted.toReversed() : sorted;
    }
  }
}
