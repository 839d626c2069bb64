/** A question is in the form again as it was kept, or not at all. */
import * as fc from 'fast-check';
import { OPERATORS, PROPERTY_TYPES } from '../../../lib/console/client/property-filters.ts';
import {
  DISPLAYS,
  eventsOf,
  FIRST_QUESTION,
  firstQuestion,
  INTERVALS,
  isWhole,
  KINDS,
  MATHS,
  type Question,
  queryOf,
  questionOf,
} from '../../../lib/console/client/questions.ts';
import { kindOf } from '../../../lib/insights/kinds/kinds.ts';
import { sourceOf } from '../../../lib/insights/kinds/source.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const oneOf = <Value>(choices: readonly { readonly value: Value }[]): fc.Arbitrary<Value> =>
  fc.constantFrom(...choices.map(({ value }) => value));
const name = fc.constantFrom('', 'plan', '$browser', 'paid');

const question: fc.Arbitrary<Question> = fc
  .record({
    kind: oneOf(KINDS),
    series: fc.array(fc.record({ event: name, math: oneOf(MATHS), property: name }), { minLength: 2, maxLength: 3 }),
    filters: fc.array(
      fc.record({
        type: oneOf(PROPERTY_TYPES),
        property: name,
        operator: oneOf(OPERATORS),
        value: fc.constantFrom('', '-7d', '2026-01-05'),
      }),
      { maxLength: 3 },
    ),
    range: fc.constantFrom({ date_from: '-7d', date_to: null }, { date_from: '2015-05-17', date_to: '2015-05-20' }),
    interval: oneOf(INTERVALS),
    display: oneOf(DISPLAYS),
    breakdowns: fc.array(fc.record({ type: oneOf(PROPERTY_TYPES), property: name }), { maxLength: 3 }),
    isCompared: fc.boolean(),
    formula: fc.constantFrom('', 'A', '(A + B) / 2'),
    hogql: fc.constantFrom('SELECT 1', 'SELECT 2'),
  })
  .map(({ series, filters, breakdowns, ...rest }) => ({
    ...rest,
    series: series.map((one, key) => ({ key, ...one })),
    filters: filters.map((one, key) => ({ key, ...one })),
    breakdowns: breakdowns.map((one, key) => ({ key, ...one })),
  }));

test('whatever the form asks, the service reads, and the form says it again', () => {
  fc.assert(
    fc.property(question, (asked) => {
      const query = queryOf(asked);
      const source = sourceOf(query);
      expect(kindOf(source).schema.safeParse(source)).toMatchObject({ success: true });
      const again = questionOf(JSON.parse(JSON.stringify(query)));
      expect(again && queryOf(again)).toEqual(query);
    }),
    { numRuns: propertyRuns(1000) },
  );
});

test.each(['TrendsQuery', 'FunnelsQuery', 'RetentionQuery'] as const)(
  'a %s is broken down by what is chosen',
  (kind) => {
    const breakdown = { key: 0, type: 'person', property: 'plan' } as const;
    const { source } = queryOf({ ...FIRST_QUESTION, kind, breakdowns: [breakdown] }) as { source: unknown };
    expect(source).toMatchObject({ kind, breakdownFilter: { breakdown: 'plan', breakdown_type: 'person' } });
  },
);

test.each([
  ['none', [], ''],
  [
    'some',
    [
      { name: 'came', volume_30_day: 1 },
      { name: 'paid', volume_30_day: 2 },
    ],
    'paid',
  ],
  [
    'page views',
    [
      { name: '$pageview', volume_30_day: 0 },
      { name: 'paid', volume_30_day: 2 },
    ],
    '$pageview',
  ],
])('where %s were seen, a form begins with an event that there is', (_what, seen, event) => {
  expect(firstQuestion(seen)).toEqual({ ...FIRST_QUESTION, series: [{ key: 0, event, math: 'total', property: '' }] });
});

test.each([
  ['TrendsQuery', ['came', 'paid', 'came'], ['came', 'paid']],
  ['TrendsQuery', ['came', ''], []],
  ['FunnelsQuery', ['came', 'paid'], ['came']],
  ['RetentionQuery', ['came', ''], ['came']],
  ['LifecycleQuery', ['came', 'paid'], ['came']],
  ['StickinessQuery', ['paid'], ['paid']],
  ['PathsQuery', ['/home'], []],
  ['HogQLQuery', ['paid'], []],
] as const)('without events a %s of %j has no number but of %j', (kind, events, needed) => {
  const series = events.map((event, key) => ({ key, event, math: 'total', property: '' }) as const);
  expect(eventsOf({ ...FIRST_QUESTION, kind, series })).toEqual(needed);
});

test('a question is whole once each number that is of a property has one, where it is counted', () => {
  const one = { key: 0, event: 'paid', math: 'sum', property: '' } as const;
  expect(isWhole({ ...FIRST_QUESTION, series: [one] })).toBe(false);
  expect(isWhole({ ...FIRST_QUESTION, series: [{ ...one, property: 'amount' }] })).toBe(true);
  expect(isWhole({ ...FIRST_QUESTION, kind: 'StickinessQuery', series: [one] })).toBe(true);
});

const trend = (more: object) => ({
  kind: 'InsightVizNode',
  source: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }], ...more },
});

test.each([
  ['a filter whose value stands alone', { properties: [{ key: 'plan', value: 'pro' }] }],
  ['a filter of a person', { properties: [{ key: 'plan', type: 'person', operator: 'regex', value: ['^p'] }] }],
  ['no filters', { properties: [] }],
  ['a breakdown in a list of one', { breakdownFilter: { breakdowns: [{ property: 'plan', type: 'person' }] } }],
  ['a breakdown by several of one type', { breakdownFilter: { breakdown: ['plan', 'page'], breakdown_type: 'event' } }],
  ['days', { dateRange: { date_from: '2026-01-05', date_to: '2026-01-06' } }],
  ['dates to the end of their day', { dateRange: { date_from: '-7d', date_to: '', explicitDate: false } }],
  [
    'groups of filters all of which must pass',
    {
      properties: {
        type: 'AND',
        values: [
          { type: 'AND', values: [{ key: 'plan', value: 'pro' }] },
          { type: 'AND', values: [] },
        ],
      },
    },
  ],
  ['test accounts that stay', { filterTestAccounts: false }],
  ['no comparison', { compareFilter: { compare: false } }],
  ['a comparison', { compareFilter: { compare: true } }],
  ['a formula', { trendsFilter: { formula: 'A * 2' } }],
  ['a formula in a list of one', { trendsFilter: { formula: '', formulas: ['A * 2'] } }],
  ['a formula as a node', { trendsFilter: { formula: 'A', formulaNodes: [{ formula: 'A * 2', custom_name: null }] } }],
  ['no formulas', { trendsFilter: { formula: '', formulas: [], formulaNodes: [], showLegend: false } }],
  ['a series without filters', { series: [{ kind: 'EventsNode', event: 'paid', math: 'total', properties: [] }] }],
  ['whole addresses', { breakdownFilter: { breakdowns: [{ property: '$current_url', normalize_url: false }] } }],
])('the form says %s, which other clients send', (_what, more) => {
  expect(questionOf(trend(more))).toMatchObject({ kind: 'TrendsQuery' });
});

test.each(['is_set', 'is_not_set'])('the form says that a property %s, with whatever value it was sent', (operator) => {
  const asked = questionOf(trend({ properties: [{ key: 'plan', operator, value: operator, type: 'event' }] }));
  expect(asked?.filters).toEqual([{ key: 0, type: 'event', property: 'plan', operator, value: '' }]);
});

test.each([
  ['FunnelsQuery', { funnelsFilter: { funnelVizType: 'steps', funnelWindowInterval: 14, exclusions: [] } }, true],
  ['FunnelsQuery', { interval: 'day', funnelsFilter: { funnelOrderType: 'ordered' } }, true],
  ['FunnelsQuery', { funnelsFilter: { funnelVizType: 'trends' } }, false],
  ['FunnelsQuery', { funnelsFilter: { funnelWindowInterval: 7 } }, false],
  ['LifecycleQuery', { series: [{ kind: 'EventsNode', event: 'paid', math: 'total' }] }, true],
  ['RetentionQuery', { retentionFilter: { retentionType: 'retention_recurring', cumulative: false } }, true],
  ['RetentionQuery', { retentionFilter: { retentionType: 'retention_first_time' } }, false],
  ['StickinessQuery', { stickinessFilter: { computedAs: 'non_cumulative' } }, true],
  ['PathsQuery', { pathsFilter: { includeEventTypes: ['$pageview', 'custom_event'], stepLimit: 5 } }, true],
  ['PathsQuery', { pathsFilter: { includeEventTypes: ['$pageview', 'custom_event'], stepLimit: 4 } }, false],
  ['PathsQuery', { pathsFilter: { includeEventTypes: [] } }, false],
])('of a %s with %j, what the service does by default is no more than the form says', (kind, more, isSaid) => {
  const series = ['came', 'paid'].map((event) => ({ kind: 'EventsNode', event }));
  const isOfSeries = kind !== 'RetentionQuery' && kind !== 'PathsQuery';
  expect(questionOf({ kind, ...(isOfSeries ? { series } : {}), ...more }) !== undefined).toBe(isSaid);
});

test.each([
  ['test accounts that go', { filterTestAccounts: true }],
  ['ends that are moments', { dateRange: { date_from: '-7d', explicitDate: true } }],
  ['a comparison with another time', { compareFilter: { compare: true, compare_to: '-1y' } }],
  ['a sample', { samplingFactor: 0.1 }],
  ['a series with filters', { series: [{ event: 'paid', properties: [{ key: 'plan', value: 'pro' }] }] }],
  [
    'a group of filters among others',
    { properties: { type: 'AND', values: [{ type: 'OR', values: [{ key: 'plan', value: 'pro' }] }] } },
  ],
  ['a group of filters', { properties: { type: 'OR', values: [{ key: 'plan', value: 'pro' }] } }],
  ['a filter of several values', { properties: [{ key: 'plan', value: ['pro', 'max'] }] }],
  ['a filter by a number', { properties: [{ key: 'plan', value: 5 }] }],
  [
    'a filter of a session',
    { properties: [{ key: '$session_duration', type: 'session', operator: 'gt', value: '5' }] },
  ],
  ['an operator that the form has not', { properties: [{ key: 'plan', operator: 'between', value: [1, 2] }] }],
  ['a breakdown by a session', { breakdownFilter: { breakdown: '$entry_utm_source', breakdown_type: 'session' } }],
  ['a breakdown with a limit', { breakdownFilter: { breakdown: 'plan', breakdown_limit: 3 } }],
  [
    'a breakdown by addresses without their ends',
    { breakdownFilter: { breakdowns: [{ property: '$current_url', normalize_url: true }] } },
  ],
  ['a math that the form has not', { series: [{ kind: 'EventsNode', event: 'paid', math: 'p90' }] }],
  ['a display that the form has not', { trendsFilter: { display: 'WorldMap' } }],
  ['several formulas', { trendsFilter: { formulas: ['A', 'A * 2'] } }],
  ['a formula with a name', { trendsFilter: { formulaNodes: [{ formula: 'A', custom_name: 'Paid' }] } }],
])('the form does not say %s, and takes nothing away', (_what, more) => {
  expect(questionOf(trend(more))).toBeUndefined();
});

test('the form does not say values of a query in HogQL', () => {
  const source = { kind: 'HogQLQuery', query: 'SELECT {a}' };
  expect(questionOf({ kind: 'DataVisualizationNode', source })).toMatchObject({ hogql: 'SELECT {a}' });
  expect(questionOf({ kind: 'DataVisualizationNode', source: { ...source, values: { a: 1 } } })).toBeUndefined();
});

test('the form does not say the chart that a query in HogQL draws', () => {
  const node = { kind: 'DataVisualizationNode', source: { kind: 'HogQLQuery', query: 'SELECT 1 AS x, 2 AS y' } };
  const chartSettings = { xAxis: { column: 'x' }, yAxis: [{ column: 'y' }] };
  expect(questionOf({ ...node, display: 'ActionsLineGraph', chartSettings })).toBeUndefined();
  expect(questionOf({ ...node, display: 'ActionsLineGraph', chartSettings: {} })).toMatchObject({ kind: 'HogQLQuery' });
});

test.each([
  ['nobody names', undefined, '$pageview', '$pageview'],
  ['who begins is named alone', { targetEntity: { id: 'paid' } }, 'paid', '$pageview'],
  ['who comes back is named alone', { returningEntity: { id: 'paid' } }, '$pageview', 'paid'],
  ['any event is', { targetEntity: { id: null }, returningEntity: { id: 'paid' } }, '', 'paid'],
])(
  'the form says the events of a retention as the service reads them where %s',
  (_where, retentionFilter, ...events) => {
    const asked = questionOf({ kind: 'RetentionQuery', ...(retentionFilter && { retentionFilter }) });
    expect(asked?.series.map(({ event }) => event)).toEqual(events);
  },
);

test('the form does not say a retention whose range is told by its end alone', () => {
  expect(questionOf({ kind: 'RetentionQuery', dateRange: { date_to: '2026-01-06' } })).toBeUndefined();
  expect(questionOf({ kind: 'RetentionQuery', dateRange: { date_from: '-7d', date_to: '-1d' } })).toBeDefined();
});

test('the form does not say paths of events of any type', () => {
  expect(questionOf({ kind: 'PathsQuery' })).toBeUndefined();
  expect(questionOf({ kind: 'PathsQuery', pathsFilter: { startPoint: '/', includeEventTypes: null } })).toBeUndefined();
});

test('no question is the one that an insight without a query begins with', () => {
  expect(questionOf(null)).toBeUndefined();
  expect(questionOf(queryOf(FIRST_QUESTION))).toEqual(FIRST_QUESTION);
});
