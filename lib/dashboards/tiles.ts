/** What a request changes in a dashboard's tiles, without I/O. */
import type * as z from 'zod';
import { definedOf } from '../basics/defined.ts';
import { MINUTE_MS } from '../basics/units.ts';
import { integer } from '../http/fields.ts';
import { type InsightItem, MAX_NAME_LENGTH } from '../insights/model.ts';
import type { NewInsight } from '../insights/store.ts';
import { invalid } from '../ports/errors.ts';
import {
  MAX_TILES,
  type SentCopy,
  type SentTile,
  type StoredDashboard,
  type TileItem,
  type TileMove,
} from './model.ts';

/** A text tile holds at most so many characters. */
const MAX_TEXT_LENGTH = 4000;
/** A tile holds at most so many bytes. */
const MAX_TILE_BYTES = 100 * 1024;

/** What a tile shows beside its insight, and how. */
type TileLook = Pick<TileItem, 'text' | 'layouts' | 'color' | 'show_description'>;

/** Returns what a tile shows beside its insight. */
export const lookOf = ({ text, layouts, color, show_description = null }: TileLook): TileLook => ({
  text,
  layouts,
  color,
  show_description,
});

/** A tile to be made; its insight is known by its number, or is made with it. */
export interface NewTile extends TileLook, Pick<TileItem, 'created_by'> {
  readonly insight: number | NewInsight | null;
}

/** The fields of a tile that a change sets. */
type TileSet = Partial<TileLook & Pick<TileItem, 'last_modified_at' | 'last_modified_by'>>;

interface TileChanges {
  readonly added: readonly NewTile[];
  readonly changed: ReadonlyMap<number, TileSet>;
  readonly removed: ReadonlySet<number>;
}

/** Returns the numbers of the insights that these tiles show. */
export const insightsOf = (tiles: readonly Pick<NewTile | TileItem, 'insight'>[]): number[] =>
  tiles.map(({ insight }) => insight).filter((insight) => typeof insight === 'number');

/** Throws a 400 beyond 500 tiles. */
export function checkTileCount(count: number): void {
  if (count > MAX_TILES) invalid('tiles', `A dashboard may have at most ${MAX_TILES} tiles.`);
}

/** A dashboard's count of tiles, and those that are there. */
type Counted = Pick<StoredDashboard, 'summary' | 'tiles'>;

/**
 * Returns how many tiles count as a dashboard's: those that are there, and those that others are writing in several
 * transactions. When none of these was at work for a minute, it has died, and what it has not written does not count.
 */
export function countedTiles({ summary, tiles }: Counted, now: number): number {
  const { tiles_coming_at = Number.NEGATIVE_INFINITY } = summary;
  return now - tiles_coming_at < MINUTE_MS ? summary.tiles : tiles.length;
}

/**
 * Returns what a change of a dashboard's head sets and adds, and under which conditions, when so many tiles come (below
 * 0: go): it has room for them. A count that is wrong is set right, while the head is as it was read.
 */
export function counting(stored: Counted, more: number, now: number) {
  const { ver, tiles, recounts } = stored.summary;
  const counted = countedTiles(stored, now);
  const is = { recounts: recounts ?? null };
  if (counted !== tiles) {
    const set = { tiles: counted + more, recounts: (recounts ?? 0) + 1 };
    return { set, add: { ver: 1 }, if: { is: { ...is, ver } } };
  }
  const room = more > 0 ? { notAbove: { tiles: MAX_TILES - more } } : {};
  return { set: {}, add: { ver: 1, tiles: more }, if: { is, ...room } };
}

/** Returns the tiles of a new dashboard. Their ids name tiles of another one and are passed over. */
export function newTiles(sent: readonly SentTile[], by: string): NewTile[] {
  return sent.map((tile, at) => newTile(tile, at, by));
}

const COPY = ' (Copy)';

/** Returns the name of a copy, which a client may send again as it is. What has no name has none as a copy. */
function copyName(name: string | null): string | null {
  if (name === null || name === '') return name;
  return `${Array.from(name)
    .slice(0, MAX_NAME_LENGTH - COPY.length)
    .join('')}${COPY}`;
}

/** Returns a new tile that is the copy of one, with a copy of its insight. */
export function tileCopy(tile: TileLook, insight: NewInsight | undefined, by: string): NewTile {
  const copied = insight === undefined ? null : { ...insight, name: copyName(insight.name), created_by: by };
  return { ...lookOf(tile), created_by: by, insight: copied };
}

/**
 * Returns the copies of tiles of a dashboard that the sent ones name, where these say. Throws a 400 for a tile that is
 * not there.
 */
export function copiedTiles(
  tiles: readonly TileItem[],
  insights: ReadonlyMap<number, InsightItem>,
  sent: readonly SentCopy[],
  by: string,
): NewTile[] {
  const present = new Map(tiles.map((tile) => [tile.id, tile]));
  return sent.map(({ id, layouts }, at) => {
    const tile = present.get(id) ?? invalidReference(`duplicate_tiles__${at}__id`, id);
    const insight = tile.insight === null ? undefined : insights.get(tile.insight);
    if (tile.insight !== null && insight?.deleted_at !== null) invalidReference(`duplicate_tiles__${at}__id`, id);
    const copy = tileCopy({ ...tile, layouts: JSON.stringify(layouts ?? {}) }, insight, by);
    checkTileSize({ ...copy, insight: null }, `duplicate_tiles__${at}`);
    return copy;
  });
}

/** Returns new tiles; of those that show the same insight the last one, in the place of the first. */
export const onePerInsight = (tiles: readonly NewTile[]): NewTile[] => [
  ...new Map(tiles.map((tile) => [typeof tile.insight === 'number' ? tile.insight : tile, tile])).values(),
];

/**
 * Returns what the sent tiles change in those that are there. One without a number whose insight is there changes that
 * tile. Throws a 400 for a tile that is not there.
 */
export function tileChanges(
  tiles: readonly TileItem[],
  sent: readonly SentTile[],
  { by, now }: { by: string; now: number },
): TileChanges {
  const present = new Map(tiles.map((tile) => [tile.id, tile]));
  const added: NewTile[] = [];
  const changed = new Map<number, TileSet>();
  const removed = new Set<number>();
  // Those that go with this request do not show their insight any more, wherever it names them.
  const going = new Set(sent.flatMap(({ id, deleted }) => (deleted === true && id !== undefined ? [id] : [])));
  const showing = (insight: number | null): TileItem | undefined =>
    insight === null ? undefined : tiles.find((tile) => tile.insight === insight && !going.has(tile.id));
  for (const [at, one] of sent.entries()) {
    if (one.id === undefined && one.deleted === true) continue;
    const tile = one.id === undefined ? showing(insightIn(one.insight, at)) : present.get(one.id);
    if (one.id === undefined && tile === undefined) {
      added.push(newTile(one, at, by));
      continue;
    }
    if (tile === undefined || removed.has(tile.id)) invalidReference(`tiles__${at}__id`, one.id ?? '');
    if (one.deleted === true) {
      removed.add(tile.id);
      changed.delete(tile.id);
    } else {
      const set = { ...changed.get(tile.id), ...changeOf(tile, one, at, { by, now }) };
      checkTileSize({ ...tile, ...set }, `tiles__${at}`);
      changed.set(tile.id, set);
    }
  }
  return { added: onePerInsight(added), changed, removed };
}

/** Throws the 400 of a reference to what is not there. */
export function invalidReference(attr: string, id: number | string): never {
  return invalid(attr, `Invalid pk "${id}" - object does not exist.`, 'does_not_exist');
}

function newTile(
  { text, insight, layouts, color, show_description = null }: SentTile,
  at: number,
  by: string,
): NewTile {
  const body = text?.body;
  const id = insightIn(insight, at);
  if (body === undefined && id === null) invalid(`tiles__${at}`, 'A tile needs a text or an insight.', 'required');
  if (body !== undefined && id !== null) {
    invalid(`tiles__${at}`, 'A tile shows a text or an insight: leave out one of them.');
  }
  const tile: NewTile = {
    insight: id,
    text: body === undefined ? null : tileText(body, at),
    layouts: JSON.stringify(layouts ?? {}),
    color: color ?? null,
    show_description,
    created_by: by,
  };
  checkTileSize(tile, `tiles__${at}`);
  return tile;
}

function changeOf(
  tile: TileItem,
  { text, layouts, color, show_description }: SentTile,
  at: number,
  { by, now }: { by: string; now: number },
): TileSet {
  const body = text?.body;
  if (tile.text === null && body !== undefined) {
    invalid(`tiles__${at}__text`, 'The tile shows an insight, and has no text. Make another one for it.');
  }
  return {
    ...(body === undefined ? {} : { text: tileText(body, at), last_modified_at: now, last_modified_by: by }),
    ...(layouts === undefined ? {} : { layouts: JSON.stringify(layouts ?? {}) }),
    ...definedOf({ color, show_description }),
  };
}

function tileText(body: string, at: number): string {
  if (body.length > MAX_TEXT_LENGTH && Array.from(body).length > MAX_TEXT_LENGTH) {
    invalid(`tiles__${at}__text__body`, `Text body cannot exceed ${MAX_TEXT_LENGTH} characters`, 'max_length');
  }
  return body;
}

/** Returns the number that `7` and `{ id: 7 }` name; null when there is none. */
function insightIn(sent: unknown, at: number): number | null {
  if (sent === undefined || sent === null) return null;
  const value = typeof sent === 'object' && 'id' in sent ? sent.id : sent;
  const id = integer().safeParse(value);
  return id.success ? id.data : invalid(`tiles__${at}__insight`, 'A valid integer is required.');
}

function checkTileSize(tile: object, attr: string): void {
  if (Buffer.byteLength(JSON.stringify(tile)) > MAX_TILE_BYTES) {
    invalid(attr, `A tile may hold at most ${MAX_TILE_BYTES / 1024} KiB.`);
  }
}

/** Returns the dashboard to which a tile moves, in either spelling. Throws a 400 when neither is sent. */
export function targetOf({ toDashboard, to_dashboard }: z.output<typeof TileMove>): number {
  return toDashboard ?? to_dashboard ?? invalid('toDashboard', 'This field is required.', 'required');
}
