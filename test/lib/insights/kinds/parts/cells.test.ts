import { cellsOf } from '../../../../../lib/insights/kinds/parts/cells.ts';

const BEYOND = ['+010000-01-01', '0000-12-31'].map((text) => Date.parse(text)).concat(8.64e15 + 1, -8.64e15 - 1);

test.each([
  ['UTC', '0001-01-01T00:00:00Z', '9999-12-31T00:00:00Z'],
  ['Asia/Tokyo', '0001-01-01T09:18:59+09:18:59', '9999-12-31T09:00:00+09:00'],
])('times and dates are those of the years 1 to 9999, and null beyond them: %s', (zone, first, last) => {
  const times = [Date.parse('0001-01-01'), Date.parse('9999-12-31'), ...BEYOND];
  const nulls = BEYOND.map(() => null);
  const types = ['Nullable(DateTime64(6))', 'Array(DateTime64(6))', 'Array(Date)'];
  expect(times.map((time) => cellsOf({ rows: [[time]], types }, zone)[0]?.[0])).toEqual([first, last, ...nulls]);
  expect(cellsOf({ rows: [[null, times, times]], types }, zone)).toEqual([
    [null, [first, last, ...nulls], ['0001-01-01', '9999-12-31', ...nulls]],
  ]);
});

test('a time is shown by the clock that its type names, in lists and tuples too', () => {
  const at = Date.parse('2026-03-26T04:00:00Z');
  const types = [
    "DateTime64(6, 'America/New_York')",
    "Nullable(DateTime64(6, 'Asia/Tokyo'))",
    "Array(DateTime64(6, 'Asia/Tokyo'))",
    "Array(Tuple(DateTime64(6, 'UTC'), DateTime64(6, 'Europe/Berlin'), String))",
  ];
  expect(cellsOf({ rows: [[at, at, [at], [[at, at, 'a text']]]], types }, 'Europe/Berlin')).toEqual([
    [
      '2026-03-26T00:00:00-04:00',
      '2026-03-26T13:00:00+09:00',
      ['2026-03-26T13:00:00+09:00'],
      [['2026-03-26T04:00:00Z', '2026-03-26T05:00:00+01:00', 'a text']],
    ],
  ]);
});
