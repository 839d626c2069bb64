import { placesOf } from '../../../lib/charts/places.ts';

const at = (x: number, y: number, w: number, h: number) => ({ sm: { x, y, w, h } });

test('tiles stand by the rows that they ask for, in whatever order they come, and those without one at last', () => {
  expect(placesOf([{}, at(0, 7, 6, 2), at(0, 3, 12, 4), at(6, 900, 6, 1)])).toEqual([
    { x: 6, y: 5, w: 6, h: 5 },
    { x: 0, y: 4, w: 6, h: 2 },
    { x: 0, y: 0, w: 12, h: 4 },
    { x: 6, y: 4, w: 6, h: 1 },
  ]);
});

test.each([Number.MAX_SAFE_INTEGER + 1, Number.MAX_VALUE, Number.POSITIVE_INFINITY, -Number.MAX_VALUE])(
  'no number makes a board too tall, or its places slow to find: %p',
  (number) => {
    const some = Array.from({ length: 500 }, (_, row) => ({
      sm: { x: number, y: row % 2 === 0 ? number : row, w: 6, h: number },
    }));
    const places = placesOf(some);
    expect(places).toHaveLength(500);
    expect(Math.max(...places.map(({ y, h }) => y + h))).toBeLessThanOrEqual(500 * 60);
  },
);
