/**
 * What is left of an organization or project that was deleted, down a fixed tree. Everything is found anew by whoever
 * looks, and what is below goes before that by which it is found: so a purge can die anywhere, and hold little in memory.
 *
 * What ends by itself is left to that: idempotency records (a day), notices of failures (their next try finds no
 * export), the execution of the purge itself (7 days in the home of one machine), executions on AWS (90 days). The
 * activity log of an organization goes with it; what it tells of a project that was deleted stays, as long as the rest.
 */

import { dirname } from 'node:path/posix';
import type { ProjectItem } from '../accounts/organizations/model.ts';
import { type DeletedPlaces, keysOfUsers, removeLimits } from '../accounts/personal-api-keys/store.ts';
import type { UserItem } from '../accounts/users/model.ts';
import type { BackfillItem, BatchExportItem, RunItem } from '../exports/records/model.ts';
import { destroyBatchExport } from '../exports/resource/store.ts';
import { stopExport } from '../exports/runs/cancel.ts';
import { exportWithPlan } from '../exports/runs/store.ts';
import { jobOps } from '../jobs/job.ts';
import { projectFolders } from '../lake/catalog.ts';
import type { Context } from '../ports/context.ts';
import type { Spool } from '../ports/files/files.ts';
import { idsIn, keys, ranges } from '../ports/table/keys.ts';
import { type Item, type Key, type Op, type Range, Refused, type Table } from '../ports/table/table.ts';
import { HOUR_MS } from '../ports/units.ts';

/** What was deleted. */
export interface Deleted {
  readonly organization: string;
  /** Null: the whole organization. */
  readonly project: number | null;
  /** Requests and steps that were under way at the deletion have ended. */
  readonly isSettled: boolean;
  /** What is removed when nothing else is left. */
  readonly root: readonly Key[];
}

/** Each yield tells that something was left, and has been removed or at least stopped. */
type Pieces = AsyncGenerator<void, void>;

/** The same pieces, and whether there were any. */
async function* counted(pieces: Pieces): AsyncGenerator<void, boolean> {
  let isFound = false;
  for await (const _ of pieces) {
    isFound = true;
    yield;
  }
  return isFound;
}

/** Items that are read and removed at a time: the largest have 100 KB. */
const PAGE = 100;

/** Finds what is left, piece by piece, and removes it. */
export async function* remains(context: Context, deleted: Deleted): Pieces {
  const { table } = context;
  const { organization, project, isSettled } = deleted;
  yield* exportsLeft(context, deleted);
  if (project !== null) {
    yield* keysLeft(context, { organization: null, projects: [project] });
    yield* inProject(context, project);
    return;
  }
  const projects: number[] = [];
  for await (const items of pagesOf(table, ranges.projectsOf(organization))) {
    projects.push(...(items as ProjectItem[]).map(({ id }) => id));
  }
  yield* keysLeft(context, { organization, projects });
  for (const id of projects) yield* projectLeft(context, id, isSettled);
  yield* itemsLeft(table, ranges.membersOf(organization));
  yield* itemsLeft(table, ranges.invitationsOf(organization));
  yield* itemsLeft(table, ranges.activityOf(organization));
  yield* executionsLeft(context, organization);
}

/** The items of a range, as they are: an index may still show what is gone. */
async function* pagesOf(table: Table, range: Range): AsyncGenerator<Item[], void> {
  let after: string | undefined;
  do {
    const page = await table.list(range, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    const items = range.index === undefined ? page.items : await table.many(page.items);
    yield items.filter((item) => item !== undefined);
    after = page.cursor;
  } while (after !== undefined);
}

async function remove(table: Table, found: readonly Key[], also: readonly Op[] = []): Promise<void> {
  await table.write([...found.map(({ pk, sk }): Op => ({ remove: { pk, sk } })), ...also], { apart: true });
}

/** Whatever a range holds, but for the item by which the rest is found. */
async function* itemsLeft(table: Table, range: Range, but?: Key): Pieces {
  for await (const items of pagesOf(table, range)) {
    const found = items.filter(({ pk, sk }) => pk !== but?.pk || sk !== but.sk);
    if (found.length === 0) continue;
    await remove(table, found);
    yield;
  }
}

/** The item by which the rest was found, now that the rest is gone. */
async function* headLeft(table: Table, key: Key): Pieces {
  if ((await table.get(key)) === undefined) return;
  await remove(table, [key]);
  yield;
}

async function* exportsLeft(context: Context, { organization, project }: Deleted): Pieces {
  const { table } = context;
  // What is stopped here comes after what was stopped before: its runs have until the next walk to end.
  for (const range of [ranges.deletedExportsOf(organization), ranges.exportsOf(organization)]) {
    for await (const items of pagesOf(table, range)) {
      for (const item of items as BatchExportItem[]) {
        if ((project ?? item.team_id) === item.team_id) yield* exportLeft(context, item);
      }
    }
  }
}

/** How long a deleted export may go on committing: a step has 15 minutes, and its machine tries again. */
const LAST_COMMIT_WAIT_MS = HOUR_MS;

/**
 * An export is stopped first, and removed by a later walk: it is the item by which what a ghost of its runs may still
 * write is found, so it goes when a walk has found nothing else of it.
 */
async function* exportLeft(context: Context, item: BatchExportItem): Pieces {
  const { table, clock } = context;
  if (item.deleted_at === null) {
    await destroyBatchExport(context, item, undefined).catch(ignoreRefusal);
    yield;
    return;
  }
  if (await isStillRunning(context, item)) {
    yield;
    if (clock() < item.deleted_at + LAST_COMMIT_WAIT_MS) return;
  }
  if (yield* counted(belowExport(context, item))) return;
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

async function* belowExport(context: Context, { id }: BatchExportItem): Pieces {
  const { table, spool } = context;
  for await (const items of pagesOf(table, ranges.ofExport(id))) {
    const found = items.filter(({ sk }) => sk !== keys.batchExport(id).sk);
    if (found.length === 0) continue;
    const runs = found.filter((one): one is RunItem => idsIn.word(one) === idsIn.word(keys.run(id, '')));
    const backfills = found.filter((one): one is BackfillItem => idsIn.word(one) === idsIn.word(keys.backfill(id, '')));
    for (const token of new Set(runs.map((run) => run.token))) await spool.remove(`${token}/`);
    const retried = runs.filter(({ latest_error }) => latest_error !== null);
    for (const one of [...retried, ...backfills]) yield* executionsLeft(context, one.id);
    await remove(table, found, [
      ...runs.flatMap((run) => jobOps('retry', run.id, null)),
      ...backfills.flatMap((backfill) => jobOps('backfill', backfill.id, null)),
    ]);
    yield;
  }
  yield* itemsLeft(table, ranges.logLines(id));
  yield* executionsLeft(context, id);
}

/** What the engine remembers of executions on behalf of an object: their names begin with its id. */
async function* executionsLeft({ workflow }: Context, id: string): Pieces {
  while (await workflow.forget(id)) yield;
}

/** A project that went with its organization. By its item what is limited to it is found: it goes in a later walk. */
async function* projectLeft(context: Context, id: number, isSettled: boolean): Pieces {
  const isFound = yield* counted(inProject(context, id));
  if (isFound || !isSettled) return;
  await remove(context.table, [keys.project(id)], jobOps('purge', String(id), null));
  yield;
}

async function* inProject(context: Context, id: number): Pieces {
  const { table, lake } = context;
  for (const range of [ranges.dashboardsOf(id), ranges.insightsOf(id), ranges.deletedOf(id)]) {
    for await (const items of pagesOf(table, range)) {
      for (const item of items) {
        const isDashboard = idsIn.word(item) === idsIn.word(keys.dashboard(id, 0));
        yield* isDashboard ? dashboardLeft(table, item) : headLeft(table, item);
      }
    }
  }
  yield* itemsLeft(table, ranges.lakeOf(id));
  for (const folder of projectFolders(id)) yield* filesLeft(lake, folder);
  yield* executionsLeft(context, `${id}-`);
}

/** The files below a folder, those that lie together at a time. */
async function* filesLeft(files: Spool, folder: string): Pieces {
  for (let path = await firstOf(files, folder); path !== undefined; path = await firstOf(files, folder)) {
    await files.remove(dirname(path));
    yield;
  }
  // Where folders are more than names, empty ones are left.
  await files.remove(folder);
}

async function firstOf(files: Spool, folder: string): Promise<string | undefined> {
  for await (const { path } of files.list(folder)) return path;
  return undefined;
}

async function* dashboardLeft(table: Table, head: Item): Pieces {
  const { project, id } = idsIn.ofProject(head);
  const sharing = await table.get(keys.sharing(project, id));
  if (sharing !== undefined) await remove(table, [keys.sharingToken(sharing.access_token)]);
  yield* itemsLeft(table, ranges.ofDashboard(project, id), head);
  yield* headLeft(table, head);
}

/**
 * Keys lose what was deleted; those that opened nothing else are revoked. Whoever has left the organization may still
 * have one that names it, so it looks at everybody's: three round trips for a hundred users.
 */
async function* keysLeft(context: Context, gone: DeletedPlaces): Pieces {
  for await (const users of pagesOf(context.table, ranges.allUsers())) {
    for (const key of await keysOfUsers(context.table, users as UserItem[])) {
      if (await removeLimits(context, key, gone)) yield;
    }
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refused)) throw error;
}
