/** What people read of the cells of a table. */
import { cellsShown } from '../../../lib/charts/cells.ts';
import type { Cell } from '../../../lib/charts/chart.ts';

/** Returns what is read of the cells of one column, whose values somebody asked for. */
function read(column: string, ...cells: readonly Cell[]) {
  const shown = cellsShown({ columns: [column], rows: cells.map((cell) => [cell]), isExact: true });
  return cells.map((cell) => shown(cell, 0));
}

test.each([
  [5535, '5,535', null],
  [-1_234_567, '-1,234,567', null],
  [-0, '0', null],
  [Number.MAX_SAFE_INTEGER, '9,007,199,254,740,991', null],
  [2529.4251868131864, '2,529.4252', '2529.4251868131864'],
  [12.5, '12.5', null],
  [0.1 + 0.2, '0.3', '0.30000000000000004'],
  [0.00031234, '0.0003123', '0.00031234'],
  [-0.5, '-0.5', null],
  [0.99999, '1', '0.99999'],
  [1.5e-9, '1.5E-9', '1.5e-9'],
  [1e21, '1E21', '1e+21'],
])('%d is read as %s', (value, text, exact) => {
  expect(read('n', value, 1)[0]).toEqual({ text, exact, isMissing: false });
});

test.each([
  'id',
  'user_id',
  'userId',
  'order ID',
  'toYear(timestamp)',
  'year',
  'toYYYYMM(timestamp)',
  'zip',
  'phone_number',
  'phonenumber',
  'mobile',
  'msisdn',
  'Invoice number',
  'order_no',
  'ts',
  'phoneNumber',
  'homePhone',
  'zipCode',
  'apiKey',
])('the numbers of a column %s are no amounts, and can be copied', (column) => {
  expect(read(column, 202_601, 8012).map(({ text }) => text)).toEqual(['202601', '8012']);
});

test.each(['paid', 'valid', 'count()', 'uniq(user_id)', 'grid', 'n', 'counts', 'casino', 'events'])(
  'the numbers of a column %s are amounts',
  (column) => {
    expect(read(column, 202_601, 8012).map(({ text }) => text)).toEqual(['202,601', '8,012']);
  },
);

test('numbers all of which may be years are read as years', () => {
  expect(read('y', 2025, 2026, null).map(({ text }) => text)).toEqual(['2025', '2026', 'null']);
});

test('nothing is told from an empty text and from the word', () => {
  expect(read('text', null, '', 'null')).toEqual([
    { text: 'null', exact: null, isMissing: true },
    { text: '', exact: null, isMissing: false },
    { text: 'null', exact: null, isMissing: false },
  ]);
});

test('a number that a chart has not is no cell', () => {
  const shown = cellsShown({ columns: ['day', 'paid'], rows: [['Monday', null]] });
  expect(shown(null, 1)).toEqual({ text: '', exact: null, isMissing: false });
});
