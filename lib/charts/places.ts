/** Where the tiles of a dashboard stand, on every page that shows it: in a grid, each as far up as there is room. */

/** Layouts are made for a grid of so many columns. */
export const COLUMNS = 12;
/** What a tile without a layout is like; PostHog's are so large. */
const DEFAULT = { w: 6, h: 5 };
const MAX_HEIGHT = 60;

/** A place in the grid, in cells from its top left. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** What a tile asks for. */
interface Wish {
  /** Undefined: where it comes highest. */
  readonly x: number | undefined;
  readonly w: number;
  readonly h: number;
}

/**
 * Returns the places of tiles, in the order of their layouts, of which `sm` may be anything. They are placed by the rows
 * that they ask for, those of one row as they come, those that ask for none at last; none covers another one.
 */
export function placesOf(layouts: readonly unknown[]): Place[] {
  const wished = layouts.map((layout, at) => {
    const { sm } = layout as { sm?: Partial<Record<keyof Place, unknown>> | null };
    return { at, row: typeof sm?.y === 'number' ? sm.y : Number.POSITIVE_INFINITY, ...wishOf(sm) };
  });
  return stacked(wished.toSorted((a, b) => Number(a.row > b.row) - Number(a.row < b.row)))
    .toSorted((a, b) => a.at - b.at)
    .map(({ x, y, w, h }) => ({ x, y, w, h }));
}

/** Returns what a tile asks for with any numbers, as the grid can give it. */
export function wishOf(sent: Partial<Record<keyof Place, unknown>> | null | undefined): Wish {
  const w = within(sent?.w, 1, COLUMNS) ?? DEFAULT.w;
  const h = within(sent?.h, 1, MAX_HEIGHT) ?? DEFAULT.h;
  const x = within(sent?.x, 0, COLUMNS - 1);
  return { x: x === undefined ? undefined : Math.min(x, COLUMNS - w), w, h };
}

/** Returns a whole number between two; undefined for what is no number. */
const within = (value: unknown, least: number, most: number): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? Math.min(Math.max(Math.round(value), least), most) : undefined;

/** Places tiles one after the other, each below what stands in its columns. */
export function stacked<T extends Wish>(tiles: readonly T[]): (T & Place)[] {
  const bottoms = Array.from({ length: COLUMNS }, () => 0);
  const topOf = (x: number, w: number): number => Math.max(...bottoms.slice(x, x + w));
  return tiles.map((tile) => {
    const { w, h } = tile;
    const x = tile.x ?? highest(topOf, w);
    const y = topOf(x, w);
    bottoms.fill(y + h, x, x + w);
    return { ...tile, x, y };
  });
}

function highest(topOf: (x: number, w: number) => number, w: number): number {
  let best = 0;
  for (let x = 0; x <= COLUMNS - w; x += w) if (topOf(x, w) < topOf(best, w)) best = x;
  return best;
}
