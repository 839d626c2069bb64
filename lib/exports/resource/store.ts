import type * as z from 'zod';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import { type CursorPage, type Paging, readCursorPage } from '../../http/page.ts';
import { fail } from '../../ports/errors.ts';
import { filtered } from '../../ports/table/filtered.ts';
import { fromJsonText } from '../../ports/table/json-text.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Table } from '../../ports/table/table.ts';
import type { BackfillItem } from '../records/backfills/model.ts';
import { type BatchExport, type BatchExportItem, batchExportObject } from '../records/model.ts';
import { type RunItem, runObject } from '../records/runs/model.ts';
import type { Plan } from '../runs/plan.ts';
import { isOpen } from '../runs/run.ts';
import { backfillWithPlan, type ExportAndPlan } from '../runs/store.ts';
import type { RunQuery } from './rules.ts';

/** Returns what tells exports of the tenant: of the project that the path names, else of any of the organization's. */
function isOf({ organization, project }: Tenant): (item: BatchExportItem | undefined) => item is BatchExportItem {
  const teams = new Set((project === undefined ? fromJsonText(organization.projects) : [project]).map(({ id }) => id));
  return (item): item is BatchExportItem => item !== undefined && item.deleted_at === null && teams.has(item.team_id);
}

/** Returns the export that was read. Fails with 404 when it is not the tenant's. */
export function foundExport(read: BatchExportItem | undefined, tenant: Tenant): BatchExportItem {
  return isOf(tenant)(read) ? read : fail('not_found');
}

/** An export that was read, whoever's it is, and what was read beside it. */
type Beside<T> = readonly [batchExport: BatchExportItem | undefined, beside: T | undefined];

/** Returns an export and what was read beside it. Fails with 404 when one of them is missing, or not the tenant's. */
export function foundBoth<T>([item, beside]: Beside<T>, tenant: Tenant): readonly [BatchExportItem, T] {
  return [foundExport(item, tenant), beside ?? fail('not_found')];
}

/** Returns what was read beside an export. Fails with 404 when one of them is missing, or not the tenant's. */
export function foundBeside<T>(read: Beside<T>, tenant: Tenant): T {
  return foundBoth(read, tenant)[1];
}

/** Returns the tenant's exports among those that were read. */
export function foundExports(read: readonly BatchExportItem[], tenant: Tenant): BatchExportItem[] {
  return read.filter(isOf(tenant));
}

/** Returns an export and its plan. Fails with 404 when it is not the tenant's. */
export const foundWithPlan = (read: ExportAndPlan | undefined, tenant: Tenant): ExportAndPlan =>
  foundBeside([read?.item, read], tenant);

/** Returns an export as stored, whoever's it is: to be given to `foundExport`. */
export async function readExport(table: Table, id: string): Promise<BatchExportItem | undefined> {
  return table.get(keys.batchExport(id));
}

/**
 * Returns the public objects of exports. Their items hold runs as these began or ended, so that a run writes to its
 * export no more often: what has not ended is read, and shown as it is now.
 */
export async function shownExports(
  table: Table,
  items: readonly BatchExportItem[],
): Promise<z.output<typeof BatchExport>[]> {
  const shown = items.map(batchExportObject);
  const open = shown.flatMap(({ latest_runs }) => latest_runs.filter(isOpen));
  if (open.length === 0) return shown;
  const found = await table.many(open.map(({ batch_export, id }) => keys.run(batch_export, id)));
  const now = new Map(found.filter((run) => run !== undefined).map((run) => [run.id, runObject(run)]));
  return shown.map((one) => ({ ...one, latest_runs: one.latest_runs.map((run) => now.get(run.id) ?? run) }));
}

/** Returns the public object of an export, as `shownExports` does. */
export async function shownExport(table: Table, item: BatchExportItem): Promise<z.output<typeof BatchExport>> {
  const [shown = batchExportObject(item)] = await shownExports(table, [item]);
  return shown;
}

/** Returns an export and one of its runs, whoever's they are: to be given to `foundBeside`. */
export async function readRun(table: Table, id: string, runId: string): Promise<Beside<RunItem>> {
  return table.many([keys.batchExport(id), keys.run(id, runId)]);
}

/** Returns an export, and one of its backfills with the plan, whoever's they are: to be given to `foundBoth`. */
export async function readBackfill(
  table: Table,
  id: string,
  backfillId: string,
): Promise<Beside<{ readonly plan: Plan; readonly backfill: BackfillItem }>> {
  const read = await backfillWithPlan(table, { export: id, backfill: backfillId });
  return [read?.item, read];
}

/** Returns a page of an export's runs. */
export async function readRuns(
  table: Table,
  exportId: string,
  { by, newestFirst, from, to, statuses }: RunQuery,
  paging: Paging,
): Promise<CursorPage<RunItem>> {
  const isByCreation = by === 'created_at';
  const range = isByCreation ? ranges.runsByCreation(exportId, from, to) : ranges.runsByInterval(exportId, from, to);
  const isAsked = (run: RunItem): boolean =>
    (isByCreation || run.data_interval_end <= to) && (statuses?.has(run.status) ?? true);
  return readCursorPage(filtered(table, isAsked), { ...range, newestFirst }, paging);
}

/** Returns a page of an export's backfills. */
export async function readBackfills(
  table: Table,
  exportId: string,
  { by, newestFirst }: { by: 'created_at' | 'start_at'; newestFirst: boolean },
  paging: Paging,
): Promise<CursorPage<BackfillItem>> {
  const range = by === 'created_at' ? ranges.backfillsByCreation(exportId) : ranges.backfillsByStart(exportId);
  const all = filtered<BackfillItem>(table, () => true);
  return readCursorPage(all, { ...range, newestFirst }, paging);
}

/** Returns the exports of an organization, newest first, whichever project's: there are so few that they can be held. */
export async function readExports(table: Table, organizationId: string): Promise<BatchExportItem[]> {
  return listAll(table, ranges.exportsOf(organizationId));
}
