/** Dashboards as stored: how they are read, and who of those who ask gets them. */
import type { Tenant } from '../accounts/organizations/tenant.ts';
import { fail, invalid } from '../ports/errors.ts';
import { idsIn, keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Item, Key, Op, Table, Value } from '../ports/table/table.ts';
import type { DashboardDetailItem, DashboardItem, StoredDashboard } from './model.ts';
import { checkCanEdit, checkCanSee } from './rules.ts';

/** A dashboard of the project, whoever asks, deleted or not: to be given to `foundDashboard`. One read. */
export async function readDashboard(table: Table, project: number, id: number): Promise<StoredDashboard | undefined> {
  const items = Map.groupBy(await listAll(table, ranges.ofDashboard(project, id)), idsIn.word);
  const all = <T extends Item>(key: Key<T>) => (items.get(idsIn.word(key)) ?? []) as Item[] as T[];
  const [summary] = all(keys.dashboard(project, id));
  const [detail] = all(keys.dashboardDetail(project, id));
  const [sharing] = all(keys.sharing(project, id));
  if (summary === undefined || detail === undefined || sharing === undefined) return undefined;
  return {
    summary,
    detail,
    sharing,
    tiles: all(keys.tile(project, id, 0)),
    collaborators: all(keys.collaborator(project, id, '')),
    rules: all(keys.accessRule(project, id, '')),
  };
}

/** The summaries of these dashboards that are there and not deleted. No number: no read. */
export async function readSummaries(
  table: Table,
  project: number,
  ids: Iterable<number>,
): Promise<Map<number, DashboardItem>> {
  const asked = [...new Set(ids)];
  if (asked.length === 0) return new Map();
  const found = await table.many(asked.map((id) => keys.dashboard(project, id)));
  return new Map(found.flatMap((summary) => (summary?.deleted_at === null ? [[summary.id, summary] as const] : [])));
}

/** The dashboard, if it is there for the member: else 404, or 403 when a rule closes it to him. */
export function foundDashboard(read: StoredDashboard | undefined, { membership }: Tenant): StoredDashboard {
  if (read?.summary.deleted_at !== null) fail('not_found');
  checkCanSee(read.summary, membership);
  return read;
}

/** The dashboard, if the member may edit it; else 404 or 403. */
export function foundDashboardToEdit(read: StoredDashboard | undefined, tenant: Tenant): StoredDashboard {
  const found = foundDashboard(read, tenant);
  checkCanEdit(found.summary, tenant.membership);
  return found;
}

/** As `foundDashboardToEdit`, but a deleted one is found too: a PATCH may bring it back. */
export function foundDashboardToChange(read: StoredDashboard | undefined, { membership }: Tenant): StoredDashboard {
  if (read === undefined) fail('not_found');
  checkCanEdit(read.summary, membership);
  return read;
}

/** How a path names a dashboard. */
export interface DashboardPath {
  readonly project_id: number;
  readonly id: number;
}

/** How an entry of the activity log names a dashboard. */
export const aboutDashboard = ({ id, name, project_id: project }: DashboardItem) =>
  ({ scope: 'Dashboard', id, name, project }) as const;

/** The summary, whoever asks, deleted or not: to be given to `foundSummary`. */
export async function readSummary(table: Table, { project_id, id }: DashboardPath): Promise<Item | undefined> {
  return table.get(keys.dashboard(project_id, id));
}

/** The summary that was read, if the dashboard is there for the member; else 404, or 403 when a rule closes it to him. */
export function foundSummary(read: Item | undefined, { membership }: Tenant): DashboardItem {
  const summary = read as DashboardItem | undefined;
  if (summary?.deleted_at !== null) fail('not_found', 'Dashboard not found.');
  checkCanSee(summary, membership);
  return summary;
}

/** The summary, if the member may edit the dashboard; else 404 or 403. */
export function foundSummaryToEdit(read: Item | undefined, tenant: Tenant): DashboardItem {
  const summary = foundSummary(read, tenant);
  checkCanEdit(summary, tenant.membership);
  return summary;
}

/**
 * Changes fields of the summary in the transaction of what they follow from; null takes one away. Refused when the
 * dashboard was deleted meanwhile. What an answer shows changes, so the version does.
 */
export function summaryOp({ project_id, id }: DashboardPath, fields: Readonly<Record<string, Value>>): Op {
  const entries = Object.entries(fields);
  const kept = entries.filter(([, value]) => value !== null);
  const gone = entries.filter(([, value]) => value === null).map(([name]) => name);
  return {
    change: keys.dashboard(project_id, id),
    ...(kept.length === 0 ? {} : { set: Object.fromEntries(kept) }),
    ...(gone.length === 0 ? {} : { unset: gone }),
    add: { ver: 1 },
    if: { is: { id, deleted_at: null } },
  };
}

/** Bytes that a stored object may hold (decisions: 300 KB). */
const MAX_BYTES = 300 * 1024;

/** 400 when what is written is too large to be stored. */
export function checkDashboardSize(...written: readonly (DashboardItem | DashboardDetailItem)[]): void {
  if (written.some((item) => Buffer.byteLength(JSON.stringify(item)) > MAX_BYTES)) {
    invalid(null, `A dashboard may hold at most ${MAX_BYTES / 1024} KB.`);
  }
}
