/** How tiles are moved on a dashboard. */
import { type Place, stacked, wishOf } from '../../charts/places.ts';

type Places = ReadonlyMap<number, Place>;

/**
 * Returns the places after one tile has moved or was sized. Upward it goes above all from its new row on; downward below
 * those of which it has passed the middle. The others keep their order, and all go up as far as they can.
 */
export function moved(places: Places, id: number, to: Place): Places {
  const isDown = to.y > (places.get(id)?.y ?? to.y);
  const isPassed = ({ y, h }: Place): boolean => (isDown ? y + h / 2 < to.y + to.h : y < to.y);
  const others = [...places].filter(([other]) => other !== id).toSorted(([, a], [, b]) => a.y - b.y || a.x - b.x);
  const above = others.filter(([, place]) => isPassed(place));
  const below = others.filter(([, place]) => !isPassed(place));
  const order = [...above, [id, to] as const, ...below].map(([tile, place]) => ({ tile, ...wishOf(place) }));
  return new Map(stacked(order).map(({ tile, x, y, w, h }) => [tile, { x, y, w, h }]));
}

/** Returns the place to which a tile goes to pass the next one in its columns, above or below; undefined: there is none. */
export function pastNext(places: Places, id: number, isDown: boolean): Place | undefined {
  const own = places.get(id);
  if (own === undefined) return undefined;
  const beside = [...places.values()].filter(({ x, w }) => x < own.x + own.w && own.x < x + w);
  const [next] = isDown
    ? beside.filter(({ y }) => y > own.y).toSorted((a, b) => a.y - b.y)
    : beside.filter(({ y }) => y < own.y).toSorted((a, b) => b.y - a.y);
  if (next === undefined) return undefined;
  return { ...own, y: isDown ? Math.max(own.y, Math.floor(next.y + next.h / 2 - own.h)) + 1 : next.y };
}
