/** Results of every kind of query in every display, in the shapes in which PostHog answers them. */
import type { Answered } from '../../lib/charts/describe/describer.ts';

interface Sample {
  readonly name: string;
  readonly query: object;
  readonly answered: Answered;
}

/** Days of January 2020 as results name them. */
export const days = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `2020-01-${String(at + 1).padStart(2, '0')}`);
const labels = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at + 1}-Jan-2020`);

/** One result of trends. */
export function trend(label: string, data: readonly (number | null)[], more: object = {}): object {
  return {
    data,
    days: days(data.length),
    labels: labels(data.length),
    count: data.reduce<number>((sum, value) => sum + (value ?? 0), 0),
    label,
    action: { id: '$pageview', type: 'events', order: 0, name: '$pageview', custom_name: null },
    filter: { secret: 'filter' },
    ...more,
  };
}

/** Results of trends with waves of numbers. */
export const waves = (series: number, points: number): object[] =>
  Array.from({ length: series }, (_, at) =>
    trend(
      `Browser ${at + 1}`,
      Array.from({ length: points }, (_, day) => Math.round(900 * Math.sin(at + day / 4) + 1000 + 40 * at)),
      { breakdown_value: `Browser ${at + 1}` },
    ),
  );

const trends = (name: string, display: string, results: unknown, filter: object = {}): Sample => ({
  name,
  query: {
    kind: 'InsightVizNode',
    source: { kind: 'TrendsQuery', trendsFilter: { display, ...filter } },
  },
  answered: { results },
});

const totals = (values: readonly (readonly [name: string, value: number | null])[]): object[] =>
  values.map(([name, value]) => ({
    data: [],
    days: [],
    labels: [],
    count: 0,
    aggregated_value: value,
    label: name,
    breakdown_value: name,
    action: null,
  }));

const BROWSERS = [
  ['Chrome', 4211],
  ['Firefox', 2830],
  ['Safari', 1204],
  ['$$_posthog_breakdown_null_$$', 310],
  ['$$_posthog_breakdown_other_$$', 97],
] as const;

const LONG = `/presentations/${'a-very-long-name-of-a-page-'.repeat(6)}index.html`;
const RTL = 'שלום עולם';

export const HOSTILE = `"><script>alert(1)</script><img src=x onerror=alert(1)>' onload='alert(2)</svg></style>`;

const month = [
  12, 19, 3, 0, 22, 41, 37, 15, 18, 29, 33, 8, 0, 0, 27, 44, 52, 39, 21, 14, 25, 31, 47, 38, 26, 9, 17, 23, 35, 40,
];

const step = (name: string, order: number, count: number, median: number | null, more: object = {}): object => ({
  action_id: name,
  name,
  custom_name: null,
  order,
  people: [],
  count,
  type: 'events',
  average_conversion_time: median,
  median_conversion_time: median,
  ...more,
});

const steps = (more: object = {}, scale = 1): object[] => [
  step('Signed up', 0, 400 * scale, null, more),
  step('Paid', 1, 212 * scale, 5400, more),
  step('Watched a movie', 2, 96 * scale, 95, more),
];

const cohort = (at: number, counts: readonly number[]): object => ({
  label: `Day ${at}`,
  date: `2020-06-${10 + at}T00:00:00Z`,
  values: counts.map((count, day) => ({ count, label: `Day ${day}` })),
});

export const SAMPLES: readonly Sample[] = [
  trends('a line', 'ActionsLineGraph', [trend('$pageview', month)]),
  trends('lines', 'ActionsLineGraph', [
    trend('Visitors', month, { action: { name: 'Visitors', custom_name: 'People who came' } }),
    trend(
      'Sign ups',
      month.map((value) => Math.round(value / 3)),
    ),
    trend(
      'Payments',
      month.map((value, at) => (at % 7 === 0 ? null : Math.round(value / 2 + at))),
    ),
  ]),
  trends('lines compared with the period before', 'ActionsLineGraph', [
    trend('$pageview', month, { compare: true, compare_label: 'current' }),
    trend(
      '$pageview',
      month.map((value) => value + 5),
      { compare: true, compare_label: 'previous' },
    ),
  ]),
  trends('25 lines', 'ActionsLineGraph', waves(25, 30)),
  trends('thousands of lines', 'ActionsLineGraph', waves(1000, 30)),
  trends('one point', 'ActionsLineGraph', [trend('$pageview', [7])]),
  trends('negative numbers and gaps', 'ActionsLineGraph', [
    trend('Balance', [3, -4, null, 6, null, null, -9, 2.5, 0, 1]),
    trend('Margin', [-1, -2, -3, null, -5, -4, -3, null, -1, 1]),
  ]),
  trends('cumulative', 'ActionsLineGraphCumulative', [
    trend(
      '$pageview',
      month.map((_, at) => month.slice(0, at + 1).reduce((a, b) => a + b)),
    ),
  ]),
  trends('areas', 'ActionsAreaGraph', waves(5, 30)),
  trends('bars', 'ActionsBar', [trend('$pageview', month)]),
  trends('stacked bars', 'ActionsStackedBar', waves(4, 14)),
  trends('25 stacked bars', 'ActionsStackedBar', waves(25, 30)),
  trends('bars side by side', 'ActionsUnstackedBar', waves(3, 7)),
  trends('bars by value', 'ActionsBarValue', totals([...BROWSERS, [LONG, 80], [RTL, 60], ['Refunds', -400]])),
  trends(
    'bars of large amounts',
    'ActionsBarValue',
    totals([
      [LONG, 1_234_567_890.12],
      ['Others', 12],
    ]),
    {
      aggregationAxisPrefix: 'US$ ',
    },
  ),
  trends('a pie', 'ActionsPie', totals(BROWSERS)),
  trends('a pie of many', 'ActionsPie', totals(Array.from({ length: 40 }, (_, at) => [`Page ${at}`, 400 - at * 9]))),
  trends('a number', 'BoldNumber', totals([['$pageview', 1_234_567]])),
  trends('a number compared', 'BoldNumber', [
    { ...(totals([['$pageview', 842]])[0] as object), compare_label: 'current' },
    { ...(totals([['$pageview', 913]])[0] as object), compare_label: 'previous' },
  ]),
  trends('a table', 'ActionsTable', totals([...BROWSERS, [LONG, 80]])),
  trends(
    'a map',
    'WorldMap',
    totals([
      ['US', 5100],
      ['DE', 2300],
      ['IN', 900],
      ['BR', 240],
      ['AU', 60],
      ['SG', 30],
      ['FR', 1500],
      ['CN', 2],
    ]),
  ),
  trends(
    'a unit',
    'ActionsLineGraph',
    [
      trend(
        'Time on page',
        month.map((value) => value * 61),
      ),
    ],
    {
      aggregationAxisFormat: 'duration',
    },
  ),
  trends('no data', 'ActionsLineGraph', []),
  trends('nothing but zeros', 'ActionsLineGraph', [
    trend(
      '$pageview',
      month.map(() => 0),
    ),
  ]),
  trends('long, right-to-left and hostile names', 'ActionsLineGraph', [
    trend(LONG, month),
    trend(
      RTL,
      month.map((value) => value + 9),
    ),
    trend(
      HOSTILE,
      month.map((value) => value + 20),
    ),
  ]),
  { name: 'a funnel', query: { kind: 'FunnelsQuery', funnelsFilter: {} }, answered: { results: steps() } },
  {
    name: 'a funnel with a breakdown',
    query: { kind: 'FunnelsQuery' },
    answered: {
      results: [
        steps({ breakdown: ['Chrome'], breakdown_value: ['Chrome'] }),
        steps({ breakdown: [''], breakdown_value: [''] }, 0.5),
      ],
    },
  },
  {
    name: 'a funnel over time',
    query: { kind: 'FunnelsQuery', funnelsFilter: { funnelVizType: 'trends' } },
    answered: { results: [{ data: [100, 0, 33.33, 50, 71.4], days: days(5), labels: labels(5), count: 5 }] },
  },
  {
    name: 'times of a funnel',
    query: { kind: 'FunnelsQuery', funnelsFilter: { funnelVizType: 'time_to_convert' } },
    answered: {
      results: {
        bins: [
          [2220, 2],
          [42_510, 0],
          [82_800, 1],
        ],
        average_conversion_time: 29_540,
      },
    },
  },
  {
    name: 'retention',
    query: { kind: 'RetentionQuery', retentionFilter: { period: 'Day' } },
    answered: {
      results: [
        [120, 60, 44, 31, 20, 12, 9, 4],
        [98, 51, 40, 22, 18, 11, 3],
        [143, 80, 62, 41, 30, 20],
        [77, 30, 22, 15, 11],
        [0, 0, 0, 0],
        [88, 50, 31],
        [64, 40],
        [51],
      ].map((counts, at) => cohort(at, counts)),
    },
  },
  {
    name: 'stickiness',
    query: { kind: 'StickinessQuery' },
    answered: {
      results: [
        {
          data: [220, 101, 64, 33, 12, 7, 19],
          days: [1, 2, 3, 4, 5, 6, 7],
          labels: ['1 day', '2 days', '3 days', '4 days', '5 days', '6 days', '7 days'],
          count: 456,
          label: '$pageview',
        },
      ],
    },
  },
  {
    name: 'lifecycle',
    query: { kind: 'LifecycleQuery' },
    answered: {
      results: [
        ['new', [10, 12, 9, 14, 8, 11, 15]],
        ['returning', [20, 24, 28, 25, 30, 31, 29]],
        ['resurrecting', [2, 4, 1, 5, 3, 2, 6]],
        ['dormant', [-4, -9, -6, -12, -8, -7, -10]],
      ].map(([status, data]) => trend(`$pageview - ${status as string}`, data as number[], { status })),
    },
  },
  {
    name: 'paths',
    query: { kind: 'PathsQuery' },
    answered: {
      results: [
        ['1_/', '2_/pricing', 120],
        ['1_/', '2_/docs', 80],
        ['1_/blog', '2_/docs', 44],
        ['1_/blog', `2_${LONG}`, 12],
        ['2_/pricing', '3_/signup', 61],
        ['2_/docs', '3_/signup', 30],
        ['2_/docs', '3_/docs/install', 52],
        ['3_/signup', '4_/welcome', 70],
      ].map(([source, target, value]) => ({ source, target, value, average_conversion_time: 45_000 })),
    },
  },
  {
    name: 'rows of HogQL',
    query: { kind: 'DataTableNode', source: { kind: 'HogQLQuery', query: 'SELECT secret' } },
    answered: {
      columns: ['event', 'count()', 'properties'],
      types: ['String', 'UInt64', 'String'],
      results: [
        ['$pageview', 4211, '{"$browser":"Chrome"}'],
        ['sign_up', 12, null],
        [RTL, 3, HOSTILE],
      ],
      hasMore: true,
    },
  },
  {
    name: 'a chart of HogQL',
    query: {
      kind: 'DataVisualizationNode',
      display: 'ActionsBar',
      chartSettings: { xAxis: { column: 'day' }, yAxis: [{ column: 'visitors' }] },
      source: { kind: 'HogQLQuery', query: 'SELECT secret' },
    },
    answered: {
      columns: ['day', 'visitors'],
      results: [
        ['2015-05-17', 410],
        ['2015-05-18', 640],
        ['2015-05-19', 590],
        ['2015-05-20', 320],
      ],
    },
  },
  {
    name: 'events',
    query: { kind: 'EventsQuery', select: ['event', 'timestamp', 'person_display_name -- Person'] },
    answered: {
      columns: ['event', 'timestamp', 'person_display_name -- Person'],
      results: [['$pageview', '2020-01-10T12:00:00Z', { display_name: 'p1', id: 'x' }]],
    },
  },
];
