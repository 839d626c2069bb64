/** How a dashboard changes: its fields, its tiles, its deletion and its return. */
import type { Change, Tell } from '../accounts/activity/model.ts';
import { changesOf, patchActivity, type ToldFields } from '../accounts/activity/rules.ts';
import type { InsightItem } from '../insights/model.ts';
import { deletedInsight, deletionOp, readInsights, restoredInsight } from '../insights/store.ts';
import type { Context } from '../ports/context.ts';
import { fail } from '../ports/errors.ts';
import { groupsOf, type Weighed, weighed } from '../ports/table/groups.ts';
import { keys } from '../ports/table/keys.ts';
import { nextNumber } from '../ports/table/sequence.ts';
import { type Op, Refused, type Table, type Value } from '../ports/table/table.ts';
import { untilWritten } from '../ports/table/until-written.ts';
import { namedInsights, placeOf, tileItem } from './create.ts';
import { aboutDashboard } from './head.ts';
import { dashboardsWith, tilesShowing } from './insights/tiles.ts';
import {
  type DashboardChanges,
  type DashboardDetailItem,
  type DashboardItem,
  MAX_TILES,
  type StoredDashboard,
  type TileItem,
} from './model.ts';
import { checkCanEdit, checkCanRestrict, type Member } from './rules.ts';
import { checkDashboardSize, readDashboard, readHeads } from './stored.ts';
import { checkTileCount, insightsOf, type NewTile, tileChanges } from './tiles.ts';
import { objectText, tagTexts } from './values.ts';

type Changing = Pick<Context, 'table' | 'clock'>;

/** Who changes it. */
export interface Changer {
  readonly member: Member;
  readonly ifMatch: readonly number[] | undefined;
  readonly tell: Tell;
}

/**
 * Changes what was sent, and only that: changes of other fields and other tiles at the same time last. Over 90 tiles
 * are written in more than one transaction. The answer is the dashboard as read, with these changes; its version is
 * never above the stored one.
 */
export async function changeDashboard(
  context: Changing,
  read: StoredDashboard,
  patch: DashboardChanges,
  changer: Changer,
): Promise<StoredDashboard> {
  let known: StoredDashboard | undefined = read;
  return untilWritten(async () => {
    const { project_id, id } = read.head;
    const stored = known ?? (await readDashboard(context.table, project_id, id)) ?? fail('not_found');
    known = undefined;
    checkChange(stored, patch, changer);
    return writeChange(context, stored, patch, changer);
  });
}

function checkChange({ head }: StoredDashboard, patch: DashboardChanges, { member, ifMatch }: Changer): void {
  if (head.deleted_at !== null && patch.deleted !== false) fail('not_found');
  checkCanEdit(head, member);
  if (patch.restriction_level !== undefined) checkCanRestrict(head, member);
  if (ifMatch !== undefined && !ifMatch.includes(head.ver)) fail('precondition_failed');
}

async function writeChange(
  context: Changing,
  stored: StoredDashboard,
  patch: DashboardChanges,
  { member, ifMatch, tell }: Changer,
): Promise<StoredDashboard> {
  const { table, clock } = context;
  const { head, detail } = stored;
  const now = clock();
  const headSet = changedHead(head, patch, now);
  const detailSet = changedDetail(patch);
  const newDetail: DashboardDetailItem = { ...detail, ...detailSet };
  checkDashboardSize({ ...head, ...headSet }, newDetail);
  const tiles = await changedTiles(context, stored, patch, { by: member.user_uuid, now });
  const insights = await deletions(table, stored, patch, now);

  const isPlaced = 'first_pk' in headSet;
  const unchanged = {
    id: head.id,
    deleted_at: head.deleted_at,
    ...(isPlaced ? { name: head.name, pinned: head.pinned } : {}),
    ...(ifMatch === undefined ? {} : { ver: ifMatch }),
  };
  const key = keys.dashboard(head.project_id, head.id);
  const [first = [], ...rest] = groupsOf([...tiles.ops, ...insights]);
  const ops: Op[] = [
    { change: key, set: headSet, add: addTo(first), if: { is: unchanged, ...roomFor(first) } },
    ...(Object.keys(detailSet).length === 0
      ? []
      : [{ change: keys.dashboardDetail(head.project_id, head.id), set: detailSet } satisfies Op]),
    ...tell({
      ...aboutDashboard({ ...head, ...headSet }),
      activity: patchActivity(patch),
      changes: [...changesOf(head, headSet, TOLD), ...changesOf(detail, detailSet, TOLD_DETAIL), ...tiles.changes],
    }),
    ...first,
  ];
  const [written] = await table.write(ops);
  await writeRest(table, { ...head, ...headSet }, rest);
  const ver = head.ver + 1 + rest.length;
  const newHead = (written ?? { ...head, ...headSet, tiles: tiles.after.length, ver }) as DashboardItem;
  return { ...stored, head: newHead, detail: newDetail, tiles: tiles.after };
}

/** What is told of a head and a detail that change. */
const TOLD: ToldFields = {
  name: 'plain',
  description: 'plain',
  pinned: 'plain',
  tags: 'json',
  restriction_level: 'plain',
};
const TOLD_DETAIL: ToldFields = { filters: 'json', variables: 'json', delete_insights: 'plain' };

/** What did not fit into the first transaction. What came in between is a conflict: a part is done and stays. */
async function writeRest(table: Table, { project_id, id, deleted_at }: DashboardItem, groups: readonly Op[][]) {
  try {
    for (const group of groups) {
      const isThere = { is: { id, deleted_at }, ...roomFor(group) };
      await table.write([{ change: keys.dashboard(project_id, id), add: addTo(group), if: isThere }, ...group]);
    }
  } catch (error) {
    if (error instanceof Refused) fail('conflict');
    throw error;
  }
}

/** How many tiles a group of ops puts, less those it removes. */
function tilesIn(group: readonly Op[]): number {
  return group.reduce((sum, op) => sum + ('put' in op ? 1 : 'remove' in op ? -1 : 0), 0);
}

const addTo = (group: readonly Op[]): Record<string, number> => ({ ver: 1, tiles: tilesIn(group) });

/** The condition that the head has room for a group's tiles. */
function roomFor(group: readonly Op[]): { notAbove?: Record<string, number> } {
  const more = tilesIn(group);
  return more > 0 ? { notAbove: { tiles: MAX_TILES - more } } : {};
}

/** What a PATCH sets of the head; where the head stands, when that changes. */
function changedHead(head: DashboardItem, patch: DashboardChanges, now: number): Readonly<Record<string, Value>> {
  const { name, description, pinned, tags, restriction_level, deleted } = patch;
  const set = {
    ...(name === undefined ? {} : { name: name ?? '' }),
    ...(description === undefined ? {} : { description }),
    ...(pinned === undefined ? {} : { pinned }),
    ...(tags === undefined ? {} : { tags: tagTexts(tags) }),
    ...(restriction_level === undefined ? {} : { restriction_level }),
    ...(deleted === undefined ? {} : { deleted_at: deleted ? now : null }),
  };
  const isPlaced = 'name' in set || 'pinned' in set || 'deleted_at' in set;
  return isPlaced ? { ...set, ...placeOf(head.project_id, head.id, { ...head, ...set }) } : set;
}

/** What a PATCH sets of the detail. */
function changedDetail({ filters, variables, delete_insights }: DashboardChanges): Readonly<Record<string, Value>> {
  const [filterText, variableText] = [objectText(filters), objectText(variables)];
  return {
    ...(filterText === undefined ? {} : { filters: filterText }),
    ...(variableText === undefined ? {} : { variables: variableText }),
    ...(delete_insights === undefined ? {} : { delete_insights }),
  };
}

/** The ops of a PATCH of `tiles`, and the tiles that are there then. */
async function changedTiles(
  { table }: Changing,
  { head, tiles }: StoredDashboard,
  { tiles: sent = [] }: DashboardChanges,
  by: { by: string; now: number },
): Promise<{ ops: Weighed[]; after: readonly TileItem[]; changes: Change[] }> {
  const { added, changed, removed } = tileChanges(tiles, sent, by);
  const keyOf = (id: number) => keys.tile(head.project_id, head.id, id);
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
  const made = await madeTiles(table, head, added, by.now);
  ops.push(...made.map((tile) => weighed({ put: tile, if: 'absent' }, tile)));
  const changes = [
    ...tilesTold('created', made),
    ...tilesTold(
      'changed',
      tiles.filter((tile) => changed.has(tile.id)),
    ),
    ...tilesTold(
      'deleted',
      tiles.filter((tile) => removed.has(tile.id)),
    ),
  ];
  return { ops, after: [...after, ...made], changes };
}

/** What is told of tiles: their numbers. */
function tilesTold(action: Change['action'], tiles: readonly TileItem[]): Change[] {
  const ids = tiles.map(({ id }) => id);
  const [before, after] = [action === 'created' ? null : ids, action === 'deleted' ? null : ids];
  return ids.length === 0 ? [] : [{ action, field: 'tiles', before, after }];
}

async function madeTiles(
  table: Table,
  { project_id, id }: DashboardItem,
  added: readonly NewTile[],
  now: number,
): Promise<TileItem[]> {
  if (added.length === 0) return [];
  const [first] = await Promise.all([nextNumber(table, 'tile', added.length), namedInsights(table, project_id, added)]);
  return added.map((tile, at) =>
    tileItem(
      { project: project_id, dashboard: id, id: first + at, now },
      { ...tile, insight: typeof tile.insight === 'number' ? tile.insight : null },
    ),
  );
}

/** What follows for insights from a deletion with `delete_insights`, and from a return. */
async function deletions(
  table: Table,
  { head, tiles }: StoredDashboard,
  { deleted, delete_insights }: DashboardChanges,
  now: number,
): Promise<Weighed[]> {
  const isDeletion = deleted === true && delete_insights === true;
  if (!isDeletion && deleted !== false) return [];
  const insights = [...(await readInsights(table, head.project_id, insightsOf(tiles))).values()];
  const changed = isDeletion
    ? (await shownOnlyOn(table, head, insights)).map((item) => [item, deletedInsight(item, now, head.id)] as const)
    : insights
        .filter(({ deleted_with }) => deleted_with === head.id)
        .map((item) => [item, restoredInsight(item)] as const);
  return changed.map(([before, after]) => weighed(deletionOp(before, after), after));
}

/** Those of the insights, not yet deleted, that no other dashboard shows. */
async function shownOnlyOn(
  table: Table,
  { project_id, id }: DashboardItem,
  insights: readonly InsightItem[],
): Promise<InsightItem[]> {
  const live = insights.filter(({ deleted_at }) => deleted_at === null);
  const others = await Promise.all(
    live.map(async ({ id: insight }) => dashboardsWith(await tilesShowing(table, project_id, insight))),
  );
  const heads = await readHeads(table, project_id, others.flat());
  return live.filter((_, at) => others[at]?.every((other) => other === id || !heads.has(other)));
}

/** Moves a tile, as it is then, to another dashboard of the project. 404 when either is not there. */
export async function moveTile(
  { table }: Changing,
  read: StoredDashboard,
  { tile: tileId, to }: { tile: number; to: number },
  { member, ifMatch, tell }: Changer,
): Promise<void> {
  const { project_id, id: from } = read.head;
  let known: StoredDashboard | undefined = read;
  await untilWritten(async () => {
    const [source = fail('not_found'), heads] = await Promise.all([
      known ?? readDashboard(table, project_id, from),
      readHeads(table, project_id, [to]),
    ]);
    known = undefined;
    const { head } = source;
    const tile = source.tiles.find(({ id }) => id === tileId);
    const goal = heads.get(to);
    if (head.deleted_at !== null || tile === undefined || goal === undefined) fail('not_found');
    checkCanEdit(head, member);
    checkDestination(goal, member);
    if (ifMatch !== undefined && !ifMatch.includes(head.ver)) fail('precondition_failed');
    if (to === from) return;
    checkTileCount(goal.tiles + 1);
    const { insight, text, layouts, color, created_by } = tile;
    const place = { project: project_id, dashboard: to, id: tile.id, now: tile.created_at };
    const moved: TileItem = {
      ...tileItem(place, { insight, text, layouts, color, created_by }),
      last_modified_at: tile.last_modified_at,
      last_modified_by: tile.last_modified_by,
      ver: tile.ver + 1,
    };
    await table.write([
      { remove: keys.tile(project_id, from, tile.id), if: { is: { id: tile.id, ver: tile.ver } } },
      { put: moved, if: 'absent' },
      {
        change: keys.dashboard(project_id, from),
        add: { ver: 1, tiles: -1 },
        if: { is: { id: from, deleted_at: null, ...(ifMatch === undefined ? {} : { ver: ifMatch }) } },
      },
      {
        change: keys.dashboard(project_id, to),
        add: { ver: 1, tiles: 1 },
        if: { is: { id: to, deleted_at: null }, notAbove: { tiles: MAX_TILES - 1 } },
      },
      ...tell({ ...aboutDashboard(head), activity: 'updated', changes: [moveTold(tile, from, to)] }),
    ]);
  });
}

const moveTold = ({ id: tile }: TileItem, from: number, to: number): Change => ({
  action: 'changed',
  field: 'tiles',
  before: { tile, dashboard: from },
  after: { tile, dashboard: to },
});

function checkDestination(goal: DashboardItem, member: Member): void {
  try {
    checkCanEdit(goal, member);
  } catch {
    fail('permission_denied', "You don't have edit permissions for the destination dashboard.");
  }
}
