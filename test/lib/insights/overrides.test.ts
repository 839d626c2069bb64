import type * as z from 'zod';
import { NO_FILTERS } from '../../../lib/insights/filter-schema.ts';
import { ALL_KINDS, KINDS, kindOf } from '../../../lib/insights/kinds/kinds.ts';
import { FiltersOverride, overridden, overridesIn } from '../../../lib/insights/overrides.ts';

const SERIES = [{ kind: 'EventsNode', event: 'paid' }];

test('an interval is put into queries of the kinds that have one, and of no others', () => {
  const taking = KINDS.filter(
    ({ name }) => 'interval' in overridden({ kind: name }, { filters: { interval: 'week' } }),
  );
  expect(taking).toEqual(KINDS.filter(({ schema }) => 'interval' in (schema as unknown as z.ZodObject).shape));
});

test('a breakdown is put into queries of the kinds that have one, and of no others', () => {
  const breakdown_filter = { breakdown: 'plan' };
  const taking = KINDS.filter(
    ({ name }) => 'breakdownFilter' in overridden({ kind: name }, { filters: { breakdown_filter } }),
  );
  const names = ['FunnelsQuery', 'RetentionQuery', 'TrendsQuery'];
  expect(taking.map(({ name }) => name)).toEqual(names);
  const refusing = KINDS.filter(({ schema }) => {
    const field = (schema as unknown as z.ZodObject).shape['breakdownFilter'] as z.ZodType | undefined;
    return field?.safeParse(breakdown_filter).success === false;
  });
  expect(refusing.map(({ name }) => name)).toEqual(['LifecycleQuery', 'PathsQuery', 'StickinessQuery']);
});

test.each([
  { kind: 'LifecycleQuery', series: SERIES },
  { kind: 'PathsQuery' },
  { kind: 'StickinessQuery', series: SERIES },
])('a breakdown that names nothing is none of $kind', (query) => {
  for (const breakdownFilter of [null, {}, { breakdown: null, breakdown_type: 'event' }, { breakdowns: [] }])
    expect(kindOf(query).schema.safeParse({ ...query, breakdownFilter })).toMatchObject({ success: true });
});

test('dates are put where each kind reads them, and nowhere where it has none of its own', () => {
  const told = ALL_KINDS.map(({ name, schema }) => {
    const { kind: _kind, ...added } = overridden({ kind: name }, { filters: { date_from: '2026-01-06' } });
    const shape: object = (schema as unknown as z.ZodObject).shape;
    return {
      name,
      isRead: Object.keys(added).every((member) => member in shape),
      isPut: Object.keys(added).length > 0,
    };
  });
  expect(told).toEqual(ALL_KINDS.map(({ name }) => ({ name, isRead: true, isPut: name !== 'ActorsQuery' })));
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

test.each([
  [
    { date_from: '2026-01-06', date_to: '2026-01-06' },
    { after: '2026-01-06', before: '2026-01-07' },
  ],
  [
    { date_from: '2026-1-31T00:00', date_to: '2026-1-31' },
    { after: '2026-1-31T00:00', before: '2026-02-01' },
  ],
  [
    { date_from: '2026-01-06', date_to: '2026-01-06', explicitDate: true },
    { after: '2026-01-06', before: '2026-01-06' },
  ],
  [
    { date_from: '2026-01-06', date_to: '2026-01-06T15:00' },
    { after: '2026-01-06', before: '2026-01-06T15:00' },
  ],
  [{ date_from: '-7d' }, { after: '-7d', before: null }],
  [{ date_to: '-1d' }, { after: '-7d', before: '-1d' }],
])('%j takes the place of both dates of a query of events', (filters, dates) => {
  const query = { kind: 'EventsQuery', after: '2025-05-01', before: '2025-06-01' };
  expect(overridden(query, { filters })).toEqual({ kind: 'EventsQuery', ...dates });
});

test.each([
  [3, { value: 3, isNull: false }],
  [null, { value: null, isNull: false }],
  [{ value: 3 }, { value: 3, isNull: false }],
  [
    { value: 3, isNull: true },
    { value: 3, isNull: true },
  ],
  [{ isNull: true }, { value: 1, isNull: true }],
  [
    { code_name: 'x', isNull: false },
    { value: 1, isNull: false },
  ],
])('%j of a variable makes it %j', (given, made) => {
  const variables = { v1: { code_name: 'x', value: 1, isNull: true } };
  const query = { kind: 'HogQLQuery', query: 'SELECT {variables.x}', variables };
  for (const name of ['v1', 'x']) {
    const asked = overridden(query, { variables: [{ [name]: given }] });
    expect(asked).toEqual({ ...query, variables: { v1: { code_name: 'x', ...made } } });
  }
});

test.each([
  [{ date_from: 5 }, 'filters_override__date_from', 'Not a valid string.'],
  [{ interval: 5 }, 'filters_override__interval', 'Not a valid string.'],
  [{ filterTestAccounts: 'x' }, 'filters_override__filterTestAccounts', 'Must be a valid boolean.'],
  [{ properties: 'x' }, 'filters_override__properties', NO_FILTERS],
  [[], 'filters_override', 'Expected JSON of an object.'],
  [null, 'filters_override', 'Expected JSON of an object.'],
])('%j of a query string is refused by the name of what is wrong', (sent, attr, detail) => {
  const body = { attr, detail };
  const refusal = expect.objectContaining({ status: 400, body: expect.objectContaining(body) });
  expect(() => overridesIn({ filters_override: JSON.stringify(sent) })).toThrow(refusal);
});

test.each([['filters_override'], ['variables_override']])('%s that is no JSON of an object is told so', (attr) => {
  for (const text of ['{', '5', '"x"', '[1]', 'null'])
    expect(() => overridesIn({ [attr]: text })).toThrow('Expected JSON of an object.');
});

test('what is said of a variable by its id goes before what is said by its name, null too', () => {
  const query = { kind: 'HogQLQuery', query: 'SELECT 1', variables: { v1: { code_name: 'x', value: 1 } } };
  for (const value of [2, null])
    expect(overridden(query, { variables: [{ v1: value, x: 3 }] })).toMatchObject({ variables: { v1: { value } } });
});
