import * as fc from 'fast-check';
import type { World } from '../../../../lib/insights/kinds/kind.ts';
import { trends } from '../../../../lib/insights/kinds/trends.ts';
import { insightWorld, type WorldEvent } from '../../../support/insight-world.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

type Result = Readonly<Record<string, unknown>> & {
  readonly data: number[] | null;
  readonly days: string[];
  readonly labels: string[];
  readonly count: number;
  readonly label: string;
  readonly aggregated_value?: number;
  readonly breakdown_value?: string | string[];
};

const RANGE = { date_from: '2020-01-09', date_to: '2020-01-19' };
const NOW = Date.parse('2020-01-20T12:00:00Z');

/** The results of a query whose range is by default 9 to 19 January 2020. */
async function ask(world: World, query: Readonly<Record<string, unknown>>): Promise<Result[]> {
  const parsed = trends.schema.parse({ kind: 'TrendsQuery', dateRange: RANGE, ...query });
  const { results } = await trends.answer(parsed, world);
  return results as Result[];
}

/** Pages that persons viewed, and with what, as PostHog's tests have them. */
const VIEWS = (
  [
    ['p1', 11, 'Chrome'],
    ['p1', 12, 'Chrome'],
    ['p1', 13, 'Chrome'],
    ['p1', 15, 'Chrome'],
    ['p1', 17, 'Chrome'],
    ['p1', 19, 'Chrome'],
    ['p2', 9, 'Firefox'],
    ['p2', 12, 'Firefox'],
    ['p3', 12, 'Edge'],
    ['p4', 15, 'Safari'],
  ] as const
).map(
  ([distinct_id, day, $browser]): WorldEvent => ({
    event: '$pageview',
    distinct_id,
    timestamp: `2020-01-${String(day).padStart(2, '0')}T12:00:00Z`,
    properties: { $browser, prop: day },
  }),
);

const world = () => insightWorld({ events: VIEWS }, { now: NOW });
const PAGEVIEWS = { kind: 'EventsNode', event: '$pageview' };

describe('Trends', () => {
  it('count the events of each day', async () => {
    const [result, ...others] = await ask(await world(), { series: [PAGEVIEWS] });
    expect(others).toEqual([]);
    expect(result).toMatchObject({
      data: [1, 0, 1, 3, 1, 0, 2, 0, 1, 0, 1],
      count: 10,
      label: '$pageview',
      action: { id: '$pageview', type: 'events', order: 0, name: '$pageview', math: null },
    });
    expect(result?.days.slice(0, 2)).toEqual(['2020-01-09', '2020-01-10']);
    expect(result?.labels.slice(0, 2)).toEqual(['9-Jan-2020', '10-Jan-2020']);
    expect(result).toHaveProperty('action.days.0', '2020-01-09T00:00:00Z');
  });

  it('are told apart by values, the greatest total first', async () => {
    const query = { series: [PAGEVIEWS], breakdownFilter: { breakdown: '$browser', breakdown_type: 'event' } };
    const results = await ask(await world(), query);
    expect(results.map(({ label, breakdown_value, count }) => [label, breakdown_value, count])).toEqual([
      ['Chrome', 'Chrome', 6],
      ['Firefox', 'Firefox', 2],
      ['Edge', 'Edge', 1],
      ['Safari', 'Safari', 1],
    ]);
  });
});

describe('Trends of several series', () => {
  const clicks: readonly WorldEvent[] = VIEWS.slice(0, 4).map((view) => ({ ...view, event: 'click' }));
  const both = () => insightWorld({ events: [...VIEWS, ...clicks] }, { now: NOW });
  const CLICKS = { event: 'click' };
  const browser = { breakdown: '$browser' };

  it('name each result by its series and its value', async () => {
    const results = await ask(await both(), { series: [PAGEVIEWS, CLICKS], breakdownFilter: browser });
    expect(results.map(({ label, count }) => [label, count])).toEqual([
      ['$pageview - Chrome', 6],
      ['$pageview - Firefox', 2],
      ['$pageview - Edge', 1],
      ['$pageview - Safari', 1],
      ['click - Chrome', 4],
    ]);
  });

  it('are reckoned together by formulas, where a division by 0 gives 0', async () => {
    const formulas = ['A+2*B', '(a - b) / -b'];
    const results = await ask(await both(), { series: [PAGEVIEWS, CLICKS], trendsFilter: { formulas } });
    expect(results.map(({ label, action, data, count }) => ({ label, action, data, count }))).toEqual([
      { label: 'Formula (A+2*B)', action: null, data: [1, 0, 3, 5, 3, 0, 4, 0, 1, 0, 1], count: 18 },
      { label: 'Formula ((a - b) / -b)', action: null, data: [0, 0, 0, -2, 0, 0, -1, 0, 0, 0, 0], count: -3 },
    ]);
  });

  it('are reckoned with the signs that PostHog gives, and go on where a part of them is divided by 0', async () => {
    const formulas = ['(B - 5) % 3', '5 % (B - 3)', 'A / B + 1', 'A % B'];
    const results = await ask(await both(), { series: [PAGEVIEWS, CLICKS], trendsFilter: { formulas } });
    // Of 11 and 14 January: a view and a click, and nothing.
    expect(results.map(({ data }) => [data?.[2], data?.[5]])).toEqual([
      [2, 1],
      [-1, -1],
      [2, 1],
      [0, 0],
    ]);
  });

  it('are reckoned with the number that each series has of a value, though it be one of the others there', async () => {
    const of = (event: string, $browser: string, count: number): WorldEvent[] =>
      VIEWS.slice(0, count).map((view) => ({ ...view, event, properties: { $browser } }));
    const events = [
      [of('a', 'x', 4), of('a', 'y', 3), of('a', 'z', 2), of('a', 'w', 1)],
      [of('b', 'z', 4), of('b', 'x', 3), of('b', 'y', 2), of('b', 'v', 1)],
    ].flat(2);
    const query = { series: [{ event: 'a' }, { event: 'b' }], breakdownFilter: { ...browser, breakdown_limit: 1 } };
    const trendsFilter = { display: 'BoldNumber', formula: 'A + 10 * B' };
    const results = await ask(await insightWorld({ events }, { now: NOW }), { ...query, trendsFilter });
    expect(results.map(({ breakdown_value, aggregated_value }) => [breakdown_value, aggregated_value])).toEqual([
      ['z', 42],
      ['x', 34],
      ['$$_posthog_breakdown_other_$$', 34],
    ]);
  });

  it('are reckoned by the same bins', async () => {
    const of = (event: string, ...prices: readonly number[]): WorldEvent[] =>
      prices.map((price) => ({ event, distinct_id: 'p', timestamp: '2020-01-10T12:00:00Z', properties: { price } }));
    const events = [...of('a', 0, 10, 30, 40), ...of('b', 10, 20, 30)];
    const results = await ask(await insightWorld({ events }, { now: NOW }), {
      series: [{ event: 'a' }, { event: 'b' }],
      breakdownFilter: { breakdown: 'price', breakdown_histogram_bin_count: 2 },
      trendsFilter: { display: 'BoldNumber', formula: 'A + 10 * B' },
    });
    expect(results.map(({ breakdown_value, aggregated_value }) => [breakdown_value, aggregated_value])).toEqual([
      ['[20,40.01]', 22],
      ['[0,20]', 12],
    ]);
  });

  it('are reckoned by the one formula where the list of formulas is empty', async () => {
    const trendsFilter = { formulaNodes: [], formulas: [], formula: 'A + B' };
    const results = await ask(await both(), { series: [PAGEVIEWS, CLICKS], trendsFilter });
    expect(results.map(({ label, count }) => [label, count])).toEqual([['Formula (A + B)', 14]]);
  });

  it('give a formula for each value, and a number for all of the range', async () => {
    const results = await ask(await both(), {
      series: [PAGEVIEWS, CLICKS],
      breakdownFilter: browser,
      trendsFilter: { display: 'BoldNumber', formulaNodes: [{ formula: 'A - B', custom_name: 'Rest' }] },
    });
    expect(
      results.map(({ label, breakdown_value, data, aggregated_value }) => [
        label,
        breakdown_value,
        data,
        aggregated_value,
      ]),
    ).toEqual([
      ['Rest', 'Chrome', null, 2],
      ['Rest', 'Firefox', null, 2],
      ['Rest', 'Edge', null, 1],
      ['Rest', 'Safari', null, 1],
    ]);
  });

  it('are told of two periods, each with its own days', async () => {
    const results = await ask(await both(), {
      series: [PAGEVIEWS, CLICKS],
      dateRange: { date_from: '2020-01-12', date_to: '2020-01-13' },
      compareFilter: { compare: true },
    });
    expect(results.map(({ label, compare_label, days, data }) => [label, compare_label, days, data])).toEqual([
      ['$pageview', 'current', ['2020-01-12', '2020-01-13'], [3, 1]],
      ['click', 'current', ['2020-01-12', '2020-01-13'], [1, 1]],
      ['$pageview', 'previous', ['2020-01-10', '2020-01-11'], [0, 1]],
      ['click', 'previous', ['2020-01-10', '2020-01-11'], [0, 1]],
    ]);
  });
});

describe('The values of trends', () => {
  it('beyond the limit are one, or are left out, and there are more', async () => {
    const breakdownFilter = { breakdown: '$browser', breakdown_limit: 2 };
    const shown = trends.schema.parse({ kind: 'TrendsQuery', dateRange: RANGE, series: [PAGEVIEWS], breakdownFilter });
    const { results, hasMore } = await trends.answer(shown, await world());
    expect(results).toMatchObject([{ count: 6 }, { count: 2 }, { count: 2, label: '$$_posthog_breakdown_other_$$' }]);
    expect(hasMore).toBe(true);
    const hidden = { ...breakdownFilter, breakdown_hide_other_aggregation: true };
    expect(await ask(await world(), { series: [PAGEVIEWS], breakdownFilter: hidden })).toHaveLength(2);
  });

  it('may be bins of numbers, of one width', async () => {
    const prices = [10, 20, 25, 40, 'much', undefined].map(
      (price): WorldEvent => ({
        event: 'paid',
        distinct_id: 'a',
        timestamp: '2020-01-10T12:00:00Z',
        properties: { price },
      }),
    );
    const results = await ask(await insightWorld({ events: prices }, { now: NOW }), {
      series: [{ event: 'paid' }],
      breakdownFilter: { breakdowns: [{ property: 'price', histogram_bin_count: 4 }] },
    });
    expect(results.map(({ label, breakdown_value, count }) => [label, breakdown_value, count])).toEqual([
      ['[10,17.5]', ['[10,17.5]'], 1],
      ['[17.5,25]', ['[17.5,25]'], 1],
      ['[25,32.5]', ['[25,32.5]'], 1],
      ['[32.5,40.01]', ['[32.5,40.01]'], 1],
      ['$$_posthog_breakdown_null_$$', ['$$_posthog_breakdown_null_$$'], 2],
    ]);
  });

  it('may be bins of numbers so large that a hundredth does not tell them apart, nor 64 bits hold them', async () => {
    const at = { event: 'x', distinct_id: 'a', timestamp: '2020-01-10T12:00:00Z' };
    for (const unit of [1e17, 1e19]) {
      const times = [17, 18, 19].map((digits): WorldEvent => ({ ...at, properties: { ns: digits * unit } }));
      const results = await ask(await insightWorld({ events: times }, { now: NOW }), {
        series: [{ event: 'x' }],
        breakdownFilter: { breakdown: 'ns', breakdown_histogram_bin_count: 2 },
      });
      expect(results.map(({ label, count }) => [label, count])).toEqual([
        [expect.stringMatching(/^\[1800000000000000000(00)?,19000000000000/), 2],
        [`[${17 * unit},${18 * unit}]`, 1],
      ]);
    }
  });

  it('may be bins of all numbers that there are, the least and the greatest too', async () => {
    const at = { event: 'x', distinct_id: 'a', timestamp: '2020-01-10T12:00:00Z' };
    const binned = async (...prices: readonly number[]) => {
      const events = prices.map((price): WorldEvent => ({ ...at, properties: { price } }));
      const breakdownFilter = { breakdown: 'price', breakdown_histogram_bin_count: 2 };
      const results = await ask(await insightWorld({ events }, { now: NOW }), {
        series: [{ event: 'x' }],
        breakdownFilter,
      });
      return results.map(({ label, count }) => [label, count]);
    };
    // A hundred times this is 93.
    expect(await binned(1 - 0.07, 2, 3)).toEqual([
      ['[1.96,3.01]', 2],
      ['[0.92,1.96]', 1],
    ]);
    expect(await binned(-1e307, 1e307)).toEqual([
      ['[-1e+307,0]', 1],
      [expect.stringMatching(/^\[0,1\.0000000000000\d+e\+307\]$/), 1],
    ]);
  });

  it('may be addresses, alike with and without a tail', async () => {
    const urls = ['/a', '/a/', '/a?#', '/', ''].map(
      ($current_url): WorldEvent => ({
        event: 'x',
        distinct_id: 'a',
        timestamp: '2020-01-10T12:00:00Z',
        properties: { $current_url },
      }),
    );
    const results = await ask(await insightWorld({ events: urls }, { now: NOW }), {
      series: [{ event: 'x' }],
      breakdownFilter: { breakdown: '$current_url', breakdown_normalize_url: true },
    });
    expect(results.map(({ label, count }) => [label, count])).toEqual([
      ['/a', 3],
      ['/', 2],
    ]);
  });

  it('may be those of sessions, whose duration is a number of each', async () => {
    const visit = ($session_id: string, minutes: readonly number[]): WorldEvent[] =>
      minutes.map((minute) => ({
        event: 'x',
        distinct_id: 'a',
        timestamp: Date.parse('2020-01-10T12:00:00Z') + minute * 60_000,
        properties: { $session_id },
      }));
    const visits = await insightWorld({ events: [...visit('s1', [0, 1, 2]), ...visit('s2', [0, 4])] }, { now: NOW });
    const [average] = await ask(visits, {
      series: [{ event: 'x', math: 'avg', math_property: '$session_duration' }],
      trendsFilter: { display: 'BoldNumber' },
    });
    expect(average).toMatchObject({ aggregated_value: 180, data: [], days: [], count: 0 });
    const apart = await ask(visits, {
      series: [{ event: 'x' }],
      breakdownFilter: { breakdown: '$session_duration', breakdown_type: 'session' },
    });
    expect(apart.map(({ label, count }) => [label, count])).toEqual([
      ['120', 3],
      ['240', 2],
    ]);
  });

  it('may be those of where sessions came from, which filters take, too', async () => {
    const visit = ($session_id: string, properties: Readonly<Record<string, string>>): WorldEvent[] =>
      [properties, {}].map((more, minute) => ({
        event: 'x',
        distinct_id: 'a',
        timestamp: Date.parse('2020-01-10T12:00:00Z') + minute * 60_000,
        properties: { $session_id, ...more },
      }));
    const visits = await insightWorld(
      { events: [...visit('s1', { utm_source: 'mail' }), ...visit('s2', { utm_source: 'ads' }), ...visit('s3', {})] },
      { now: NOW },
    );
    const apart = await ask(visits, {
      series: [{ event: 'x' }],
      breakdownFilter: { breakdown: '$entry_utm_source', breakdown_type: 'session' },
      properties: [{ key: '$entry_utm_source', type: 'session', operator: 'is_set' }],
    });
    expect(Object.fromEntries(apart.map(({ label, count }) => [label, count]))).toEqual({ ads: 2, mail: 2 });
  });

  it('are all users where a cohort is broken down by of everybody', async () => {
    const breakdownFilter = { breakdown: ['all'], breakdown_type: 'cohort' };
    const [result] = await ask(await world(), { series: [PAGEVIEWS], breakdownFilter });
    expect(result).toMatchObject({ label: 'all users', breakdown_value: 'all', count: 10 });
  });
});

describe('A trend', () => {
  const SUM = { event: 'a', math: 'sum', math_property: '$pageview_count' };

  it('of all time begins with the first event that counts', async () => {
    const [result] = await ask(await world(), {
      series: [PAGEVIEWS],
      dateRange: { date_from: 'all' },
      interval: 'week',
    });
    expect(result).toMatchObject({ days: ['2020-01-05', '2020-01-12', '2020-01-19'], data: [2, 7, 1] });
  });

  it('has no days where its range ends before it begins', async () => {
    const dateRange = { date_from: '2020-01-09', date_to: '2020-01-01' };
    expect(await ask(await world(), { series: [PAGEVIEWS], dateRange })).toMatchObject([
      { data: [], days: [], count: 0 },
    ]);
  });

  it('counts what an aggregate of HogQL says, whatever it reads', async () => {
    const numberOf = async (math_hogql: string) =>
      (
        await ask(await world(), {
          series: [{ event: '$pageview', math: 'hogql', math_hogql }],
          trendsFilter: { display: 'BoldNumber' },
        })
      )[0]?.aggregated_value;
    expect(await numberOf('count()')).toBe(10);
    expect(await numberOf('count(DISTINCT distinct_id) * 100 + uniq(properties.$browser)')).toBe(404);
    expect(await numberOf("countIf(properties.$browser = 'Chrome') + max(toInt(properties.prop))")).toBe(25);
    // A term of a score that no event has is 0.
    expect(await numberOf("sumIf(10, 1 = 1) + sumIf(5, properties.$browser = 'Lynx') + sumIf(-1, 1 = 1)")).toBe(90);
  });

  it('is summed up before it is smoothed, so that small numbers stay', async () => {
    const [result] = await ask(await world(), {
      series: [PAGEVIEWS],
      trendsFilter: { display: 'ActionsLineGraphCumulative', smoothingIntervals: 3 },
    });
    expect(result).toMatchObject({ data: [1, 1, 1, 2, 4, 5, 6, 7, 8, 8, 9], count: 9 });
  });

  it.each(['weekly_active', 'monthly_active'])('of %s sums up each person once, as those behind it', async (math) => {
    const at = (distinct_id: string, day: number) => ({
      event: 'paid',
      distinct_id,
      timestamp: `2020-01-${String(day).padStart(2, '0')}T12:00:00Z`,
    });
    const paid = await insightWorld(
      { events: [at('before', 8), at('one', 11), at('two', 11), at('two', 13)] },
      { now: NOW },
    );
    const query = {
      series: [{ event: 'paid', math }],
      dateRange: { date_from: '2020-01-10', date_to: '2020-01-14' },
      trendsFilter: { display: 'ActionsLineGraphCumulative' },
    };
    const [result] = await ask(paid, query);
    expect(result).toMatchObject({ data: [0, 2, 2, 2, 2], count: 2 });
    const parsed = trends.schema.parse({ kind: 'TrendsQuery', ...query });
    const persons = await trends.actors?.(parsed, { day: '2020-01-14' }, paid);
    const { rows } = await paid.rows(persons ?? { hogql: 'SELECT 1' });
    expect(rows.map(([id]) => String(id)).toSorted()).toEqual(['one', 'two']);
  });

  it('leaves out a number that is infinite as if it were none', async () => {
    const events = ['3', '1e400', 5, '-1e400'].map((price) => ({
      event: 'paid',
      distinct_id: 'p',
      timestamp: '2020-01-19T12:00:00Z',
      properties: { price },
    }));
    const paid = await insightWorld({ events }, { now: NOW });
    const numberOf = async (math: string) =>
      (
        await ask(paid, {
          series: [{ event: 'paid', math, math_property: 'price' }],
          trendsFilter: { display: 'BoldNumber' },
        })
      )[0]?.aggregated_value;
    expect(await Promise.all(['sum', 'avg', 'min', 'max', 'p99'].map(numberOf))).toEqual([8, 4, 3, 5, 4.98]);
    const bins = await ask(paid, {
      series: [{ event: 'paid' }],
      trendsFilter: { display: 'ActionsTable' },
      breakdownFilter: { breakdown: 'price', breakdown_histogram_bin_count: 2 },
    });
    expect(bins.map(({ label, aggregated_value }) => [label, aggregated_value])).toEqual([
      ['[3,4]', 1],
      ['[4,5.01]', 1],
      ['$$_posthog_breakdown_null_$$', 2],
    ]);
  });

  it.each([
    [{ series: [{ event: 'a', math: 'sum' }] }, 'needs a property'],
    [{ series: [{ event: 'a', math: 'hogql' }] }, 'needs an aggregate'],
    ...['max(event)', 'groupArray(event)', 'any(uuid)', 'tuple(count(), 1)', 'max(timestamp)'].map(
      (math_hogql): [Readonly<Record<string, unknown>>, string] => [
        { series: [PAGEVIEWS, { event: '$pageview', math: 'hogql', math_hogql }] },
        'The aggregate in math_hogql must give a number',
      ],
    ),
    [{ series: [{ event: 'a', math: 'unique_group' }] }, 'Groups are not supported'],
    [
      { series: [{ ...SUM, math_property_type: 'session_properties' }] },
      "properties of sessions, but '$session_duration'",
    ],
    [{ series: [{ ...SUM, math_property_type: 'data_warehouse_properties' }] }, 'data warehouse'],
    [{ series: [{ ...SUM, math_property_type: 'data_warehouse_person_properties' }] }, 'data warehouse'],
    [{ series: [{ ...SUM, math_property_type: 'persons' }] }, "There is no type 'persons': use 'event_properties', "],
    [{ series: [PAGEVIEWS], trendsFilter: { formula: 'A + C' } }, "The formula names 'C'. There are the series 'A'."],
    [{ series: [PAGEVIEWS], trendsFilter: { formula: 'A / / B' } }, 'The formula cannot be read (line 1, column 5)'],
    [
      { series: [PAGEVIEWS], trendsFilter: { formula: `${'('.repeat(30)}A${')'.repeat(30)}` } },
      'The formula is nested more than 20 levels deep',
    ],
    [{ series: [PAGEVIEWS], trendsFilter: { formula: "A + 'x'" } }, 'A formula is made of numbers'],
    [{ series: [PAGEVIEWS], interval: 'minute', dateRange: { date_from: '2019-01-01' } }, 'more than 20000 intervals'],
  ])('is refused in words: %j', async (query, detail) => {
    await expect(ask(await world(), query)).rejects.toThrow(detail);
  });

  it.each([
    [{ series: [] }, ['series']],
    [{ series: [{ kind: 'ActionsNode', id: 1 }] }, ['series', 0, 'kind']],
    [{ series: [{ event: 'a', math: 'most' }] }, ['series', 0, 'math']],
    [{ series: [PAGEVIEWS], samplingFactor: 0.1 }, ['samplingFactor']],
    [{ series: [PAGEVIEWS], conversionGoal: { customEventName: 'paid' } }, ['conversionGoal']],
    [{ series: [{ event: 'a', math_multiplier: 0.01 }] }, ['series', 0, 'math_multiplier']],
    [
      { series: [{ event: 'a', math_property_revenue_currency: { static: 'EUR' } }] },
      ['series', 0, 'math_property_revenue_currency'],
    ],
    [
      { series: [PAGEVIEWS], breakdownFilter: { breakdown: 3, breakdown_type: 'cohort' } },
      ['breakdownFilter', 'breakdown_type'],
    ],
    [
      { series: [PAGEVIEWS], breakdownFilter: { breakdown: 'x', breakdown_type: 'group' } },
      ['breakdownFilter', 'breakdown_type'],
    ],
    [{ series: [PAGEVIEWS], trendsFilter: { display: 'Tower' } }, ['trendsFilter', 'display']],
    [{ series: [PAGEVIEWS], dateRange: { date_from: 'soon' } }, ['dateRange', 'date_from']],
  ])('is refused by the name of what it lacks: %j', (query, path) => {
    expect(trends.schema.safeParse({ kind: 'TrendsQuery', ...query }).error?.issues[0]?.path).toEqual(path);
  });
});

describe('The persons behind a trend', () => {
  const behind = async (query: object, selection: object): Promise<string[]> => {
    const known = await world();
    const parsed = trends.schema.parse({ kind: 'TrendsQuery', dateRange: RANGE, series: [PAGEVIEWS], ...query });
    const question = await trends.actors?.(parsed, selection, known);
    const { columns, rows } = await known.rows(question ?? { hogql: 'SELECT 1' });
    expect(columns[0]).toBe('actor_id');
    return rows.map(([id]) => String(id)).toSorted((one, other) => one.localeCompare(other));
  };
  const daily = { series: [{ event: '$pageview', math: 'weekly_active' }] };

  it.each([
    [{}, {}, ['p1', 'p2', 'p3', 'p4']],
    [{}, { day: '2020-01-12' }, ['p1', 'p2', 'p3']],
    [{}, { day: '2020-01-12T00:00:00Z' }, ['p1', 'p2', 'p3']],
    [{ breakdownFilter: { breakdown: '$browser' } }, { day: '2020-01-12', breakdown: 'Firefox' }, ['p2']],
    [{ breakdownFilter: { breakdowns: [{ property: '$browser' }] } }, { breakdown: ['Chrome'] }, ['p1']],
    [{ trendsFilter: { display: 'BoldNumber' } }, { day: '2020-01-12' }, ['p1', 'p2', 'p3', 'p4']],
    [{ trendsFilter: { display: 'ActionsLineGraphCumulative' } }, { day: '2020-01-11' }, ['p1', 'p2']],
    [{ compareFilter: { compare: true } }, { compare: 'previous' }, []],
    [daily, { day: '2020-01-18' }, ['p1', 'p2', 'p3', 'p4']],
    [daily, { day: '2020-01-19' }, ['p1', 'p4']],
    [{ series: [{ event: '$pageview', math: 'first_time_for_user' }] }, { day: '2020-01-12' }, ['p3']],
    [{ series: [{ event: '$pageview', math: 'first_time_for_user' }] }, { day: '2020-01-13' }, []],
  ])('of %j, chosen by %j, are those that it counts', async (query, selection, expected) => {
    expect(await behind(query, selection)).toEqual(expected);
  });

  it.each([
    [{}, { series: 1 }, 'no such series'],
    [{}, { compare: 'previous' }, 'compares nothing'],
    [{}, { day: '2021-01-01' }, 'none of the answer'],
    [{ dateRange: { date_from: '2020-01-09', date_to: '2020-01-01' } }, {}, 'ends before it begins'],
    [
      { breakdownFilter: { breakdown: '$browser' } },
      { breakdown: '$$_posthog_breakdown_other_$$' },
      'all other values',
    ],
  ])('of %j are not known where it has no such number: %j', async (query, selection, detail) => {
    await expect(behind(query, selection)).rejects.toThrow(detail);
  });
});

describe('Trends of random events', () => {
  const MISSING = '$$_posthog_breakdown_null_$$';
  const OTHER = '$$_posthog_breakdown_other_$$';
  const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'America/Sao_Paulo', 'Asia/Kolkata'];
  const MINUTE = 60_000;
  const DAY = 24 * 60 * MINUTE;

  const clocks = new Map(
    ZONES.map((timeZone) => [
      timeZone,
      new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
    ]),
  );

  /** Local date and time of an instant, and the offset that its clock has. */
  function localOf(instant: number, timeZone: string): { readonly text: string; readonly offset: number } {
    const text = clocks.get(timeZone)?.format(instant) ?? '';
    return { text, offset: Date.parse(`${text.replace(' ', 'T')}Z`) - Math.floor(instant / 1000) * 1000 };
  }

  const shift = (date: string, days: number): string =>
    new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10);

  interface Case {
    readonly interval: 'hour' | 'day' | 'week' | 'month';
    readonly timezone: string;
    readonly weekStartDay: 0 | 1;
    readonly from: string;
    readonly days: number;
    readonly math: string;
    readonly breakdown: 'none' | 'one' | 'two' | 'url' | 'person' | 'hogql';
    readonly limit: number;
    readonly display: string;
    readonly smoothing: number;
    readonly isCompared: boolean;
  }

  /** An event as the naive program sees it. */
  interface Seen {
    readonly at: number;
    readonly date: string;
    readonly person: string;
    readonly session: string | undefined;
    readonly price: number | undefined;
    readonly value: string;
  }

  const distinct = (values: readonly unknown[]): number => new Set(values).size;
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

  function quantile(values: readonly number[], level: number): number {
    const sorted = values.toSorted((a, b) => a - b);
    const at = level * (sorted.length - 1);
    const [low, high] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0];
    return low + (high - low) * (at - Math.floor(at));
  }

  function aggregated(name: string, values: readonly number[]): number {
    if (values.length === 0) return 0;
    if (name === 'sum') return sum(values);
    if (name === 'avg') return sum(values) / values.length;
    if (name === 'min') return Math.min(...values);
    if (name === 'max') return Math.max(...values);
    return quantile(values, name === 'median' ? 0.5 : Number(name.slice(1)) / 100);
  }

  /** The number that a math gives of some events. */
  function number(math: string, events: readonly Seen[]): number {
    if (['total', 'first_time_for_user'].includes(math)) return events.length;
    if (['dau', 'weekly_active', 'monthly_active'].includes(math)) return distinct(events.map(({ person }) => person));
    if (math === 'unique_session') return distinct(events.map(({ session }) => session));
    if (math === 'hogql') {
      const prices = events.flatMap(({ price }) => price ?? []);
      // The sum of nothing is null, and so is what is added to it.
      return prices.length === 0 ? 0 : sum(prices) + events.length;
    }
    if (math.endsWith('_count_per_actor')) {
      const counts = Map.groupBy(events, ({ person }) => person).values();
      return aggregated(
        math.replace('_count_per_actor', ''),
        [...counts].map((all) => all.length),
      );
    }
    return aggregated(
      math,
      events.flatMap(({ price }) => price ?? []),
    );
  }

  /** What the facts say of a series of one period: by value the numbers, in the order of results. */
  function naive(all: readonly Seen[], one: Case, from: string) {
    const to = shift(from, one.days - 1);
    const isTotal = one.display === 'BoldNumber';
    const lookback = { weekly_active: 7, monthly_active: 30 }[one.math] ?? 1;
    const isTrailing =
      lookback > 1 && (one.interval === 'day' || isTotal) && one.display !== 'ActionsLineGraphCumulative';
    const keyOf = (at: number): string => {
      const { text, offset } = localOf(at, one.timezone);
      const date = text.slice(0, 10);
      if (one.interval === 'hour') return `${text.slice(0, 13)} ${offset}`;
      if (one.interval === 'month') return text.slice(0, 7);
      const since = (new Date(date).getUTCDay() + 7 - one.weekStartDay) % 7;
      return one.interval === 'week' ? shift(date, -since) : date;
    };
    const isIn = (date: string, first: string, last: string): boolean => first <= date && date <= last;
    const walked: string[] = [];
    for (let at = Date.parse(from) - DAY; at < Date.parse(to) + 2 * DAY; at += 30 * MINUTE) {
      if (isIn(localOf(at, one.timezone).text.slice(0, 10), from, to)) walked.push(keyOf(at));
    }
    const keys = isTotal ? ['all'] : [...new Set(walked)];
    const first = new Map<string, Seen>();
    for (const event of all.toSorted((a, b) => a.at - b.at))
      if (!first.has(event.person)) first.set(event.person, event);
    const counted = one.math === 'first_time_for_user' ? [...first.values()] : all;
    const keyOfEvent = new Map(all.map((event) => [event, keyOf(event.at)]));
    /** The events that count at a key. */
    const at = (key: string, events: readonly Seen[]): readonly Seen[] => {
      if (isTrailing) {
        const day = isTotal ? to : key;
        return events.filter(({ date }) => isIn(date, shift(day, 1 - lookback), day));
      }
      return events.filter((event) => isIn(event.date, from, to) && (isTotal || keyOfEvent.get(event) === key));
    };
    const ranged = counted.filter(({ date }) =>
      isIn(date, isTrailing ? shift(isTotal ? to : from, 1 - lookback) : from, to),
    );
    const values = one.breakdown === 'none' ? ['all'] : [...new Set(ranged.map(({ value }) => value))];
    const missing = one.breakdown === 'two' ? `${MISSING}::${MISSING}` : MISSING;
    const ranks = values
      .filter((value) => value !== missing)
      .map((value) => ({
        value,
        total: number(
          one.math,
          ranged.filter((event) => event.value === value),
        ),
      }))
      .toSorted((a, b) => b.total - a.total || (a.value < b.value ? -1 : 1))
      .map(({ value }) => value);
    const other = one.breakdown === 'two' ? `${OTHER}::${OTHER}` : OTHER;
    const kept = (event: Seen): string => {
      if (one.breakdown === 'none') return 'all';
      if (event.value === missing) return missing;
      return ranks.indexOf(event.value) < one.limit ? event.value : other;
    };
    const names = one.breakdown === 'none' ? ['all'] : [...ranks.slice(0, one.limit), missing, other];
    return names.flatMap((name) => {
      const own = counted.filter((event) => kept(event) === name);
      if (one.breakdown !== 'none' && !own.some((event) => ranged.includes(event))) return [];
      // By other intervals than days, those who were active are the persons of the interval.
      const isOfPersons = one.math === 'dau' || (lookback > 1 && !isTrailing);
      const isOnce = one.display === 'ActionsLineGraphCumulative' && (isOfPersons || one.math === 'unique_session');
      const before: Seen[] = [];
      const data = keys.map((key) => {
        const found = at(key, own);
        if (!isOnce) return number(one.math, found);
        const known = number(one.math, before);
        before.push(...found);
        return number(one.math, before) - known;
      });
      const isSummed = one.display === 'ActionsLineGraphCumulative';
      const numbers = isSummed ? data.map((_, n) => sum(data.slice(0, n + 1))) : data;
      const smooth = isTotal
        ? numbers
        : numbers.map((single, n) => {
            const window = numbers.slice(Math.max(0, n + 1 - one.smoothing), n + 1);
            return one.smoothing === 1 ? single : Math.floor(sum(window) / window.length);
          });
      return { name, data: smooth };
    });
  }

  const MATHS = [
    'total',
    'dau',
    'weekly_active',
    'monthly_active',
    'unique_session',
    'first_time_for_user',
    'hogql',
    'sum',
    'avg',
    'min',
    'max',
    'median',
    'p75',
    'p90',
    'p99',
    'avg_count_per_actor',
    'max_count_per_actor',
    'median_count_per_actor',
    'p90_count_per_actor',
  ];

  const STARTS = ['2018-02-15', '2018-11-02', '2026-03-06', '2026-03-27', '2026-10-23'];

  const someEvent = fc.record({
    event: fc.constantFrom('viewed', 'viewed', 'left'),
    distinct_id: fc.constantFrom('d1', 'd2', 'd3', 'd4', 'd5'),
    // Some at one time, and all around midnights, in and out of the range.
    quarter: fc.integer({ min: -6 * 96, max: 7 * 96 }),
    properties: fc.record(
      {
        $browser: fc.constantFrom('Chrome', 'Firefox', 'Safari', '', true, 7),
        $os: fc.constantFrom('Linux', 'macOS'),
        $current_url: fc.constantFrom<string | number>('/a', '/a/', '/a?#', '/a/?b', '/a/\n', '/', '?#', '', 7),
        $session_id: fc.constantFrom('s1', 's2', 's3'),
        price: fc.constantFrom<number | string>(0.5, 2, 3, 10, -4, '7.5', 'much'),
      },
      { requiredKeys: [] },
    ),
    plan: fc.constantFrom('free', 'paid', undefined),
  });

  const someCase: fc.Arbitrary<Omit<Case, 'timezone' | 'weekStartDay' | 'from'>> = fc.record({
    interval: fc.constantFrom('hour', 'day', 'day', 'week', 'month'),
    days: fc.integer({ min: 1, max: 5 }),
    math: fc.constantFrom(...MATHS),
    breakdown: fc.constantFrom('none', 'one', 'two', 'url', 'person', 'hogql'),
    limit: fc.integer({ min: 1, max: 3 }),
    display: fc.constantFrom('ActionsLineGraph', 'ActionsLineGraph', 'BoldNumber', 'ActionsLineGraphCumulative'),
    smoothing: fc.constantFrom(1, 1, 3),
    isCompared: fc.boolean(),
  });

  const BREAKDOWNS: Readonly<Record<Case['breakdown'], object>> = {
    none: {},
    one: { breakdown: '$browser', breakdown_type: 'event' },
    two: { breakdowns: [{ property: '$browser', type: 'event' }, { property: '$os' }] },
    url: { breakdown: '$current_url', breakdown_type: 'event', breakdown_normalize_url: true },
    person: { breakdown: 'plan', breakdown_type: 'person' },
    hogql: { breakdown: "concat('x', toString(properties.$os))", breakdown_type: 'hogql' },
  };

  const textOf = (value: string | number | boolean = ''): string => (value === '' ? MISSING : String(value));

  /** An address is told without what ends it; where nothing is left, it is that of the root. */
  const addressOf = (value: string | number | undefined): string =>
    value === undefined ? MISSING : String(value).replace(/[/?#]+$/, '') || '/';

  it('are what a naive program counts', async () => {
    const persons = [
      { id: 'person 1', distinct_ids: ['d1', 'd2'] },
      { id: 'person 2', distinct_ids: ['d3'] },
      { id: 'person 1', distinct_ids: ['d3'], properties: { plan: 'team' } },
      { id: 'person 4', distinct_ids: ['d4'] },
    ];
    // Person 1 has that of the newest state of one of their ids.
    const planNow = (distinct_id: string): string | undefined =>
      ['d1', 'd2', 'd3'].includes(distinct_id) ? 'team' : undefined;
    const personOf = (distinct_id: string): string =>
      ['d1', 'd2', 'd3'].includes(distinct_id) ? 'person 1' : distinct_id;
    await fc.assert(
      fc.asyncProperty(
        fc.array(someEvent, { minLength: 5, maxLength: 60 }),
        fc.array(someCase, { minLength: 8, maxLength: 8 }),
        fc.constantFrom(...ZONES),
        fc.constantFrom<0 | 1>(0, 1),
        fc.constantFrom(...STARTS),
        async (events, cases, timezone, weekStartDay, from) => {
          const at = (quarter: number): number => Date.parse(from) + quarter * 15 * MINUTE;
          const written = events.map(
            ({ quarter, plan, ...event }): WorldEvent => ({
              ...event,
              timestamp: at(quarter),
              ...(plan && { person_properties: { plan } }),
            }),
          );
          const random = await insightWorld(
            { events: written, persons },
            { now: Date.parse(from) + 30 * DAY, timezone, weekStartDay },
          );
          for (const drawn of cases) {
            const one: Case = { ...drawn, timezone, weekStartDay, from };
            const results = await ask(random, {
              dateRange: { date_from: from, date_to: shift(from, one.days - 1) },
              interval: one.interval,
              series: [
                {
                  event: 'viewed',
                  math: one.math,
                  math_property: 'price',
                  math_hogql: 'sum(toFloat(properties.price)) + count()',
                },
              ],
              trendsFilter: { display: one.display, smoothingIntervals: one.smoothing },
              breakdownFilter: { ...BREAKDOWNS[one.breakdown], breakdown_limit: one.limit },
              compareFilter: { compare: one.isCompared },
            });
            const seen = events
              .filter(({ event }) => event === 'viewed')
              .map(
                ({ distinct_id, quarter, properties, plan }): Seen => ({
                  at: at(quarter),
                  date: localOf(at(quarter), timezone).text.slice(0, 10),
                  person: personOf(distinct_id),
                  session: properties.$session_id,
                  price: Number.isNaN(Number(properties.price)) ? undefined : Number(properties.price),
                  value: {
                    none: 'all',
                    one: textOf(properties.$browser),
                    two: `${textOf(properties.$browser)}::${textOf(properties.$os)}`,
                    url: addressOf(properties.$current_url),
                    person: textOf(plan ?? planNow(distinct_id)),
                    hogql: `x${properties.$os ?? ''}`,
                  }[one.breakdown],
                }),
              );
            const periods = one.isCompared ? [from, shift(from, -one.days)] : [from];
            const expected = periods.flatMap((start) => naive(seen, one, start));
            const found = results.map((result) => ({
              name: result.breakdown_value === undefined ? 'all' : [result.breakdown_value].flat().join('::'),
              data: one.display === 'BoldNumber' ? [result.aggregated_value ?? -1] : (result.data ?? []),
            }));
            const rounded = (all: typeof found) =>
              all.map(({ name, data }) => ({ name, data: data.map((value) => Number(value.toFixed(9)) + 0) }));
            expect({ one, results: rounded(found) }).toEqual({ one, results: rounded(expected) });
          }
        },
      ),
      { numRuns: propertyRuns(10) },
    );
  });
});
