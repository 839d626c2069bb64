/** Where tiles lie: a grid of twelve columns, as the API keeps it in `layouts.sm`. */

export const COLUMNS = 12;

/** A place in the grid, in cells from its top left. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const DEFAULT_WIDTH = 6;
const DEFAULT_HEIGHT = 5;

const isPlace = (value: unknown): value is Place =>
  typeof value === 'object' &&
  value !== null &&
  (['x', 'y', 'w', 'h'] as const).every((name) => Number.isInteger((value as Record<string, unknown>)[name]));

interface Placed {
  readonly id: number;
  readonly layouts: Readonly<Record<string, unknown>>;
}

/**
 * Returns the place of each tile. Of tiles that are kept at the same place, such as one that was moved here from another
 * dashboard, the later one stands below; those that have none stand below all, two in a row.
 */
export function placesOf(tiles: readonly Placed[]): ReadonlyMap<number, Place> {
  const known = new Map<number, Place>();
  for (const { id, layouts } of tiles) {
    if (!isPlace(layouts['sm'])) continue;
    const place = within(layouts['sm']);
    let { y } = place;
    while (!isFree({ ...place, y }, known.values())) y += 1;
    known.set(id, { ...place, y });
  }
  const bottom = Math.max(0, ...[...known.values()].map(({ y, h }) => y + h));
  tiles
    .filter(({ id }) => !known.has(id))
    .forEach(({ id }, at) => {
      const [column, row] = [at % 2, Math.floor(at / 2)];
      known.set(id, {
        x: column * DEFAULT_WIDTH,
        y: bottom + row * DEFAULT_HEIGHT,
        w: DEFAULT_WIDTH,
        h: DEFAULT_HEIGHT,
      });
    });
  return known;
}

/** Returns the place with its edges inside of the grid. */
function within({ x, y, w, h }: Place): Place {
  const width = Math.min(COLUMNS, Math.max(1, w));
  return { x: Math.min(COLUMNS - width, Math.max(0, x)), y: Math.max(0, y), w: width, h: Math.max(1, h) };
}

const overlaps = (a: Place, b: Place): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

const isFree = (place: Place, taken: Iterable<Place>): boolean => [...taken].every((other) => !overlaps(other, place));

/** Returns the places after one tile has moved: those in its way go below it, and what can goes up as far as it can. */
export function moved(places: ReadonlyMap<number, Place>, id: number, to: Place): ReadonlyMap<number, Place> {
  const first = within(to);
  const settled = new Map([[id, first]]);
  const others = [...places].filter(([other]) => other !== id).toSorted(([, a], [, b]) => a.y - b.y || a.x - b.x);
  for (const [other, place] of others) {
    // The first row, from its own on, at which nothing is in the way; above it only through free rows.
    const isFreeAt = (row: number): boolean => isFree({ ...place, y: row }, settled.values());
    let { y } = place;
    while (!isFreeAt(y)) y += 1;
    while (y > 0 && isFreeAt(y - 1)) y -= 1;
    settled.set(other, { ...place, y });
  }
  return settled;
}
