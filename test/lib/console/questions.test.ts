/** A question is in the form again as it was kept, with all that the form has no field for, or not at all. */
import * as fc from 'fast-check';
import { alsoAsked, withoutAlso } from '../../../lib/console/client/also-asked.ts';
import { object } from '../../../lib/console/client/json.ts';
import { OPERATORS, PROPERTY_TYPES } from '../../../lib/console/client/property-filters.ts';
import { KINDS } from '../../../lib/console/client/question-kinds.ts';
import { DISPLAYS, INTERVALS, MATHS, WINDOW_UNITS } from '../../../lib/console/client/question-options.ts';
import { ownSpanText, queryOf, questionOf } from '../../../lib/console/client/question-query.ts';
import {
  anotherSeries,
  eventsOf,
  FIRST_QUESTION,
  firstQuestion,
  isWhole,
  ofKind,
  type Question,
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
    series: fc.array(fc.record({ event: name, math: oneOf(MATHS), property: name, name }), {
      minLength: 2,
      maxLength: 3,
    }),
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
    window: fc.record({ count: fc.integer({ min: 1, max: 30 }), unit: oneOf(WINDOW_UNITS) }),
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

const NOW = Date.parse('2026-01-31T12:00:00Z');
const lately = { last_seen_at: '2026-01-30T00:00:00Z' };
const before = { last_seen_at: '2026-01-10T00:00:00Z' };

test.each([
  ['none', [], ''],
  [
    'some',
    [
      { name: 'came', volume_30_day: 1, ...lately },
      { name: 'paid', volume_30_day: 2, ...lately },
    ],
    'paid',
  ],
  [
    'page views',
    [
      { name: '$pageview', volume_30_day: 0, ...lately },
      { name: 'paid', volume_30_day: 2, ...lately },
    ],
    '$pageview',
  ],
  [
    'page views before its dates',
    [
      { name: '$pageview', volume_30_day: 9, ...before },
      { name: 'paid', volume_30_day: 2, ...lately },
    ],
    'paid',
  ],
  [
    'only others before its dates',
    [
      { name: '$pageview', volume_30_day: 1, ...before },
      { name: 'paid', volume_30_day: 2, ...before },
    ],
    '$pageview',
  ],
])('where %s were seen, a form begins with an event that there is', (_what, seen, event) => {
  expect(firstQuestion(seen, NOW)).toEqual({ ...FIRST_QUESTION, series: [{ ...anotherSeries([]), event }] });
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
  const series = events.map((event, key) => ({ ...anotherSeries([]), key, event }));
  expect(eventsOf({ ...FIRST_QUESTION, kind, series })).toEqual(needed);
});

/** Returns the events of a question once it was of these kinds, one after the other. */
const eventsAfter = (question: Question, ...kinds: readonly Question['kind'][]): readonly string[] =>
  kinds
    .reduce<Question>((asked, kind) => ({ ...asked, ...ofKind(asked, kind) }), question)
    .series.map((one) => one.event);

test('a look at a kind of question that is of more series leaves none that nobody has asked for', () => {
  const question = { ...FIRST_QUESTION, series: [{ ...anotherSeries([]), event: 'paid' }] };
  expect(eventsAfter(question, 'FunnelsQuery')).toEqual(['paid', '']);
  expect(eventsAfter(question, 'FunnelsQuery', 'RetentionQuery')).toEqual(['paid', '']);
  for (const kind of ['TrendsQuery', 'StickinessQuery', 'HogQLQuery'] as const)
    expect(eventsAfter(question, 'FunnelsQuery', kind)).toEqual(['paid']);
  expect(eventsAfter(question, 'RetentionQuery', 'TrendsQuery')).toEqual(['paid']);
});

test('a series that somebody has asked for, or named, stays in every kind of question', () => {
  const one = { ...anotherSeries([]), event: 'paid' };
  const question = { ...FIRST_QUESTION, series: [one, anotherSeries([one])] };
  expect(eventsAfter(question, 'FunnelsQuery', 'TrendsQuery')).toEqual(['paid', '']);
  const funnel = { ...FIRST_QUESTION, ...ofKind({ ...FIRST_QUESTION, series: [one] }, 'FunnelsQuery') };
  const [first, second] = funnel.series.map((each, at) => (at === 1 ? { ...each, name: 'Anything' } : each));
  const named = { ...funnel, series: [first, second] as Question['series'] };
  expect(eventsAfter(named, 'TrendsQuery')).toEqual(['paid', '']);
});

test('a series that was named once stays, whatever is said of it later', () => {
  const paid = { ...FIRST_QUESTION, series: [{ ...anotherSeries([]), event: 'paid' }] };
  const turned = (question: Question, kind: Question['kind']): Question => ({ ...question, ...ofKind(question, kind) });
  const second = (question: Question, some: object): Question => ({
    ...question,
    series: question.series.map((one, at) => (at === 1 ? { ...one, ...some } : one)),
  });
  const trend = turned(second(turned(paid, 'FunnelsQuery'), { event: 'x' }), 'TrendsQuery');
  const daily = second(trend, { event: '', math: 'dau' });
  expect(eventsAfter(daily, 'StickinessQuery')).toEqual(['paid', '']);
  // What is written and taken back in the funnel is not asked for.
  const emptied = second(second(turned(paid, 'FunnelsQuery'), { event: 'x' }), { event: '' });
  expect(eventsAfter(emptied, 'TrendsQuery')).toEqual(['paid']);
});

test('paths begin anywhere, and the event of before is there again in another kind of question', () => {
  const question = { ...FIRST_QUESTION, series: [{ ...anotherSeries([]), event: 'paid' }] };
  expect(eventsAfter(question, 'PathsQuery')).toEqual(['']);
  expect(eventsAfter(question, 'FunnelsQuery', 'PathsQuery', 'TrendsQuery')).toEqual(['paid']);
  const paths = { ...question, ...ofKind(question, 'PathsQuery') };
  const begun = { ...paths, series: paths.series.map((one) => ({ ...one, event: '/home' })) };
  expect(eventsAfter(begun, 'TrendsQuery')).toEqual(['/home']);
});

test('a question is whole once each number that is of a property has one, where it is counted', () => {
  const one = { ...anotherSeries([]), event: 'paid', math: 'sum' } as const;
  expect(isWhole({ ...FIRST_QUESTION, series: [one] })).toBe(false);
  expect(isWhole({ ...FIRST_QUESTION, series: [{ ...one, property: 'amount' }] })).toBe(true);
  expect(isWhole({ ...FIRST_QUESTION, kind: 'StickinessQuery', series: [one] })).toBe(true);
});

/** Returns what the form says of a question, without what it was read from. */
const bare = (question: Question): Question => ({
  ...question,
  kept: undefined,
  series: question.series.map((one) => ({ ...one, kept: undefined })),
  breakdowns: question.breakdowns.map((one) => ({ ...one, kept: undefined })),
});

const also = (query: unknown): readonly string[] | undefined => {
  const question = questionOf(query);
  return question && alsoAsked(queryOf(question));
};

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
  ['a formula with a name', { trendsFilter: { formulaNodes: [{ formula: 'A', custom_name: 'Paid' }] } }],
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
  ['FunnelsQuery', { funnelsFilter: { funnelWindowInterval: 7 } }, true],
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
  const words = also({ kind, ...(isOfSeries ? { series } : {}), ...more });
  expect(words?.length === 0).toBe(isSaid);
});

test.each([
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
  ['a math that the form has not', { series: [{ kind: 'EventsNode', event: 'paid', math: 'p90' }] }],
  ['a series of something else than events', { series: [{ kind: 'ActionsNode', id: 1 }] }],
  ['a display that the form has not', { trendsFilter: { display: 'WorldMap' } }],
  ['several formulas', { trendsFilter: { formulas: ['A', 'A * 2'] } }],
])('the form does not say %s, and takes nothing away', (_what, more) => {
  expect(questionOf(trend(more))).toBeUndefined();
});

test.each([
  [{ filterTestAccounts: true }, ['without test accounts']],
  [{ dateRange: { date_from: '-7d', explicitDate: true } }, ['dates to the exact time']],
  [{ compareFilter: { compare: true, compare_to: '-1y' } }, ['compared with the time -1y']],
  [{ samplingFactor: 0.1 }, ['sampling factor: 0.1']],
  [
    { series: [{ event: 'paid' }, { event: 'paid', properties: [{ key: 'plan', value: 'pro' }] }] },
    ['Event 2: filters of its own'],
  ],
  [{ breakdownFilter: { breakdown: 'plan', breakdown_limit: 3 } }, ['3 values of the breakdown at most']],
  [
    { breakdownFilter: { breakdowns: [{ property: '$current_url', normalize_url: true }] } },
    ['Breakdown 1: addresses without their ends'],
  ],
  [{ trendsFilter: { smoothingIntervals: 7 } }, ['the mean of 7 intervals']],
  [{ somethingNew: 'some_value' }, ['something new: some value']],
])('beside the fields of the form stands what else changes the numbers of a trend with %j', (more, words) => {
  expect(also(trend(more))).toEqual(words);
});

test.each([
  [{ trendsFilter: { showLegend: true, goalLines: [{ label: 'goal', value: 5 }], hiddenLegendIndexes: [1] } }],
  [{ trendsFilter: { aggregationAxisFormat: 'duration', decimalPlaces: 2, showValuesOnSeries: true } }],
  [{ trendsFilter: { resultCustomizations: { 0: { color: 'preset-1' } } } }],
  [{ compareFilter: { compare: false, compare_to: '-1w' } }],
  [{ tags: { productKey: 'product_analytics' }, version: 2 }],
  [{ series: [{ kind: 'EventsNode', event: 'paid', name: 'Payments', custom_name: 'Paid for' }] }],
])('the form says %j, and nothing beside it, for it changes no number', (more) => {
  const node = { ...trend(more), full: true, showTable: false, showHeader: true, embedded: false };
  expect(also(node)).toEqual([]);
});

test.each([
  ['FunnelsQuery', { funnelsFilter: { funnelVizType: 'trends' } }, ['funnel viz type: trends']],
  ['FunnelsQuery', { funnelsFilter: { funnelWindowInterval: 7 } }, []],
  ['RetentionQuery', { retentionFilter: { period: 'Week' } }, ['period: Week']],
  [
    'RetentionQuery',
    { retentionFilter: { targetEntity: { id: 'paid', properties: [{ key: 'plan', value: 'pro' }] } } },
    ['Who did: filters of its own'],
  ],
  ['PathsQuery', { pathsFilter: { includeEventTypes: ['$pageview', 'custom_event'] } }, []],
  ['PathsQuery', { pathsFilter: { stepLimit: 4 } }, ['through events of all types', '4 steps at most']],
  ['PathsQuery', { pathsFilter: { includeEventTypes: ['$pageview'] } }, ['through $pageview alone']],
  ['StickinessQuery', { series: [{ event: 'paid', math: 'p90' }] }, []],
  ['StickinessQuery', { series: [{ event: 'paid', math: 'hogql', math_hogql: '1' }] }, ['Event 1: math: hogql']],
  ['StickinessQuery', { series: [{ event: 'paid', math: 'unique_group' }] }, ['Event 1: math: unique group']],
  ['StickinessQuery', { stickinessFilter: { display: 'ActionsBar', showLegend: true } }, []],
  [
    'StickinessQuery',
    { stickinessFilter: { computedAs: 'cumulative', display: 'ActionsBar' } },
    ['computed as: cumulative'],
  ],
  ['LifecycleQuery', { lifecycleFilter: { showLegend: true, toggledLifecycles: ['new'] } }, []],
  ['FunnelsQuery', { series: [{ event: 'a', math: 'dau' }, { event: 'b' }] }, []],
  [
    'FunnelsQuery',
    { series: [{ event: 'a' }, { event: 'b', math: 'first_time_for_user' }] },
    ['Step 2: math: first time for user'],
  ],
  ['HogQLQuery', { query: 'SELECT {a}', values: { a: 1 } }, ['values of its own']],
])('beside the form of a %s with %j stand %j', (kind, more, words) => {
  const series = ['came', 'paid'].map((event) => ({ event }));
  expect(also({ kind, ...(kind === 'FunnelsQuery' ? { series } : {}), ...more })).toEqual(words);
});

const NODES: Record<string, unknown> = { properties: [{ key: 'a', value: 'b' }], optionalInFunnel: true, name: 'P' };
const PARTS = ['trendsFilter', 'funnelsFilter', 'retentionFilter', 'pathsFilter', 'stickinessFilter'] as const;

/** A query that the form makes, with members that it knows nothing of at each place. */
const elsewhere = fc
  .record({ question, extra: fc.dictionary(fc.constantFrom('x', 'y', 'z'), fc.jsonValue()) })
  .map(({ question: { kind, ...rest }, extra }) => {
    const asked = JSON.parse(JSON.stringify(queryOf({ kind, ...rest }))) as Record<string, unknown>;
    const source = asked['source'] as Record<string, unknown>;
    const parts = PARTS.flatMap((name) => (name in source ? [[name, { ...object(source[name]), ...extra }]] : []));
    const series = Array.isArray(source['series'])
      ? { series: source['series'].map((node: object) => ({ ...NODES, ...node, ...extra })) }
      : {};
    const { breakdowns } = object(source['breakdownFilter']);
    const brokenDown = Array.isArray(breakdowns)
      ? {
          breakdownFilter: {
            breakdowns: breakdowns.map((node: object) => ({ ...node, histogram_bin_count: 4, ...extra })),
          },
        }
      : {};
    const named = { ...brokenDown, ...extra, filterTestAccounts: true };
    const more = { ...source, ...Object.fromEntries(parts), ...series, ...named };
    return { ...asked, full: true, ...extra, source: more };
  });

test('a query that is read into the form and not changed is the same, with every member', () => {
  fc.assert(
    fc.property(elsewhere, (query) => {
      const read = questionOf(query);
      expect(read).toBeDefined();
      expect(read && queryOf(read)).toEqual(query);
    }),
    { numRuns: propertyRuns(500) },
  );
});

/** Returns all members of a value by their paths. */
const members = (value: unknown, at = ''): [string, unknown][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, one]) => members(one, `${at}.${name}`))
    : [[at, value]];

test('a change with the form takes no member away that it has no field for', () => {
  fc.assert(
    fc.property(elsewhere, question, (query, other) => {
      const read = questionOf(query);
      if (read === undefined) throw new Error('It is not read.');
      const { kind, series, breakdowns } = read;
      const changed = { ...other, kind, series, breakdowns, hogql: 'SELECT 3' };
      const made = Object.fromEntries(members(bare(read) && queryOf(bare(read))));
      const unknown = members(query).filter(([at]) => !(at in made));
      const after = Object.fromEntries(members(queryOf({ ...changed, kept: read.kept })));
      expect(after).toMatchObject(Object.fromEntries(unknown));
    }),
    { numRuns: propertyRuns(500) },
  );
});

const IDLE_MEMBERS = { showLegend: true, decimalPlaces: 2, goalLines: [{ value: 5 }], aggregationAxisPrefix: '$' };

/** Returns the uppermost members that are in one value and not in another. */
const goneOf = (before: unknown, after: unknown, at = ''): string[] =>
  Object.entries(before ?? {}).flatMap(([name, one]) => {
    if (!(name in Object(after))) return [`${at}.${name}`];
    return typeof one === 'object' ? goneOf(one, (after as Record<string, unknown>)[name], `${at}.${name}`) : [];
  });

test('of what the form has no field for, what is named can be left out, and nothing else goes', () => {
  fc.assert(
    fc.property(elsewhere, (sent) => {
      const source = { ...object(sent['source']), version: 2, dataColorTheme: 1 };
      const trends =
        'trendsFilter' in source ? { trendsFilter: { ...object(source.trendsFilter), ...IDLE_MEMBERS } } : {};
      const query = { ...sent, chartSettings: { xAxis: 1 }, source: { ...source, ...trends } };
      const read = questionOf(query);
      if (read === undefined) throw new Error('It is not read.');
      const after = queryOf(withoutAlso(read));
      expect(alsoAsked(after)).toEqual([]);
      expect(goneOf(query, after)).toHaveLength(alsoAsked(query).length);
      expect(goneOf(after, query)).toEqual([]);
      expect(after).toEqual(queryOf(questionOf(after) ?? read));
    }),
    { numRuns: propertyRuns(500) },
  );
});

test('a formula has its name, and paths the types that the form asks for, once the rest is left out', () => {
  const left = (query: unknown): unknown =>
    object(queryOf(withoutAlso({ ...FIRST_QUESTION, ...questionOf(query) })))['source'];
  const trendsFilter = { formulaNodes: [{ formula: 'A * 2', custom_name: 'Twice' }] };
  const named = trend({ trendsFilter, filterTestAccounts: true });
  expect(left(named)).toEqual(trend({ trendsFilter }).source);
  const compareFilter = { compare: true, compare_to: '-1y' };
  expect(left(trend({ compareFilter }))).toEqual(trend({ compareFilter: { compare: true } }).source);
  const pathsFilter = { startPoint: 'a', edgeLimit: 50, stepLimit: 3, includeEventTypes: ['$pageview'] };
  expect(left({ kind: 'PathsQuery', pathsFilter })).toEqual({
    kind: 'PathsQuery',
    pathsFilter: { startPoint: 'a', edgeLimit: 50, includeEventTypes: ['$pageview', 'custom_event'] },
  });
  expect(
    left(trend({ breakdownFilter: { breakdown: 'a', breakdown_type: 'event', breakdown_normalize_url: true } })),
  ).toEqual(trend({ breakdownFilter: { breakdown: 'a', breakdown_type: 'event' } }).source);
});

test('what a breakdown says besides the form stays while others come and go, and ends where it is by another property', () => {
  const first = { property: 'amount', type: 'event', histogram_bin_count: 4 };
  const second = { property: '$current_url', type: 'event', normalize_url: true };
  const third = { key: 2, property: 'plan', type: 'person' } as const;
  const read = { ...FIRST_QUESTION, ...questionOf(trend({ breakdownFilter: { breakdowns: [first, second] } })) };
  const sent = (breakdowns: Question['breakdowns']) =>
    object(object(queryOf({ ...read, breakdowns }))['source'])['breakdownFilter'];
  const { key: _, ...added } = third;
  expect(sent([...read.breakdowns, third])).toEqual({ breakdowns: [first, second, added] });
  expect(sent(read.breakdowns.slice(1))).toEqual({ breakdowns: [second] });
  const funnel = queryOf({ ...read, kind: 'FunnelsQuery' });
  expect(JSON.stringify(funnel)).not.toMatch(/histogram|normalize/);
  const [one, ...others] = read.breakdowns;
  if (one === undefined) throw new Error('There is none.');
  expect(sent([{ ...one, property: 'plan' }, ...others])).toEqual({
    breakdowns: [{ property: 'plan', type: 'event' }, second],
  });
});

test('what one breakdown says besides the form stays where others come beside it', () => {
  const breakdownFilter = { breakdown: '$current_url', breakdown_type: 'event', breakdown_normalize_url: true };
  const read = { ...FIRST_QUESTION, ...questionOf(trend({ breakdownFilter })) };
  const asked = queryOf({ ...read, breakdowns: [...read.breakdowns, { key: 1, type: 'event', property: 'plan' }] });
  expect(object(object(asked)['source'])['breakdownFilter']).toEqual({
    breakdowns: [
      { property: '$current_url', type: 'event', normalize_url: true },
      { property: 'plan', type: 'event' },
    ],
  });
});

test('what a series says besides the form goes with it, and ends where it is about another event', () => {
  const node = (event: string) => ({ kind: 'EventsNode', event, custom_name: `The ${event}`, math_multiplier: 2 });
  const read = questionOf(trend({ series: [node('came'), node('paid'), node('left')] }));
  const series = read?.series ?? [];
  const asked = queryOf({
    ...FIRST_QUESTION,
    ...read,
    series: series.slice(1).map((one, at) => (at === 0 ? { ...one, math: 'dau' } : { ...one, event: 'else' })),
  });
  expect(object(object(asked)['source'])['series']).toEqual([
    { ...node('paid'), math: 'dau' },
    { kind: 'EventsNode', event: 'else', name: 'else', custom_name: 'The left', math: 'total' },
  ]);
});

test.each([
  ['dates', { dateRange: { date_from: '-7d', explicitDate: true } }, { range: { date_from: '-30d', date_to: null } }],
  ['a formula', { trendsFilter: { formulaNodes: [{ formula: 'A', custom_name: 'One' }] } }, { formula: 'A * 2' }],
  [
    'a breakdown',
    { breakdownFilter: { breakdown: 'plan', breakdown_normalize_url: true } },
    { breakdowns: [{ key: 0, type: 'event', property: 'page' }] },
  ],
] as const)('what was said of %s ends where the form has others', (_what, more, change) => {
  const asked = queryOf({ ...FIRST_QUESTION, ...questionOf(trend(more)), ...change });
  expect(alsoAsked(asked)).toEqual([]);
  expect(JSON.stringify(asked)).not.toContain('custom_name');
});

test('another kind of question has nothing of the one before but what the form says', () => {
  const read = questionOf(trend({ filterTestAccounts: true, series: [{ event: 'paid', properties: [{ key: 'a' }] }] }));
  const other = { ...FIRST_QUESTION, ...read, kind: 'StickinessQuery' } as const;
  expect(queryOf(other)).toEqual(queryOf(bare(other)));
  expect(queryOf({ ...other, kind: 'TrendsQuery' })).toMatchObject({ source: { filterTestAccounts: true } });
});

test('the chart that a query in HogQL draws stays while the query is written anew', () => {
  const node = { kind: 'DataVisualizationNode', source: { kind: 'HogQLQuery', query: 'SELECT 1 AS x, 2 AS y' } };
  const drawn = { ...node, display: 'ActionsLineGraph', chartSettings: { xAxis: { column: 'x' } } };
  const read = questionOf(drawn);
  expect(queryOf({ ...FIRST_QUESTION, ...read, hogql: 'SELECT 3 AS x' })).toEqual({
    ...drawn,
    source: { kind: 'HogQLQuery', query: 'SELECT 3 AS x' },
  });
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

test.each([
  [{ period: 'Week', totalIntervals: 11 }, 'the last 11 weeks'],
  [{ period: 'Month' }, 'the last 8 months'],
  [{ totalIntervals: 11 }, 'the last 11 days'],
])('a retention without dates, of %j, is about %s, until dates are chosen', (retentionFilter, words) => {
  const query = { kind: 'RetentionQuery', retentionFilter };
  const read = { ...FIRST_QUESTION, ...questionOf(query) };
  expect(read.range).toEqual({ date_from: null, date_to: null });
  expect(ownSpanText(read)).toBe(words);
  expect(queryOf(read)).toMatchObject({ source: query });
  const dated = queryOf({ ...read, range: { date_from: '-7d', date_to: null } });
  expect(dated).toMatchObject({ source: { dateRange: { date_from: '-7d' }, retentionFilter } });
  expect(questionOf(queryOf(withoutAlso(read)))?.range).toEqual(FIRST_QUESTION.range);
});

test.each([{}, { dateRange: { date_from: '' } }, { retentionFilter: { period: 'Day', totalIntervals: 8 } }])(
  'a retention of %j is about the last 7 days',
  (more) => {
    expect(questionOf({ kind: 'RetentionQuery', ...more })?.range).toEqual({ date_from: '-7d', date_to: null });
  },
);

test('no question is the one that an insight without a query begins with', () => {
  expect(questionOf(null)).toBeUndefined();
  expect(questionOf(queryOf(FIRST_QUESTION))).toEqual(FIRST_QUESTION);
});
