import * as fc from 'fast-check';
import { placesOf } from '../../../../lib/charts/places.ts';
import { layoutStyle } from '../../../../lib/dashboards/public-page/layout.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const at = (x: number, w: number, h: number) => ({ sm: { x, y: 0, w, h } });

test('tiles stand in their columns, as far up as there is room', () => {
  expect(placesOf([at(0, 6, 5), at(6, 6, 3), at(6, 6, 2), at(0, 12, 4)])).toEqual([
    { x: 0, y: 0, w: 6, h: 5 },
    { x: 6, y: 0, w: 6, h: 3 },
    { x: 6, y: 3, w: 6, h: 2 },
    { x: 0, y: 5, w: 12, h: 4 },
  ]);
});

test('tiles without a layout stand in two columns', () => {
  expect(placesOf([{}, {}, {}]).map(({ x, y }) => [x, y])).toEqual([
    [0, 0],
    [6, 0],
    [0, 5],
  ]);
});

test('whatever layouts say, no tile covers another one or leaves the page, and rules are numbers', () => {
  const value = fc.oneof(fc.integer({ min: -5, max: 40 }), fc.double(), fc.constantFrom(null, '} body {', {}));
  const layout = fc.oneof(
    fc.record({ sm: fc.record({ x: value, w: value, h: value }) }),
    fc.constantFrom({}, { sm: null }),
  );
  fc.assert(
    fc.property(fc.array(layout, { maxLength: 30 }), (layouts) => {
      const places = placesOf(layouts);
      const taken = new Set<string>();
      for (const { x, y, w, h } of places) {
        expect(x + w).toBeLessThanOrEqual(12);
        for (let row = y; row < y + h; row += 1) {
          for (let column = x; column < x + w; column += 1) {
            expect(taken.has(`${column} ${row}`)).toBe(false);
            taken.add(`${column} ${row}`);
          }
        }
      }
      expect(layoutStyle(places)).toMatch(
        /^@media \(min-width: 48rem\) \{\n(\.t\d+ \{ grid-column: \d+ \/ span \d+; grid-row: \d+ \/ span \d+; \}\n?)*\n?\}\n$/,
      );
    }),
    { numRuns: propertyRuns(300) },
  );
});
