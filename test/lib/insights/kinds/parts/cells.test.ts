import { cellsOf } from '../../../../../lib/insights/kinds/parts/cells.ts';

const BEYOND = ['+010000-01-01', '0000-12-31'].map((text) => Date.parse(text)).concat(8.64e15 + 1, -8.64e15 - 1);

test.each([
  ['UTC', '0001-01-01T00:00:00Z', '9999-12-31T00:00:00Z'],
  ['Asia/Tokyo', '0001-01-01T09:18:59+09:18:59', '9999-12-31T09:00:00+09:00'],
])('times and dates are those of the years 1 to 9999, and null beyond them: %s', (zone, first, last) => {
  const times = [Date.parse('0001-01-01'), Date.parse('9999-12-31'), ...BEYOND];
  const nulls = BEYOND.map(() => null);
  const types = ["Nullable(DateTime64(6, 'UTC'))", "Array(DateTime64(6, 'UTC'))", 'Array(Date)'];
  expect(times.map((time) => cellsOf({ rows: [[time]], types }, zone)[0]?.[0])).toEqual([first, last, ...nulls]);
  expect(cellsOf({ rows: [[null, times, times]], types }, zone)).toEqual([
    [null, [first, last, ...nulls], ['0001-01-01', '9999-12-31', ...nulls]],
  ]);
});
