import type { Place } from '../../../lib/charts/places.ts';
import { placesOf } from '../../../lib/charts/places.ts';
import { moved, pastNext } from '../../../lib/console/client/layout.ts';

/** Two tiles in a row, and a wide one below them. */
const BOARD: ReadonlyMap<number, Place> = new Map([
  [1, { x: 0, y: 0, w: 6, h: 5 }],
  [2, { x: 6, y: 0, w: 6, h: 3 }],
  [3, { x: 0, y: 5, w: 12, h: 4 }],
]);

const rows = (places: ReadonlyMap<number, Place>) => Object.fromEntries([...places].map(([id, { y }]) => [id, y]));

test('a tile that is moved up to another one stands above it', () => {
  expect(rows(moved(BOARD, 3, { x: 0, y: 0, w: 12, h: 4 }))).toEqual({ 1: 4, 2: 4, 3: 0 });
});

test('a tile that is moved down stands below those of which it has passed the middle, and all go up', () => {
  expect(rows(moved(BOARD, 1, { x: 0, y: 2, w: 6, h: 5 }))).toEqual({ 1: 0, 2: 0, 3: 5 });
  expect(rows(moved(BOARD, 1, { x: 0, y: 3, w: 6, h: 5 }))).toEqual({ 1: 7, 2: 0, 3: 3 });
});

test('a tile that is moved aside or made larger moves those in its way below it', () => {
  expect(rows(moved(BOARD, 1, { x: 1, y: 0, w: 6, h: 5 }))).toEqual({ 1: 0, 2: 5, 3: 8 });
  expect(rows(moved(BOARD, 2, { x: 6, y: 0, w: 6, h: 7 }))).toEqual({ 1: 0, 2: 0, 3: 7 });
});

test('a tile is not moved out of the grid, and not made too large for it', () => {
  expect(moved(BOARD, 1, { x: 40, y: -3, w: 90, h: 1e9 }).get(1)).toEqual({ x: 0, y: 0, w: 12, h: 60 });
});

test('a step passes the next tile in the columns of a tile, and there is none past the last one', () => {
  const step = (id: number, isDown: boolean) => {
    const to = pastNext(BOARD, id, isDown);
    return to && rows(moved(BOARD, id, to));
  };
  expect(step(1, true)).toEqual({ 1: 7, 2: 0, 3: 3 });
  expect(step(2, true)).toEqual({ 1: 0, 2: 9, 3: 5 });
  expect(step(3, false)).toEqual({ 1: 4, 2: 4, 3: 0 });
  expect(step(3, true)).toBeUndefined();
  expect(step(1, false)).toBeUndefined();
});

test('tiles stand where they were moved to once that is kept', () => {
  for (const to of [
    { x: 3, y: 4, w: 5, h: 2 },
    { x: 0, y: 9, w: 12, h: 1 },
    { x: 6, y: 0, w: 6, h: 5 },
  ]) {
    const places = moved(BOARD, 1, to);
    expect(placesOf([...places.values()].map((sm) => ({ sm })))).toEqual([...places.values()]);
  }
});
