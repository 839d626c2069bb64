import type * as z from 'zod';
import { KINDS, kindOf } from '../../../lib/insights/kinds/kinds.ts';
import { FiltersOverride, overridden } from '../../../lib/insights/overrides.ts';

const SERIES = [{ kind: 'EventsNode', event: 'paid' }];

test('an interval is put into queries of the kinds that have one, and of no others', () => {
  const taking = KINDS.filter(
    ({ name }) => 'interval' in overridden({ kind: name }, { filters: { interval: 'week' } }),
  );
  expect(taking).toEqual(KINDS.filter(({ schema }) => 'interval' in (schema as unknown as z.ZodObject).shape));
});

test.each([
  { kind: 'TrendsQuery', series: SERIES, interval: 'day' },
  { kind: 'StickinessQuery', series: SERIES },
  { kind: 'LifecycleQuery', series: SERIES, filterTestAccounts: true },
  { kind: 'FunnelsQuery', series: [...SERIES, ...SERIES] },
])('an interval and test accounts take the place of those of $kind', (query) => {
  for (const filters of [
    { interval: 'week', filterTestAccounts: false },
    { interval: 'hour', filterTestAccounts: true },
  ]) {
    const asked = overridden(query, { filters: FiltersOverride.parse(filters) });
    expect(kindOf(asked).schema.parse(asked)).toMatchObject(filters);
  }
  expect(overridden(query, { filters: { interval: null, filterTestAccounts: null } })).toEqual(query);
});

test.each([
  [{ kind: 'RetentionQuery' }, { kind: 'RetentionQuery', filterTestAccounts: true }],
  [{ kind: 'PathsQuery' }, { kind: 'PathsQuery', filterTestAccounts: true }],
  [{ kind: 'EventsQuery' }, { kind: 'EventsQuery', filterTestAccounts: true }],
  [
    { kind: 'ActorsQuery', interval: 3 },
    { kind: 'ActorsQuery', interval: 3 },
  ],
  [{ kind: 'HogQLQuery' }, { kind: 'HogQLQuery', filters: { filterTestAccounts: true } }],
])('%j, which is cut by no interval, keeps what it has', (query, asked) => {
  expect(overridden(query, { filters: { interval: 'week', filterTestAccounts: true } })).toEqual(asked);
});

test.each([
  { kind: 'TrendsQuery', series: SERIES, dateRange: { date_from: '-30d' } },
  { kind: 'EventsQuery', after: '-30d', before: '-1d' },
  { kind: 'HogQLQuery', query: 'SELECT 1', filters: { dateRange: { date_from: '-30d' } } },
])('dates that are empty leave those of $kind', (query) => {
  const filters = FiltersOverride.parse({ date_from: '', date_to: '' });
  expect(overridden(query, { filters })).toEqual(query);
  expect(overridden(query, { filters: { ...filters, explicitDate: true } })).toEqual(query);
});
