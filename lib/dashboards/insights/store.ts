/** Reads, makes and changes insights together with the tiles that show them. */
import type * as z from 'zod';
import { partChanges, patchActivity } from '../../accounts/activity/rules.ts';
import type { MemberWithLevel } from '../../accounts/organizations/model.ts';
import { placeIn } from '../../accounts/organizations/projects/store.ts';
import type { Caller, Tenant, Writing } from '../../accounts/organizations/tenant.ts';
import { userLookup } from '../../accounts/users/lookup.ts';
import { Answer } from '../../http/answer.ts';
import { checkVersion, type IfMatch, inVersion } from '../../http/etag.ts';
import {
  type Insight,
  type InsightInput,
  type InsightItem,
  type InsightPatch,
  insightObject,
  MAX_DASHBOARDS,
} from '../../insights/model.ts';
import { type Asking, resultOf } from '../../insights/results.ts';
import { aboutInsight, insightChange, newInsight } from '../../insights/store.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import { nextNumber } from '../../ports/table/sequence.ts';
import type { Key, Op, Table } from '../../ports/table/table.ts';
import { untilWritten, untilWrittenFrom } from '../../ports/table/until-written.ts';
import { tileItem } from '../create.ts';
import type { DashboardItem, StoredDashboard, TileItem } from '../model.ts';
import {
  checkCanEdit,
  checkCanEditInsight,
  checkStaysSeen,
  failUnseen,
  maySee,
  maySeeInsight,
  type Showing,
} from '../rules.ts';
import { readAllSummaries, readDashboard } from '../store.ts';
import { checkTileCount, countedTiles, counting, invalidReference } from '../tiles.ts';
import { dashboardsOf, knownShowings, showingsOf, summariesOf, tilesOfInsight } from './tiles.ts';

/** An insight, and the tiles that show it. */
export interface InsightWithTiles {
  readonly item: InsightItem;
  /** Keys of tiles, those of deleted dashboards too. */
  readonly tiles: readonly Key<TileItem>[];
}

/** Reads an insight of the project, whoever asks, for `foundInsight`. One round trip. */
export async function readInsight(table: Table, project: number, id: number): Promise<InsightWithTiles | undefined> {
  const [item, tiles] = await Promise.all([table.get(keys.insight(project, id)), tilesOfInsight(table, project, id)]);
  return item === undefined ? undefined : { item, tiles };
}

/** Returns the insight. Throws a 404 when it is not there, or deleted. */
export function foundInsight(read: InsightWithTiles | undefined): InsightWithTiles {
  return read?.item.deleted_at === null ? read : fail('not_found');
}

/** Returns the insight, also a deleted one, which a PATCH may bring back. Throws a 404 when it is not there. */
export function foundInsightToChange(read: InsightWithTiles | undefined): InsightWithTiles {
  return read ?? fail('not_found');
}

/**
 * Returns the public objects of those insights that are there for the member, each with those of its dashboards that
 * they may see.
 */
export async function insightObjects(
  context: Pick<Context, 'table' | 'clock'>,
  found: readonly InsightWithTiles[],
  { membership: member }: Tenant,
  { user }: Caller,
): Promise<z.input<typeof Insight>[]> {
  const project = found[0]?.item.project_id ?? 0;
  const authors = found.flatMap(({ item }) => [item.created_by, item.last_modified_by]);
  const dashboards = found.flatMap(({ tiles }) => dashboardsOf(tiles));
  const [summaries, userOf] = await Promise.all([
    readAllSummaries(context.table, project, dashboards),
    userLookup(context, authors, user),
  ]);
  const showings = await Promise.all(found.map(({ tiles }) => knownShowings(context.table, tiles, summaries)));
  return found.flatMap(({ item }, at) => {
    const showing = showings[at] ?? [];
    if (!maySeeInsight(item, showing, member)) return [];
    const seen = summariesOf(showing).filter((summary) => summary.deleted_at === null && maySee(summary, member));
    return [{ ...insightObject(item, userOf), dashboards: seen.map(({ id }) => id) }];
  });
}

type WriteContext = Pick<Context, 'table' | 'clock'>;

/** Makes an insight with a tile on each of the dashboards that it names, in one transaction. */
export async function createInsight(
  { table, clock }: WriteContext,
  { tenant, activityOps }: Writing,
  input: z.output<typeof InsightInput>,
  idempotencyOps: (insightId: string) => readonly Op[],
): Promise<InsightWithTiles> {
  const now = clock();
  const id = await nextNumber(table, 'insight');
  const item = newInsight({ project: placeIn(tenant).project.id, id, now }, input, tenant.membership.user_uuid);
  const logOps = activityOps({ ...aboutInsight(item), activity: 'created' });
  return untilWritten(async () => {
    const added = await tilesToAdd(table, tenant.membership, item, dashboardsIn(input), { now, isNew: true });
    await table.write([{ put: item, if: 'absent' }, ...added.ops, ...idempotencyOps(String(id)), ...logOps]);
    return { item, tiles: added.tiles };
  });
}

/** Returns the dashboards that an input or a patch puts an insight on. */
const dashboardsIn = ({ dashboards = [], dashboard = null }: z.output<typeof InsightPatch>): readonly number[] =>
  dashboard === null ? dashboards : [...dashboards, dashboard];

/**
 * Changes the fields that were sent, and only those; tiles that come and go change with it, in one transaction. Throws
 * a 404, a 403 or a 412 when it is deleted, closed to the member or would be from then on, or in none of the versions
 * of `ifMatch`.
 */
export async function changeInsight(
  { table, clock }: WriteContext,
  { tenant: { membership: member }, activityOps }: Writing,
  read: InsightWithTiles,
  patch: z.output<typeof InsightPatch>,
  ifMatch: IfMatch,
): Promise<InsightWithTiles> {
  const { project_id: project, id } = read.item;
  const readAgain = () => readInsight(table, project, id);
  return untilWrittenFrom(read, readAgain, async (stored) => {
    const { item, tiles } = stored;
    if (item.deleted_at !== null && patch.deleted !== false) fail('not_found');
    checkVersion(item, ifMatch);
    const showings = await showingsOf(table, project, tiles);
    checkChange(item, showings, patch, member);
    const now = clock();
    const { set, changes } = insightChange(item, patch, { by: member.user_uuid, now });
    const wanted = dashboardsIn(patch);
    const isWhole = patch.dashboards !== undefined;
    const removed = isWhole ? tilesToRemove({ item, tiles, showings }, member, wanted) : NOTHING;
    const added = await tilesToAdd(table, member, item, wanted, { now, isNew: false });
    checkOpCount(added, removed);
    const left = showings.filter(({ summary }) => !removed.dashboards.includes(summary));
    const come = added.dashboards.map((summary) => ({ summary, placedBy: member.user_uuid }));
    checkStaysSeen(item, { before: showings, after: [...left, ...come] }, member);
    // Whoever puts it elsewhere at the same time has found its tiles as they were, too.
    const asRead = added.tiles.length > 0 ? { ver: item.ver } : inVersion(ifMatch);
    const unchanged = { id, deleted_at: item.deleted_at, ...asRead };
    const [written] = await table.write([
      { change: keys.insight(project, id), set, add: { ver: 1 }, if: { is: unchanged } },
      ...removed.ops,
      ...added.ops,
      ...activityOps({
        ...aboutInsight({ ...item, ...set }),
        activity: patchActivity(item.deleted_at !== null, patch),
        changes: [
          ...changes,
          ...partChanges('deleted', 'dashboards', dashboardsOf(removed.tiles)),
          ...partChanges('created', 'dashboards', dashboardsOf(added.tiles)),
        ],
      }),
    ]);
    return {
      item: written ?? { ...item, ...set, ver: item.ver + 1 },
      tiles: [...tiles.filter((tile) => !removed.tiles.includes(tile)), ...added.tiles],
    };
  });
}

/** Throws a 403 when the member may not change the insight so: to put it elsewhere, they need but see it. */
function checkChange(
  item: InsightItem,
  showings: readonly Showing[],
  { dashboards, dashboard, ...fields }: z.output<typeof InsightPatch>,
  member: MemberWithLevel,
): void {
  const isMove = dashboards !== undefined || dashboard !== undefined;
  const isEdit = !isMove || Object.values(fields).some((value) => value !== undefined);
  if (isEdit) checkCanEditInsight(item, showings, member);
  else if (!maySeeInsight(item, showings, member)) failUnseen();
}

/** Ops on tiles, the keys of the tiles that they put or remove, and the dashboards that have these. */
interface TileOps {
  readonly ops: readonly Op[];
  readonly tiles: readonly Key<TileItem>[];
  readonly dashboards: readonly DashboardItem[];
}

const NOTHING: TileOps = { ops: [], tiles: [], dashboards: [] };

/** Returns a tile for each dashboard without one. Throws a 400 for one not there, a 403 for one not theirs to edit. */
async function tilesToAdd(
  table: Table,
  member: MemberWithLevel,
  { id: insight, project_id: project }: InsightItem,
  wanted: readonly number[],
  { now, isNew }: { readonly now: number; readonly isNew: boolean },
): Promise<TileOps> {
  const ids = [...new Set(wanted)];
  const found = await Promise.all(ids.map((id) => readDashboard(table, project, id)));
  const missing = found.flatMap((stored, at): StoredDashboard[] => {
    if (stored?.summary.deleted_at !== null || !maySee(stored.summary, member))
      return invalidReference('dashboards', ids[at] ?? 0);
    return stored.tiles.some((tile) => tile.insight === insight) ? [] : [stored];
  });
  if (missing.length === 0) return NOTHING;
  const first = await nextNumber(table, 'tile', missing.length);
  const made = missing.map((stored, at) => {
    const { summary } = stored;
    checkCanEdit(summary, member);
    checkTileCount(countedTiles(stored, now) + 1);
    const place = { project, dashboard: summary.id, id: first + at, now };
    return tileItem(place, { insight, text: null, layouts: '{}', color: null, created_by: member.user_uuid });
  });
  const ops = missing.map((stored): Op => {
    const { id, ver } = stored.summary;
    const count = counting(stored, 1, now);
    return {
      ...count,
      change: keys.dashboard(project, id),
      // Whoever puts it there at the same time has found no tile there either.
      if: { ...count.if, is: { id, deleted_at: null, ...(isNew ? {} : { ver }), ...count.if.is } },
    };
  });
  return {
    ops: [...ops, ...made.map((tile): Op => ({ put: tile, if: 'absent' }))],
    tiles: made,
    dashboards: missing.map(({ summary }) => summary),
  };
}

/**
 * Throws a 400 for tiles of more than 40 dashboards, those that come and those that go together: one transaction has no
 * room for more.
 */
function checkOpCount(added: TileOps, removed: TileOps): void {
  if (added.ops.length + removed.ops.length <= MAX_DASHBOARDS * 2) return;
  invalid('dashboards', `An insight can be put on and taken from at most ${MAX_DASHBOARDS} dashboards at once.`);
}

/**
 * Returns the insight's tiles on all other dashboards that the member may see. Throws a 403 for a dashboard that they
 * may not edit.
 */
function tilesToRemove(
  { item, tiles, showings }: InsightWithTiles & { readonly showings: readonly Showing[] },
  member: MemberWithLevel,
  wanted: readonly number[],
): TileOps {
  const live = summariesOf(showings).filter(({ deleted_at }) => deleted_at === null);
  const lost = live.filter((summary) => maySee(summary, member) && !wanted.includes(summary.id));
  const gone = lost.map((summary) => {
    checkCanEdit(summary, member);
    return { summary, keys: tiles.filter((tile) => dashboardsOf([tile])[0] === summary.id) };
  });
  const removed = gone.flatMap((one) => one.keys);
  const ops = gone.map(
    ({ summary, keys: { length } }): Op => ({
      change: keys.dashboard(summary.project_id, summary.id),
      add: { ver: 1, tiles: -length },
      if: { is: { id: summary.id, deleted_at: null } },
    }),
  );
  return {
    ops: [...ops, ...removed.map((tile): Op => ({ remove: tile, if: { is: { insight: item.id } } }))],
    tiles: removed,
    dashboards: lost,
  };
}

/** Returns what shows one insight, with its version and its answer (`asked` null: without). Throws a 403 when it is not there for the caller. */
export async function insightAnswer(
  context: Pick<Context, 'table' | 'clock' | 'answers' | 'callerLeft'>,
  found: InsightWithTiles,
  tenant: Tenant,
  caller: Caller,
  asked: Pick<Asking, 'refresh' | 'overrides'> | null = { refresh: 'force_cache' },
): Promise<Answer<z.input<typeof Insight>>> {
  const [body] = await insightObjects(context, [found], tenant, caller);
  const shown = body ?? failUnseen();
  const version = found.item.ver;
  // Dashboards that take it up or leave it out change it without a new version.
  const isOnDashboards = found.tiles.length > 0;
  if (asked === null) return new Answer(shown, { version, isComputed: isOnDashboards });
  const asker = { callerLeft: context.callerLeft, user: caller.user.uuid };
  const result = await resultOf(context, found.item, { project: placeIn(tenant).project, ...asked }, asker);
  const isComputed = isOnDashboards || result.last_refresh !== null;
  return new Answer({ ...shown, ...result }, { version, isComputed });
}
