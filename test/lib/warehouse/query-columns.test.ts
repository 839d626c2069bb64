import { ALL, type QueryColumn } from '../../../lib/hogql/expression.ts';
import type { Column } from '../../../lib/warehouse/columns.ts';
import { computedColumns, deliveredColumns, plainColumns } from '../../../lib/warehouse/query-columns.ts';

const DEFAULTS: readonly Column[] = [
  { name: 'uuid', type: 'text', field: 'uuid' },
  { name: 'timestamp', type: 'instant', field: 'timestamp' },
];
const when: QueryColumn = { name: 'at', type: 'instant', expression: { column: 'timestamp_us', type: 'instant' } };
const one: QueryColumn = { name: 'UUID', type: 'integer', expression: { constant: '1', type: 'integer' } };

test('without a query, a destination delivers its own columns, and nothing is computed', () => {
  expect(deliveredColumns(null, DEFAULTS)).toBe(DEFAULTS);
  expect(computedColumns(null)).toEqual([]);
  expect(plainColumns(null)).toBeNull();
});

test('a column as it is has the field by which destinations know it; others are computed by their place', () => {
  expect(deliveredColumns([when, one], DEFAULTS)).toEqual([
    { name: 'at', type: 'instant', field: 'timestamp' },
    { name: 'UUID', type: 'integer', field: 'query_1' },
  ]);
  expect(computedColumns([when, one])).toEqual([{ field: 'query_1', column: one }]);
  expect([...(plainColumns([when, one]) ?? [])]).toEqual(['timestamp_us']);
});

test('a star is the columns of the destination that the query does not name itself', () => {
  expect(deliveredColumns([ALL, one], DEFAULTS).map(({ name }) => name)).toEqual(['timestamp', 'UUID']);
  expect(plainColumns([ALL, one])).toBeNull();
});
