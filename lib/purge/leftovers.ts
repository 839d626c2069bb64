/**
 * Finds what is left of a deleted organization or project, down a fixed tree, and removes it. Every walk finds it anew,
 * and what is below goes before the item by which it is found: so a purge can die anywhere, and holds little in memory.
 *
 * The following ends by itself: idempotency records (a day), notices of failures and messages (their next try finds
 * nobody whose they are), the execution of the purge itself (7 days in a data directory), executions on AWS (90 days). The
 * activity log of an organization goes with it; its entries about a deleted project stay as long as the rest.
 */

import { dirname } from 'node:path/posix';
import { systemActivityOps } from '../accounts/activity/ops.ts';
import { tokensOf } from '../accounts/organizations/projects/store.ts';
import { type DeletedPlaces, keysOfUsers, removeLimits } from '../accounts/personal-api-keys/store.ts';
import { HOUR_MS } from '../basics/units.ts';
import type { BatchExportItem } from '../exports/records/model.ts';
import { destroyBatchExport } from '../exports/resource/change.ts';
import { stopExport } from '../exports/runs/cancel.ts';
import { exportWithPlan } from '../exports/runs/store.ts';
import { importsOf } from '../imports/spool.ts';
import { jobOps } from '../jobs/job.ts';
import { projectFolders } from '../lake/catalog.ts';
import { compactionJob } from '../lake/compaction-job.ts';
import { personDeletionJob } from '../lake/import/person-deletions.ts';
import { dueOps, type NotifierKind } from '../notifications/notifier.ts';
import type { Context } from '../ports/context.ts';
import type { FileStore } from '../ports/files/files.ts';
import { idsIn, isSameKind, keys, ranges } from '../ports/table/keys.ts';
import { pagesOf } from '../ports/table/list-all.ts';
import { type Item, type Key, type Op, type Range, Refused, type Table } from '../ports/table/table.ts';

/** The organization or project that was deleted. */
export interface DeletedTenant {
  readonly organization: string;
  /** Null: the whole organization. */
  readonly project: number | null;
  /** Whether requests and steps that were under way at the deletion have ended. */
  readonly isSettled: boolean;
  /** The items that are removed when nothing else is left. */
  readonly root: readonly Key[];
}

/** Yields once for each piece that was left and has been removed, or at least stopped. */
type Removals = AsyncGenerator<void, void>;

/** Yields the same as `removals`, and returns whether there was any. */
async function* anyOf(removals: Removals): AsyncGenerator<void, boolean> {
  let isFound = false;
  for await (const _ of removals) {
    isFound = true;
    yield;
  }
  return isFound;
}

/** So many items are read and removed at a time: the largest have 100 KB. */
const PAGE_SIZE = 100;

/** Removes what is left of what was deleted, piece by piece. */
export async function* removeLeftovers(context: Context, deleted: DeletedTenant): Removals {
  const { table } = context;
  const { organization, project, isSettled } = deleted;
  yield* removeExports(context, deleted);
  if (project !== null) {
    yield* removeFromKeys(context, { organization: null, projects: [project] });
    yield* removeProjectContent(context, project);
    return;
  }
  const projects: number[] = [];
  for await (const items of presentIn(table, ranges.projectsOf(organization))) {
    projects.push(...items.map(({ id }) => id));
    // Before what they hold: as long as SDKs can send, each walk finds something new.
    for (const token of items.flatMap(tokensOf)) yield* removeRoot(table, keys.projectToken(token));
  }
  yield* removeFromKeys(context, { organization, projects });
  for (const id of projects) yield* removeProject(context, id, isSettled);
  yield* removeRange(table, ranges.membersOf(organization));
  yield* removeRange(table, ranges.invitationsOf(organization));
  yield* removeRange(table, ranges.activityOf(organization));
  yield* forgetExecutions(context, organization);
}

/** Yields the items of a range page by page, as they are: an index may still show what is gone. */
async function* presentIn<T extends Item>(table: Table, range: Range<T>): AsyncGenerator<T[], void> {
  for await (const found of pagesOf(table, range, PAGE_SIZE)) {
    const items = range.index === undefined ? found : await table.many<readonly Key<T>[]>(found);
    yield items.filter((item) => item !== undefined);
  }
}

async function remove(table: Table, found: readonly Key[], also: readonly Op[] = []): Promise<void> {
  await table.write([...found.map(({ pk, sk }): Op => ({ remove: { pk, sk } })), ...also], { apart: true });
}

/** Removes whatever a range holds, but for the item by which the rest is found. */
async function* removeRange(table: Table, range: Range, but?: Key): Removals {
  for await (const items of presentIn(table, range)) {
    const found = items.filter(({ pk, sk }) => pk !== but?.pk || sk !== but.sk);
    if (found.length === 0) continue;
    await remove(table, found);
    yield;
  }
}

/** Removes one item, if it is there: that by which the rest was found, when the rest is gone. */
async function* removeRoot(table: Table, key: Key): Removals {
  if ((await table.get(key)) === undefined) return;
  await remove(table, [key]);
  yield;
}

async function* removeExports(context: Context, { organization, project }: DeletedTenant): Removals {
  const { table } = context;
  // What is stopped here comes after what was stopped before: its runs have until the next walk to end.
  for (const range of [ranges.deletedExportsOf(organization), ranges.exportsOf(organization)]) {
    for await (const items of presentIn(table, range)) {
      for (const item of items) {
        if ((project ?? item.team_id) === item.team_id) yield* removeExport(context, item);
      }
    }
  }
}

/** A deleted export may go on committing so long: a step has 15 minutes, and its machine tries again. */
const COMMIT_TIMEOUT_MS = HOUR_MS;

/**
 * Stops an export; a later walk removes it. By its item all is found that a run which was given up may still write, so
 * it goes when a walk has found nothing else of it.
 */
async function* removeExport(context: Context, item: BatchExportItem): Removals {
  const { table, clock } = context;
  if (item.deleted_at === null) {
    await destroyBatchExport(context, item, undefined, systemActivityOps(context, item.organization_id)).catch(
      ignoreRefusal,
    );
    yield;
    return;
  }
  if (await isStillRunning(context, item)) {
    yield;
    if (clock() < item.deleted_at + COMMIT_TIMEOUT_MS) return;
  }
  if (yield* anyOf(removeBelowExport(context, item))) return;
  await remove(table, [item], jobOps('export', item.id, null));
  yield;
}

async function isStillRunning(context: Context, item: BatchExportItem): Promise<boolean> {
  const isRunning = async () => {
    const read = await exportWithPlan(context.table, item.id);
    return read !== undefined && read.plan.active.length + read.plan.claimed.length > 0;
  };
  if (!(await isRunning())) return false;
  await stopExport(context, item);
  return isRunning();
}

async function* removeBelowExport(context: Context, { id }: BatchExportItem): Removals {
  const { table, runFiles } = context;
  for await (const items of presentIn(table, ranges.ofExport(id))) {
    const found = items.filter(({ sk }) => sk !== keys.batchExport(id).sk);
    if (found.length === 0) continue;
    const runs = found.filter(isSameKind(keys.run(id, '')));
    const backfills = found.filter(isSameKind(keys.backfill(id, '')));
    for (const attempt of new Set(runs.map((run) => run.attempt))) await runFiles.remove(`${attempt}/`);
    const retried = runs.filter(({ latest_error }) => latest_error !== null);
    for (const one of [...retried, ...backfills]) yield* forgetExecutions(context, one.id);
    await remove(table, found, [
      ...runs.flatMap((run) => jobOps('retry', run.id, null)),
      ...backfills.flatMap((backfill) => jobOps('backfill', backfill.id, null)),
    ]);
    yield;
  }
  yield* removeRange(table, ranges.logLines(id));
  yield* forgetExecutions(context, id);
}

/** Makes the engine forget the executions on behalf of an object: their names begin with its id. */
async function* forgetExecutions({ workflow }: Context, id: string): Removals {
  while (await workflow.forget(id)) yield;
}

/** Removes a project that went with its organization. Its item, by which keys limited to it are found, goes later. */
async function* removeProject(context: Context, id: number, isSettled: boolean): Removals {
  const isFound = yield* anyOf(removeProjectContent(context, id));
  if (isFound || !isSettled) return;
  await remove(context.table, [keys.project(id)], jobOps('purge', String(id), null));
  yield;
}

async function* removeProjectContent(context: Context, id: number): Removals {
  const { table, lake, imports } = context;
  for (const range of [ranges.dashboardsOf(id), ranges.insightsOf(id), ranges.deletedOf(id)]) {
    for await (const items of presentIn(table, range)) {
      for (const item of items) {
        yield* isSameKind(keys.dashboard(id, 0))(item) ? removeDashboard(table, item) : removeRoot(table, item);
      }
    }
  }
  yield* removeNotifiers(table, ranges.alertsOf(id), 'alert');
  yield* removeNotifiers(table, ranges.subscriptionsOf(id), 'subscription');
  yield* removeRange(table, ranges.lakeOf(id));
  yield* removeRange(table, ranges.queriesOf(id));
  for (const folder of projectFolders(id)) yield* removeFiles(lake, folder);
  for (const files of imports === null ? [] : [imports.files, imports.rejected])
    yield* removeFiles(files, importsOf(id));
  yield* forgetExecutions(context, `${id}-`);
  yield* forgetExecutions(context, `${compactionJob(id)}-`);
  yield* forgetExecutions(context, `${personDeletionJob(id)}-`);
}

/** Their messages end by themselves. */
async function* removeNotifiers<T extends Item & Parameters<typeof dueOps>[1]>(
  table: Table,
  range: Range<T>,
  kind: NotifierKind,
): Removals {
  for await (const items of presentIn(table, range)) {
    await remove(
      table,
      items,
      items.flatMap((item) => dueOps(kind, item, null)),
    );
    if (items.length > 0) yield;
  }
}

/** Removes the files below a folder, those that lie together at a time. */
async function* removeFiles(files: FileStore, folder: string): Removals {
  for (let path = await firstOf(files, folder); path !== undefined; path = await firstOf(files, folder)) {
    await files.remove(dirname(path));
    yield;
  }
  // Where folders are more than names, empty ones are left.
  await files.remove(folder);
}

async function firstOf(files: FileStore, folder: string): Promise<string | undefined> {
  for await (const { path } of files.list(folder)) return path;
  return undefined;
}

async function* removeDashboard(table: Table, summary: Item): Removals {
  const { project, id } = idsIn.ofProject(summary);
  const sharing = await table.get(keys.sharing(project, id));
  if (sharing !== undefined) await remove(table, [keys.sharingToken(sharing.access_token)]);
  yield* removeRange(table, ranges.ofDashboard(project, id), summary);
  yield* removeRoot(table, summary);
}

/**
 * Takes what was deleted out of the limits of keys, and revokes those that opened nothing else. Whoever has left the
 * organization may still have a key that names it, so it looks at everybody's: three round trips for a hundred users.
 */
async function* removeFromKeys(context: Context, gone: DeletedPlaces): Removals {
  for await (const users of presentIn(context.table, ranges.allUsers())) {
    for (const key of await keysOfUsers(context.table, users)) {
      if (await removeLimits(context, key, gone)) yield;
    }
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refused)) throw error;
}
