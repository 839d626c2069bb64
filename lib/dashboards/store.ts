/** Reads dashboards and their summaries, and gives them to those who may have them. */
import type { Tenant } from '../accounts/organizations/tenant.ts';
import { fail, invalid } from '../ports/errors.ts';
import { idsIn, keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Item, Key, Op, Table, Value } from '../ports/table/table.ts';
import type { DashboardDetailItem, DashboardItem, StoredDashboard } from './model.ts';
import { checkCanEdit, checkCanSee } from './rules.ts';

/** Reads a dashboard of the project, whoever asks, deleted or not, for `foundDashboard`. One read. */
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

/** Returns the summaries of these dashboards, deleted ones too, by number. Without a number it reads nothing. */
export async function readAllSummaries(
  table: Table,
  project: number,
  ids: Iterable<number>,
): Promise<Map<number, DashboardItem>> {
  const asked = [...new Set(ids)];
  if (asked.length === 0) return new Map();
  const found = await table.many(asked.map((id) => keys.dashboard(project, id)));
  return new Map(found.flatMap((summary) => (summary === undefined ? [] : [[summary.id, summary] as const])));
}

/** Returns the summaries of these dashboards that are not deleted, by number. Without a number it reads nothing. */
export async function readSummaries(
  table: Table,
  project: number,
  ids: Iterable<number>,
): Promise<Map<number, DashboardItem>> {
  return new Map(
    [...(await readAllSummaries(table, project, ids))].filter(([, { deleted_at }]) => deleted_at === null),
  );
}

/** Returns the dashboard. Throws a 404 when it is not there, and a 403 when a rule closes it to the member. */
export function foundDashboard(read: StoredDashboard | undefined, { membership }: Tenant): StoredDashboard {
  if (read?.summary.deleted_at !== null) fail('not_found');
  checkCanSee(read.summary, membership);
  return read;
}

/** Returns the dashboard. Throws as `foundDashboard`, and a 403 when the member may not edit it. */
export function foundDashboardToEdit(read: StoredDashboard | undefined, tenant: Tenant): StoredDashboard {
  const found = foundDashboard(read, tenant);
  checkCanEdit(found.summary, tenant.membership);
  return found;
}

/** Does as `foundDashboardToEdit`, but finds a deleted one too: a PATCH may bring it back. */
export function foundDashboardToChange(read: StoredDashboard | undefined, { membership }: Tenant): StoredDashboard {
  if (read === undefined) fail('not_found');
  checkCanEdit(read.summary, membership);
  return read;
}

/** The parameters by which a path names a dashboard. */
export interface DashboardPath {
  readonly project_id: number;
  readonly id: number;
}

/** Returns how an entry of the activity log names a dashboard. */
export const aboutDashboard = ({ id, name, project_id: project }: DashboardItem) =>
  ({ scope: 'Dashboard', id, name, project }) as const;

/** Reads the summary, whoever asks, deleted or not, for `foundSummary`. */
export async function readSummary(table: Table, { project_id, id }: DashboardPath): Promise<DashboardItem | undefined> {
  return table.get(keys.dashboard(project_id, id));
}

/** Returns the summary that was read. Throws a 404 when it is not there, a 403 when a rule closes it to the member. */
export function foundSummary(summary: DashboardItem | undefined, { membership }: Tenant): DashboardItem {
  if (summary?.deleted_at !== null) fail('not_found', 'Dashboard not found.');
  checkCanSee(summary, membership);
  return summary;
}

/** Returns the summary. Throws as `foundSummary`, and a 403 when the member may not edit the dashboard. */
export function foundSummaryToEdit(read: DashboardItem | undefined, tenant: Tenant): DashboardItem {
  const summary = foundSummary(read, tenant);
  checkCanEdit(summary, tenant.membership);
  return summary;
}

/**
 * Returns the op that changes fields of the summary, for the transaction of what they follow from; null takes one away.
 * The write throws `Refused` when the dashboard was deleted meanwhile. The version changes, for an answer shows these
 * fields.
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

/** A stored object holds at most so many bytes. */
const MAX_BYTES = 300 * 1024;

/** Throws a 400 when what is written is too large to be stored. */
export function checkDashboardSize(...written: readonly (DashboardItem | DashboardDetailItem)[]): void {
  if (written.some((item) => Buffer.byteLength(JSON.stringify(item)) > MAX_BYTES)) {
    invalid(null, `A dashboard may hold at most ${MAX_BYTES / 1024} KiB.`);
  }
}
