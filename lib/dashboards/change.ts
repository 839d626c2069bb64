/** Changes dashboards: their fields, their tiles, their deletion and their return. */
import type { Change } from '../accounts/activity/model.ts';
import { changesOf, type LoggedFields, partChanges, patchActivity } from '../accounts/activity/rules.ts';
import type { Tenant, Writing } from '../accounts/organizations/tenant.ts';
import { definedOf } from '../basics/defined.ts';
import { checkVersion, type IfMatch, inVersion } from '../http/etag.ts';
import { tagTexts } from '../http/tags.ts';
import { readInsights } from '../insights/store.ts';
import type { Context } from '../ports/context.ts';
import { fail } from '../ports/errors.ts';
import { groupsOf, type Weighed, weighed } from '../ports/table/groups.ts';
import { keys } from '../ports/table/keys.ts';
import { type Op, Refused, type Table, type Value } from '../ports/table/table.ts';
import { untilWrittenFrom } from '../ports/table/until-written.ts';
import { indexPlace, newItems, numbersFor } from './create.ts';
import { filtersText, objectText } from './fields.ts';
import { deletionOps, returnOps, writeInsights } from './insights/deletion.ts';
import { checkStaySeen } from './insights/visibility.ts';
import {
  type DashboardChanges,
  type DashboardDetailItem,
  type DashboardItem,
  type StoredDashboard,
  type TileItem,
} from './model.ts';
import { checkCanEdit, checkCanRestrict, isClosed } from './rules.ts';
import { aboutDashboard, checkDashboardSize, readDashboard } from './store.ts';
import { checkTileCount, copiedTiles, countedTiles, counting, insightsOf, tileChanges } from './tiles.ts';

type ChangeContext = Pick<Context, 'table' | 'clock'>;

/** Who changes a dashboard, and from which version. */
export interface Changer extends Writing {
  readonly ifMatch: IfMatch;
}

/**
 * Changes the fields that were sent, and only those: concurrent changes of other fields and other tiles last. Over 90
 * tiles are written in more than one transaction, and so are as many insights that go or come back with it, before the
 * dashboard itself: whoever repeats a change that was cut off finishes it. Returns the dashboard as it was read, with these
 * changes; its version is never above the stored one. Throws a 404, a 403 or a 412 as `checkChange`.
 */
export async function changeDashboard(
  context: ChangeContext,
  read: StoredDashboard,
  patch: DashboardChanges,
  changer: Changer,
): Promise<StoredDashboard> {
  const { project_id, id } = read.summary;
  const again = () => readDashboard(context.table, project_id, id);
  return untilWrittenFrom(read, again, async (stored) => {
    checkChange(stored, patch, changer);
    return writeChange(context, stored, patch, changer);
  });
}

/** Throws a 404 for a deleted dashboard, a 403 when the member may not change it so, a 412 for another version. */
function checkChange({ summary }: StoredDashboard, patch: DashboardChanges, { tenant, ifMatch }: Changer): void {
  const { membership: member } = tenant;
  if (summary.deleted_at !== null && patch.deleted !== false) fail('not_found');
  checkCanEdit(summary, member);
  if (patch.restriction_level !== undefined) checkCanRestrict(summary, member);
  checkVersion(summary, ifMatch);
}

async function writeChange(
  context: ChangeContext,
  stored: StoredDashboard,
  patch: DashboardChanges,
  { tenant, ifMatch, activityOps }: Changer,
): Promise<StoredDashboard> {
  const { table, clock } = context;
  const { summary, detail } = stored;
  const now = clock();
  const summarySet = summaryChange(summary, patch, now);
  const detailSet = detailChange(patch);
  const newDetail: DashboardDetailItem = { ...detail, ...detailSet };
  checkDashboardSize({ ...summary, ...summarySet }, newDetail);
  const tiles = await tileOps(context, stored, patch, tenant, now);
  const insights = await insightOps(table, stored, patch, now);

  const isPlaced = 'first_pk' in summarySet;
  const unchanged = {
    id: summary.id,
    deleted_at: summary.deleted_at,
    ...(isPlaced ? { name: summary.name, pinned: summary.pinned } : {}),
    // Whoever puts the same insight there at the same time has found no tile of it either.
    ...(tiles.isPlacing ? { ver: summary.ver } : inVersion(ifMatch)),
  };
  const key = keys.dashboard(summary.project_id, summary.id);
  const together = groupsOf([...tiles.ops, ...insights]);
  if (together.length > 1) await writeInsights(table, summary, insights, ifMatch);
  const [first = [], ...rest] = together.length > 1 ? groupsOf(tiles.ops) : together;
  // The first transaction counts the tiles of all, so that there is room for the others.
  const count = counting(stored, tilesIn([first, ...rest]), now);
  const coming = rest.length === 0 ? {} : { tiles_coming_at: now };
  const ops: Op[] = [
    {
      change: key,
      set: { ...summarySet, ...count.set, ...coming },
      add: count.add,
      if: { ...count.if, is: { ...unchanged, ...count.if.is } },
    },
    ...(Object.keys(detailSet).length === 0
      ? []
      : [{ change: keys.dashboardDetail(summary.project_id, summary.id), set: detailSet } satisfies Op]),
    ...activityOps({
      ...aboutDashboard({ ...summary, ...summarySet }),
      activity: patchActivity(summary.deleted_at !== null, patch),
      changes: [
        ...changesOf(summary, summarySet, LOGGED_FIELDS),
        ...changesOf(detail, detailSet, LOGGED_DETAIL_FIELDS),
        ...tiles.changes,
      ],
    }),
    ...first,
  ];
  const [written] = await table.write(ops);
  const head = { ...summary, ...summarySet, ...count.set };
  await writeRest(context, head, rest, tiles.isPlacing ? summary.ver + 1 : undefined);
  const ver = summary.ver + 1 + rest.length;
  const newSummary = (written ?? { ...summary, ...summarySet, tiles: tiles.after.length, ver }) as DashboardItem;
  return { ...stored, summary: newSummary, detail: newDetail, tiles: tiles.after };
}

/** The fields whose changes the activity log shows. */
const LOGGED_FIELDS: LoggedFields = {
  name: 'plain',
  description: 'plain',
  pinned: 'plain',
  tags: 'json',
  restriction_level: 'plain',
};
const LOGGED_DETAIL_FIELDS: LoggedFields = { filters: 'json', variables: 'json', delete_insights: 'plain' };

/**
 * Writes what did not fit into the first transaction, which has counted its tiles. With a version, which is the one that
 * the first has written, no insight is put that others have put there since. Throws a 409 when they have, or have changed
 * a tile or the dashboard's deletion, or counted its tiles anew: a part stays, and what is not written is not counted.
 */
async function writeRest(
  { table, clock }: ChangeContext,
  head: DashboardItem,
  groups: readonly Op[][],
  version: number | undefined,
): Promise<void> {
  const { project_id, id, deleted_at, recounts = null } = head;
  const change = keys.dashboard(project_id, id);
  let ver = version;
  for (const [at, group] of groups.entries()) {
    const write = async (now: number | undefined) => {
      const is = { id, deleted_at, recounts, ...definedOf({ ver: now }) };
      const set = { tiles_coming_at: clock() };
      await table.write([{ change, set, add: { ver: 1 }, if: { is }, else: HEAD_CHANGED }, ...group]);
      return now === undefined ? undefined : now + 1;
    };
    try {
      ver = await untilWrittenFrom(ver, () => versionWithout(table, head, group), write, HEAD_CHANGED);
    } catch (error) {
      const add = { ver: 1, tiles: -tilesIn(groups.slice(at)) };
      // What cannot be given back is counted anew by a later change.
      await Promise.allSettled([table.write([{ change, add, if: { is: { id, recounts } } }])]);
      if (error instanceof Refused) fail('conflict');
      throw error;
    }
  }
}

const HEAD_CHANGED = 'dashboard_changed';

/** Returns the dashboard's version. Throws a 409 when it shows an insight that the ops put, or does not wait for them. */
async function versionWithout(table: Table, head: DashboardItem, ops: readonly Op[]): Promise<number> {
  const { summary, tiles } = (await readDashboard(table, head.project_id, head.id)) ?? fail('conflict');
  const put = ops.flatMap((op) => ('put' in op && 'layouts' in op.put ? [op.put as TileItem] : []));
  const shown = new Set(insightsOf(tiles));
  if (insightsOf(put).some((insight) => shown.has(insight))) fail('conflict');
  if (summary.deleted_at !== head.deleted_at || summary.recounts !== head.recounts) fail('conflict');
  return summary.ver;
}

/** Returns how many tiles groups of ops put, less those that they remove. */
function tilesIn(groups: readonly Op[][]): number {
  const ops = groups.flat();
  return ops.reduce((sum, op) => sum + ('put' in op ? Number('layouts' in op.put) : 'remove' in op ? -1 : 0), 0);
}

/** Returns what a PATCH sets of the summary, with its place in the indexes when that changes. */
function summaryChange(summary: DashboardItem, patch: DashboardChanges, now: number): Readonly<Record<string, Value>> {
  const { name, description, pinned, tags, restriction_level, deleted } = patch;
  const set = {
    ...definedOf({ name: name === null ? '' : name, description, pinned, restriction_level }),
    ...definedOf({ tags: tags && tagTexts(tags) }),
    ...(deleted === undefined ? {} : { deleted_at: deleted ? now : null }),
  };
  const isPlaced = 'name' in set || 'pinned' in set || 'deleted_at' in set;
  return isPlaced ? { ...set, ...indexPlace(summary.project_id, summary.id, { ...summary, ...set }) } : set;
}

/** Returns what a PATCH sets of the detail. */
function detailChange({ filters, variables, delete_insights }: DashboardChanges): Readonly<Record<string, Value>> {
  return definedOf({ filters: filtersText(filters), variables: objectText(variables), delete_insights });
}

/**
 * Returns the ops of a PATCH of `tiles`, the tiles that are there then, and the changes for the activity log; `isPlacing`:
 * it puts an insight there.
 */
async function tileOps(
  { table }: ChangeContext,
  stored: StoredDashboard,
  { tiles: sent = [], duplicate_tiles = [] }: DashboardChanges,
  tenant: Tenant,
  now: number,
): Promise<{ ops: Weighed[]; after: readonly TileItem[]; changes: Change[]; isPlacing: boolean }> {
  const { summary, tiles } = stored;
  const by = tenant.membership.user_uuid;
  const { added, changed, removed } = tileChanges(tiles, sent, { by, now });
  const copied = tiles.filter(({ id }) => duplicate_tiles.some((one) => one.id === id));
  const insights = await readInsights(table, summary.project_id, insightsOf(copied));
  const all = [...added, ...copiedTiles(copied, insights, duplicate_tiles, by)];
  // Tiles that are being written are counted before they are there.
  const more = all.length - removed.size;
  if (more > 0) checkTileCount(countedTiles(stored, now) + more);
  const left = new Set(insightsOf([...tiles.filter(({ id }) => !removed.has(id)), ...added]));
  const lost = insightsOf(tiles.filter(({ id }) => removed.has(id))).filter((id) => !left.has(id));
  await checkStaySeen(table, tenant, lost, { from: summary.id });
  // What is put where everybody looks is kept from nobody. A deleted dashboard may come back.
  const here = { ...summary, deleted_at: null };
  if (isClosed(summary)) await checkStaySeen(table, tenant, insightsOf(added), { from: summary.id, to: here });
  const keyOf = (id: number) => keys.tile(summary.project_id, summary.id, id);
  const ops: Weighed[] = [];
  const after: TileItem[] = [];
  for (const tile of tiles) {
    const set = { ...changed.get(tile.id) } as Readonly<Record<string, Value>>;
    const isSet = Object.keys(set).length > 0;
    const isHere = { is: { id: tile.id } };
    if (removed.has(tile.id)) ops.push(weighed({ remove: keyOf(tile.id), if: isHere }, tile));
    else after.push({ ...tile, ...set });
    if (isSet) ops.push(weighed({ change: keyOf(tile.id), set, add: { ver: 1 }, if: isHere }, { ...tile, ...set }));
  }
  const numbers = await numbersFor(table, tenant, all);
  const made = newItems({ project: summary.project_id, dashboard: summary.id, now }, numbers, all);
  // Each beside its tile: what is cut off between two transactions leaves no insight that no dashboard shows.
  const put = made.tiles.flatMap((tile) => [tile, ...made.insights.filter(({ id }) => id === tile.insight)]);
  ops.push(...put.map((item) => weighed({ put: item, if: 'absent' }, item)));
  const come = made.tiles.map(({ id }) => id);
  const among = (ids: { has(id: number): boolean }) => tiles.map(({ id }) => id).filter((id) => ids.has(id));
  const changes = [
    ...partChanges('created', 'tiles', come),
    ...partChanges('changed', 'tiles', among(changed)),
    ...partChanges('deleted', 'tiles', among(removed)),
  ];
  return { ops, after: [...after, ...made.tiles], changes, isPlacing: insightsOf(added).length > 0 };
}

/** Returns the ops on insights of a deletion with `delete_insights`, and of a return. */
async function insightOps(
  table: Table,
  { summary, tiles }: StoredDashboard,
  { deleted, delete_insights }: DashboardChanges,
  now: number,
): Promise<Weighed[]> {
  const isDeletion = deleted === true && delete_insights === true;
  if (!isDeletion && deleted !== false) return [];
  const insights = [...(await readInsights(table, summary.project_id, insightsOf(tiles))).values()];
  return isDeletion ? deletionOps(table, summary, insights, now) : returnOps(summary, insights);
}
