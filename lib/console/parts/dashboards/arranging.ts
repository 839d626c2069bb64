/** How tiles are dragged, and moved and sized with the arrow keys. */
import { type KeyboardEvent, type PointerEvent, type RefObject, useState } from 'react';
import { counted } from '../../../basics/text.ts';
import { COLUMNS, type Place, placesOf } from '../../../charts/places.ts';
import type { Tile } from '../../client/dashboards.ts';
import { moved, pastNext } from '../../client/layout.ts';

export const ROW_PX = 56;
export const GAP_PX = 12;

/** Returns the place of each tile by its number. */
function storedPlaces(tiles: readonly Tile[]): ReadonlyMap<number, Place> {
  const places = placesOf(tiles.map(({ layouts }) => layouts));
  return new Map(tiles.map(({ id }, at) => [id, places[at] as Place]));
}

/** Shows tiles where they are dragged, and has `place` keep where they were put. `grid` is what they stand in. */
export function useArranging(
  tiles: readonly Tile[],
  grid: RefObject<HTMLElement | null>,
  place: (places: ReadonlyMap<number, Place>) => void,
) {
  const [dragged, setDragged] = useState<{ id: number; at: Place } | null>(null);
  const [said, setSaid] = useState('');
  const stored = storedPlaces(tiles);
  const places = dragged === null ? stored : moved(stored, dragged.id, dragged.at);

  /** Follows the pointer from the handle; `isSize`: the tile's size, else its place. */
  const drag = (id: number, isSize: boolean) => (event: PointerEvent<HTMLElement>) => {
    const from = stored.get(id);
    const width = grid.current?.clientWidth;
    if (from === undefined || width === undefined) return;
    event.preventDefault();
    const column = (width + GAP_PX) / COLUMNS;
    const row = ROW_PX + GAP_PX;
    const [left, top] = [event.clientX, event.clientY];
    const handle = event.currentTarget;
    handle.setPointerCapture(event.pointerId);
    let last = from;
    const listening = new AbortController();
    const { signal } = listening;
    const follow = ({ clientX, clientY }: { readonly clientX: number; readonly clientY: number }): void => {
      const [x, y] = [Math.round((clientX - left) / column), Math.round((clientY - top) / row)];
      last = isSize
        ? { ...from, w: from.w + x, h: Math.max(1, from.h + y) }
        : { ...from, x: from.x + x, y: from.y + y };
      setDragged({ id, at: last });
    };
    const end = (): void => {
      listening.abort();
      setDragged(null);
      if (last !== from) place(moved(stored, id, last));
    };
    handle.addEventListener('pointermove', follow, { signal });
    handle.addEventListener('pointerup', end, { signal });
    handle.addEventListener('pointercancel', end, { signal });
  };

  /** Moves a tile, and says where it stands then to who does not see it. */
  const put = (id: number, name: string, at: Place): void => {
    const next = moved(stored, id, at);
    const { x, y, w, h } = next.get(id) as Place;
    setSaid(`${name} is at column ${x + 1}, row ${y + 1}, ${counted(w, 'column')} wide, ${counted(h, 'row')} high.`);
    place(next);
  };

  /** Takes an arrow key on a tile's handle. */
  const step = (id: number, name: string, isSize: boolean) => (event: KeyboardEvent) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const from = stored.get(id);
    if (by === undefined || from === undefined) return;
    event.preventDefault();
    const [x = 0, y = 0] = by;
    if (isSize) put(id, name, { ...from, w: from.w + x, h: from.h + y });
    else {
      const to = y === 0 ? { ...from, x: from.x + x } : pastNext(stored, id, y > 0);
      if (to !== undefined) put(id, name, to);
    }
  };

  return {
    /** Where each tile is shown, by its number. */
    places,
    /** Where the tile stands that was moved last, in a sentence; empty: none was. */
    said,
    drag,
    step,
  };
}
