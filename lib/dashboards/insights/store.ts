/** How insights are read, made and changed over HTTP: with the tiles that show them. */
import type * as z from 'zod';
import type { Change, Tell } from '../../accounts/activity/model.ts';
import { patchActivity } from '../../accounts/activity/rules.ts';
import type { Caller, Tenant } from '../../accounts/organizations/tenant.ts';
import { userCards } from '../../accounts/users/cards.ts';
import type { UserItem } from '../../accounts/users/model.ts';
import { Answer } from '../../http/answer.ts';
import { type Paging, readPage } from '../../http/page.ts';
import {
  type Insight,
  type InsightInput,
  type InsightItem,
  type InsightPatch,
  insightObject,
  MAX_DASHBOARDS,
} from '../../insights/model.ts';
import { aboutInsight, insightChange, newInsight } from '../../insights/store.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { nextNumber } from '../../ports/table/sequence.ts';
import type { Key, Op, Table } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import { tileItem } from '../create.ts';
import { type DashboardItem, MAX_TILES } from '../model.ts';
import { checkCanEdit, checkCanEditInsight, type Member, maySee } from '../rules.ts';
import { readDashboard, readHeads } from '../stored.ts';
import { checkTileCount, noSuch } from '../tiles.ts';
import { dashboardsWith, tilesShowing } from './tiles.ts';

/** An insight, and the tiles that show it. */
export interface StoredInsight {
  readonly item: InsightItem;
  /** Keys of tiles, those of deleted dashboards too. */
  readonly tiles: readonly Key[];
}

/** An insight of the project, whoever asks: to be given to `foundInsight`. One round trip. */
export async function readInsight(table: Table, project: number, id: number): Promise<StoredInsight | undefined> {
  const [item, tiles] = await Promise.all([table.get(keys.insight(project, id)), tilesShowing(table, project, id)]);
  return item === undefined ? undefined : { item: item as InsightItem, tiles };
}

/** The insight, if it is there and not deleted; else 404. */
export function foundInsight(read: StoredInsight | undefined): StoredInsight {
  return read?.item.deleted_at === null ? read : fail('not_found');
}

/** The insight, if it is there; else 404. A PATCH may bring back a deleted one. */
export function foundToChange(read: StoredInsight | undefined): StoredInsight {
  return read ?? fail('not_found');
}

/** Insights as answers show them, each with the dashboards that the member may see. */
export async function shownInsights(
  context: Pick<Context, 'table' | 'clock'>,
  found: readonly StoredInsight[],
  { member, user }: { member: Member; user: UserItem },
): Promise<z.input<typeof Insight>[]> {
  const project = found[0]?.item.project_id ?? 0;
  const authors = found.flatMap(({ item }) => [item.created_by, item.last_modified_by]);
  const shownOn = found.map(({ tiles }) => dashboardsWith(tiles));
  const [heads, cards] = await Promise.all([
    readHeads(context.table, project, shownOn.flat()),
    userCards(context, authors, user),
  ]);
  const isSeen = (id: number): boolean => {
    const head = heads.get(id);
    return head !== undefined && maySee(head, member);
  };
  return found.map(({ item }, at) => ({
    ...insightObject(item, cards),
    dashboards: (shownOn[at] ?? []).filter(isSeen),
  }));
}

/** Who writes an insight, and where. */
export interface Author {
  readonly project: number;
  readonly member: Member;
  readonly tell: Tell;
}

type Writing = Pick<Context, 'table' | 'clock'>;

/** Makes an insight with a tile on each of the dashboards that it names, in one transaction. */
export async function createInsight(
  { table, clock }: Writing,
  author: Author,
  input: z.output<typeof InsightInput>,
  once: (insightId: string) => readonly Op[],
): Promise<StoredInsight> {
  const now = clock();
  const id = await nextNumber(table, 'insight');
  const item = newInsight({ project: author.project, id, now }, input, author.member.user_uuid);
  const told = author.tell({ ...aboutInsight(item), activity: 'created' });
  return untilWritten(async () => {
    const added = await tilesToAdd(table, author, item, input.dashboards ?? [], now);
    await table.write([{ put: item, if: 'absent' }, ...added.ops, ...once(String(id)), ...told]);
    return { item, tiles: added.tiles };
  });
}

/** What is told of the dashboards on which it comes or goes. */
function shownOn(action: 'created' | 'deleted', tiles: readonly Key[]): Change[] {
  const ids = dashboardsWith(tiles);
  const [before, after] = action === 'created' ? [null, ids] : [ids, null];
  return ids.length === 0 ? [] : [{ action, field: 'dashboards', before, after }];
}

/** Changes what was sent, and only that; tiles that come and go change with it, in one transaction. */
export async function changeInsight(
  { table, clock }: Writing,
  { member, project, tell }: Author,
  read: StoredInsight,
  patch: z.output<typeof InsightPatch>,
  ifMatch: readonly number[] | undefined,
): Promise<StoredInsight> {
  let known: StoredInsight | undefined = read;
  return untilWritten(async () => {
    const stored = known ?? foundToChange(await readInsight(table, project, read.item.id));
    known = undefined;
    const { item, tiles } = stored;
    if (item.deleted_at !== null && patch.deleted !== false) fail('not_found');
    if (ifMatch !== undefined && !ifMatch.includes(item.ver)) fail('precondition_failed');
    const heads = await readHeads(table, project, dashboardsWith(tiles));
    checkCanEditInsight([...heads.values()], member);
    const now = clock();
    const { set, changes } = insightChange(item, patch, { by: member.user_uuid, now });
    const wanted = patch.dashboards;
    const removed = wanted === undefined ? NOTHING : tilesToRemove({ item, tiles, heads }, member, wanted);
    const added = wanted === undefined ? NOTHING : await tilesToAdd(table, { project, member }, item, wanted, now);
    const unchanged = {
      id: item.id,
      deleted_at: item.deleted_at,
      ...(ifMatch === undefined ? {} : { ver: ifMatch }),
    };
    const [written] = await table.write([
      { change: keys.insight(project, item.id), set, add: { ver: 1 }, if: { is: unchanged } },
      ...removed.ops,
      ...added.ops,
      ...tell({
        ...aboutInsight({ ...item, ...set }),
        activity: patchActivity(patch),
        changes: [...changes, ...shownOn('deleted', removed.tiles), ...shownOn('created', added.tiles)],
      }),
    ]);
    return {
      item: (written ?? { ...item, ...set, ver: item.ver + 1 }) as InsightItem,
      tiles: [...tiles.filter((tile) => !removed.tiles.includes(tile)), ...added.tiles],
    };
  });
}

/** Ops on tiles, and the tiles that they put or remove. */
interface TileOps {
  readonly ops: readonly Op[];
  readonly tiles: readonly Key[];
}

const NOTHING: TileOps = { ops: [], tiles: [] };

/** A tile on each of the dashboards that shows none; 400 for one that is not there, 403 for one he may not edit. */
async function tilesToAdd(
  table: Table,
  { project, member }: Omit<Author, 'tell'>,
  item: InsightItem,
  wanted: readonly number[],
  now: number,
): Promise<TileOps> {
  const ids = [...new Set(wanted)];
  const found = await Promise.all(ids.map((id) => readDashboard(table, project, id)));
  const missing = found.flatMap((stored, at): DashboardItem[] => {
    if (stored?.head.deleted_at !== null || !maySee(stored.head, member)) return noSuch('dashboards', ids[at] ?? 0);
    return stored.tiles.some(({ insight }) => insight === item.id) ? [] : [stored.head];
  });
  if (missing.length === 0) return NOTHING;
  const first = await nextNumber(table, 'tile', missing.length);
  const made = missing.map((head, at) => {
    checkCanEdit(head, member);
    checkTileCount(head.tiles + 1);
    const place = { project, dashboard: head.id, id: first + at, now };
    return tileItem(place, { insight: item.id, text: null, layouts: '{}', color: null, created_by: member.user_uuid });
  });
  const ops = missing.map(
    ({ id }): Op => ({
      change: keys.dashboard(project, id),
      add: { ver: 1, tiles: 1 },
      if: { is: { id, deleted_at: null }, notAbove: { tiles: MAX_TILES - 1 } },
    }),
  );
  return { ops: [...ops, ...made.map((tile): Op => ({ put: tile, if: 'absent' }))], tiles: made };
}

/** The insight's tiles on all other dashboards that the member can see; 403 for one he may not edit. */
function tilesToRemove(
  { item, tiles, heads }: StoredInsight & { readonly heads: ReadonlyMap<number, DashboardItem> },
  member: Member,
  wanted: readonly number[],
): TileOps {
  const lost = [...heads.values()].filter((head) => maySee(head, member) && !wanted.includes(head.id));
  const gone = lost.map((head) => {
    checkCanEdit(head, member);
    return { head, keys: tiles.filter((tile) => dashboardsWith([tile])[0] === head.id) };
  });
  const removed = gone.flatMap((one) => one.keys);
  if (removed.length + gone.length > MAX_DASHBOARDS * 2) {
    invalid('dashboards', `An insight can be taken from at most ${MAX_DASHBOARDS} dashboards at once.`);
  }
  const ops = gone.map(
    ({ head, keys: { length } }): Op => ({
      change: keys.dashboard(head.project_id, head.id),
      add: { ver: 1, tiles: -length },
      if: { is: { id: head.id, deleted_at: null } },
    }),
  );
  return {
    ops: [...ops, ...removed.map((tile): Op => ({ remove: tile, if: { is: { insight: item.id } } }))],
    tiles: removed,
  };
}

/** A page of a project's insights, newest first, and how many there are. */
export async function readInsightPage(
  table: Table,
  project: number,
  paging: Paging,
): Promise<{ found: StoredInsight[]; count: number; cursor: string | undefined }> {
  const { items, count, cursor } = await readPage(table, ranges.insightsOf(project), paging);
  const found = (items as InsightItem[]).map(async (item) => ({
    item,
    tiles: await tilesShowing(table, project, item.id),
  }));
  return { found: await Promise.all(found), count, cursor };
}

/** The answer that shows one insight, with its version. */
export async function insightAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  found: StoredInsight,
  { membership }: Tenant,
  { user }: Caller,
): Promise<Answer<z.input<typeof Insight>>> {
  const [shown] = await shownInsights(context, [found], { member: membership, user });
  return new Answer(shown as z.input<typeof Insight>, { version: found.item.ver });
}
