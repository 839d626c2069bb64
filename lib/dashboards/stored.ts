/** Dashboards as stored: how they are read, and who of those who ask gets them. */
import type { Tenant } from '../accounts/organizations/tenant.ts';
import { fail, invalid } from '../ports/errors.ts';
import { idsIn, keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Item, Key, Table } from '../ports/table/table.ts';
import type { DashboardDetailItem, DashboardItem, StoredDashboard } from './model.ts';
import { checkCanEdit, checkCanSee } from './rules.ts';

/** A dashboard of the project, whoever asks, deleted or not: to be given to `foundDashboard`. One read. */
export async function readDashboard(table: Table, project: number, id: number): Promise<StoredDashboard | undefined> {
  const items = Map.groupBy(await listAll(table, ranges.ofDashboard(project, id)), idsIn.word);
  const all = <T extends Item>(key: Key<T>) => (items.get(idsIn.word(key)) ?? []) as Item[] as T[];
  const [head] = all(keys.dashboard(project, id));
  const [detail] = all(keys.dashboardDetail(project, id));
  const [sharing] = all(keys.sharing(project, id));
  if (head === undefined || detail === undefined || sharing === undefined) return undefined;
  return {
    head,
    detail,
    sharing,
    tiles: all(keys.tile(project, id, 0)),
    collaborators: all(keys.collaborator(project, id, '')),
    rules: all(keys.accessRule(project, id, '')),
  };
}

/** The heads of these dashboards that are there and not deleted. No number: no read. */
export async function readHeads(
  table: Table,
  project: number,
  ids: Iterable<number>,
): Promise<Map<number, DashboardItem>> {
  const asked = [...new Set(ids)];
  if (asked.length === 0) return new Map();
  const found = (await table.many(asked.map((id) => keys.dashboard(project, id)))) as (DashboardItem | undefined)[];
  return new Map(found.flatMap((head) => (head?.deleted_at === null ? [[head.id, head] as const] : [])));
}

/** The dashboard, if it is there for the member: else 404, or 403 when a rule closes it to him. */
export function foundDashboard(read: StoredDashboard | undefined, { membership }: Tenant): StoredDashboard {
  if (read?.head.deleted_at !== null) fail('not_found');
  checkCanSee(read.head, membership);
  return read;
}

/** The dashboard, if the member may edit it; else 404 or 403. */
export function foundToEdit(read: StoredDashboard | undefined, tenant: Tenant): StoredDashboard {
  const found = foundDashboard(read, tenant);
  checkCanEdit(found.head, tenant.membership);
  return found;
}

/** As `foundToEdit`, but a deleted one is found too: a PATCH may bring it back. */
export function foundToChange(read: StoredDashboard | undefined, { membership }: Tenant): StoredDashboard {
  if (read === undefined) fail('not_found');
  checkCanEdit(read.head, membership);
  return read;
}

/** Bytes that a stored object may hold (decisions: 300 KB). */
const MAX_BYTES = 300 * 1024;

/** 400 when what is written is too large to be stored. */
export function checkDashboardSize(...written: readonly (DashboardItem | DashboardDetailItem)[]): void {
  if (written.some((item) => Buffer.byteLength(JSON.stringify(item)) > MAX_BYTES)) {
    invalid(null, `A dashboard may hold at most ${MAX_BYTES / 1024} KB.`);
  }
}
