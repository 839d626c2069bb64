/** From results to charts, without pictures. */
import type { Chart, SeriesPicture } from '../../../lib/charts/chart.ts';
import { placesBefore } from '../../../lib/charts/describe/compared.ts';
import { chartOf } from '../../../lib/charts/describe/describe.ts';
import { KINDS } from '../../../lib/insights/kinds/kinds.ts';
import { bucketsOf, previousOf, rangeOf } from '../../../lib/insights/kinds/parts/date-range.ts';
import { SAMPLES, trend, waves } from '../../support/charts.ts';

const chart = (name: string): Chart => {
  const { query, answered } = SAMPLES.find((sample) => sample.name === name) ?? {};
  return chartOf(query, answered ?? { results: null });
};

const trendsOf = (results: unknown, trendsFilter: object = {}): Chart =>
  chartOf({ kind: 'TrendsQuery', trendsFilter }, { results });

const series = ({ picture }: Chart): SeriesPicture => {
  expect(picture.type).toBe('series');
  return picture as SeriesPicture;
};

describe('trends', () => {
  test('are lines, named as the query names them, with a gap where there is no number', () => {
    const { points, series: lines, form } = series(chart('lines'));
    expect(form).toBe('lines');
    expect(points).toHaveLength(30);
    expect(lines.map(({ name }) => name)).toEqual(['People who came', 'Sign ups', 'Payments']);
    expect(lines[2]?.values.slice(0, 3)).toEqual([null, 11, 4]);
  });

  test('have all their numbers in a table, a row for each point', () => {
    const { table } = chart('lines');
    expect(table.columns).toEqual(['Date', 'People who came', 'Sign ups', 'Payments']);
    expect(table.rows.slice(0, 2)).toEqual([
      ['1-Jan-2020', 12, 4, null],
      ['2-Jan-2020', 19, 6, 11],
    ]);
  });

  test('show the period before in the colour of its own', () => {
    const { series: lines } = series(chart('lines compared with the period before'));
    expect(lines.map(({ name, colour, isPrevious }) => [name, colour, isPrevious])).toEqual([
      ['$pageview', 0, false],
      ['$pageview (previous)', 0, true],
    ]);
  });

  describe('by the hour, compared where clocks are moved,', () => {
    /** What stands at each time of a day in New York, or elsewhere: of it and of the day before their hours as they are told. */
    const hoursOf = (
      day: string,
      {
        timezone = 'America/New_York',
        compareTo,
        to = day,
      }: { timezone?: string; compareTo?: string; to?: string } = {},
    ) => {
      const at = { now: Date.parse('2027-01-01T00:00:00Z'), timezone, weekStartDay: 0 } as const;
      const sent = { date_from: day, date_to: to, explicitDate: day.includes('T') };
      const range = rangeOf(sent, 'hour', at);
      const [current, previous] = [range, previousOf(range, sent, 'hour', at, compareTo)].map((one) => {
        const days = bucketsOf(one, 'hour', at).map((bucket) => bucket.day);
        return { days, labels: days, data: days.map((_, n) => n) };
      });
      const rows = [
        trend('a', [], { ...current, compare_label: 'current' }),
        trend('a', [], { ...previous, compare_label: 'previous' }),
      ];
      return new Map(
        trendsOf(rows).table.rows.map(([point, own, before], n) => [
          `${n} ${String(point).slice(11, 13)}`,
          [own, typeof before === 'number' ? previous?.days[before]?.slice(5, 13) : before],
        ]),
      );
    };

    test('have the same hours of the clock above each other on the day that has an hour twice', () => {
      const hours = hoursOf('2026-11-01');
      expect(hours.size).toBe(25);
      expect(['0 00', '1 01', '2 01', '3 02', '24 23'].map((hour) => hours.get(hour)?.[1])).toEqual([
        '10-31 00',
        '10-31 01',
        null,
        '10-31 02',
        '10-31 23',
      ]);
    });

    test('and on the day after it, whose hour has the first of the two', () => {
      const hours = hoursOf('2026-11-02');
      expect(['1 01', '2 02', '23 23'].map((hour) => hours.get(hour)?.[1])).toEqual([
        '11-01 01',
        '11-01 02',
        '11-01 23',
      ]);
    });

    test('and where an hour is left out, of which the day after has nothing before', () => {
      const short = hoursOf('2026-03-08');
      expect(short.size).toBe(23);
      expect(['1 01', '2 03', '22 23'].map((hour) => short.get(hour)?.[1])).toEqual([
        '03-07 01',
        '03-07 03',
        '03-07 23',
      ]);
      const after = hoursOf('2026-03-09');
      expect(['1 01', '2 02', '3 03', '23 23'].map((hour) => after.get(hour)?.[1])).toEqual([
        '03-08 01',
        null,
        '03-08 03',
        '03-08 23',
      ]);
    });

    test('and where that is the first of its day', () => {
      const timezone = 'America/Santiago';
      expect(hoursOf('2026-09-06', { timezone }).get('0 01')?.[1]).toBe('09-05 01');
      const after = hoursOf('2026-09-07', { timezone });
      expect(['0 00', '1 01', '23 23'].map((hour) => after.get(hour)?.[1])).toEqual([null, '09-06 01', '09-06 23']);
    });

    test('and of a week before', () => {
      expect(hoursOf('2026-11-01', { compareTo: '-1w' }).get('24 23')?.[1]).toBe('10-25 23');
    });

    test('stand by their places where both are as long and an end lies in the hour that is told twice', () => {
      const hours = hoursOf('2026-11-01T01:30:00-04:00', { to: '2026-11-01T01:29:59-05:00', compareTo: '-1w' });
      expect([...hours].map(([hour, [, before]]) => [hour, before])).toEqual([
        ['0 01', '10-25 01'],
        ['1 01', '10-25 02'],
      ]);
      // From midnight to midnight none does.
      const whole = hoursOf('2026-11-01T00:00:00-04:00', { to: '2026-11-01T22:59:59-05:00' });
      expect(['1 01', '2 01', '23 22'].map((hour) => whole.get(hour)?.[1])).toEqual(['10-31 01', null, '10-31 22']);
    });

    test('and where the clock shows less at the end than at the beginning', () => {
      const minutes = (day: string, hour: number, from: number, to: number) =>
        Array.from({ length: to - from + 1 }, (_, n) => `2026-${day} 0${hour}:${String(from + n).padStart(2, '0')}:00`);
      const days = [...minutes('11-01', 1, 30, 59), ...minutes('11-01', 1, 0, 10)];
      const before = [...minutes('10-31', 1, 30, 59), ...minutes('10-31', 2, 0, 10)];
      expect(placesBefore(days, before)).toEqual(days.map((_, at) => at));
    });

    test('stand by their places where the two begin an hour apart and no clock is moved', () => {
      const timezone = 'UTC';
      const hours = hoursOf('2026-11-27T03:50:00Z', { to: '2026-11-28T03:05:00Z', timezone });
      expect(['0 03', '1 04', '24 03'].map((hour) => hours.get(hour)?.[1])).toEqual(['11-26 04', '11-26 05', null]);
      const berlin = hoursOf('2026-10-25', { timezone: 'Europe/Berlin', compareTo: '-23h' });
      expect(['0 00', '1 01', '24 23'].map((hour) => berlin.get(hour)?.[1])).toEqual(['10-24 01', '10-24 02', null]);
    });

    test('stand by their places where whole days do not lie between the two', () => {
      expect(hoursOf('2026-11-01', { compareTo: '-5h' }).get('24 23')?.[1]).toBe('11-01 18');
    });
  });

  test('draw the greatest of too many series, say so, and keep the numbers of all', () => {
    const { picture, note, table } = chart('thousands of lines');
    expect((picture as SeriesPicture).series.map(({ name }) => name)).toContain('Browser 1000');
    expect((picture as SeriesPicture).series).toHaveLength(25);
    expect(note).toBe('The picture shows the 25 series with the greatest totals of 1,000.');
    expect(table.columns).toHaveLength(1001);
  });

  test('draw fewer series where each has many points', () => {
    const results = waves(25, 1500);
    expect(series(trendsOf(results)).series).toHaveLength(3);
  });

  test.each([
    ['ActionsLineGraph', 'lines'],
    ['ActionsLineGraphCumulative', 'lines'],
    ['ActionsAreaGraph', 'areas'],
    ['ActionsBar', 'stacked'],
    ['ActionsStackedBar', 'stacked'],
    ['ActionsUnstackedBar', 'grouped'],
  ])('of the display %s are %s', (display, form) => {
    expect(series(trendsOf([trend('a', [1, 2])], { display })).form).toBe(form);
  });

  test('with a number that is negative or missing are no areas, which could not stand on each other', () => {
    expect(series(trendsOf([trend('a', [1, 2])], { display: 'ActionsAreaGraph' })).form).toBe('areas');
    expect(series(trendsOf([trend('a', [1, -2])], { display: 'ActionsAreaGraph' })).form).toBe('lines');
    expect(series(trendsOf([trend('a', [1, null])], { display: 'ActionsAreaGraph' })).form).toBe('lines');
  });

  test('of displays that show one number are sorted, and named in words', () => {
    const { picture } = chart('a pie');
    expect(picture).toMatchObject({
      type: 'pie',
      items: [
        { name: 'Chrome', value: 4211 },
        { name: 'Firefox', value: 2830 },
        { name: 'Safari', value: 1204 },
        { name: 'No value', value: 310 },
        { name: 'Other values', value: 97 },
      ],
    });
  });

  test('in a pie of many join the small ones, and lose nothing', () => {
    const { picture, table } = chart('a pie of many');
    const items = picture.type === 'pie' ? picture.items : [];
    expect(items.at(-1)?.name).toBe('30 others together');
    const sum = (values: readonly (number | null)[]): number => values.reduce<number>((a, b) => a + (b ?? 0), 0);
    expect(sum(items.map(({ value }) => value))).toBe(sum(table.rows.map(([, value]) => value as number)));
  });

  test('with negative numbers are no pie', () => {
    const results = [
      { aggregated_value: 5, label: 'a' },
      { aggregated_value: -1, label: 'b' },
    ];
    expect(trendsOf(results, { display: 'ActionsPie' }).picture.type).toBe('ranking');
  });

  test('of a formula are named by the value that each is of', () => {
    const of = (breakdown_value: unknown, more: object = {}): object =>
      trend('Ratio', [1, 2], { action: null, breakdown_value, ...more });
    const results = [
      of('Chrome'),
      of('$$_posthog_breakdown_null_$$'),
      of(['Safari', 'DE'], { compare_label: 'previous' }),
    ];
    expect(series(trendsOf(results)).series.map(({ name }) => name)).toEqual([
      'Ratio - Chrome',
      'Ratio - No value',
      'Ratio - Safari · DE (previous)',
    ]);
  });

  test('on a map without any country are bars', () => {
    const results = [{ aggregated_value: 9, breakdown_value: '$$_posthog_breakdown_null_$$', label: 'x' }];
    expect(trendsOf(results, { display: 'WorldMap' }).picture.type).toBe('ranking');
  });

  test('have what stands for other values last, and behind the picture what is too much for it', () => {
    const results = Array.from({ length: 26 }, (_, at) => ({
      aggregated_value: at === 0 ? 999 : 100 - at,
      label: at === 0 ? '$$_posthog_breakdown_other_$$' : `Page ${at}`,
    }));
    const { picture, table, note } = trendsOf(results, { display: 'ActionsTable' });
    expect(picture.type === 'ranking' && picture.items.map(({ name }) => name)[0]).toBe('Page 1');
    expect(table.rows.at(-1)).toEqual(['Other values', 999]);
    expect(note).toBe('The first 10 of 26 values are shown.');
  });

  test('as one number stand beside that of the period before', () => {
    expect(chart('a number compared').picture).toMatchObject({ items: [{ value: 842, previous: 913 }] });
  });

  test('on a map are by country, in English', () => {
    const { picture, table } = chart('a map');
    expect(picture.type === 'map' && picture.values.get('DE')).toBe(2300);
    expect(table.rows[0]).toEqual(['United States', 5100]);
  });

  test('on a map are so many countries as have a number: neither what has none nor all others are one', () => {
    const codes = ['DE', 'FR', '$$_posthog_breakdown_null_$$', '$$_posthog_breakdown_other_$$'];
    const results = codes.map((code, at) => ({ aggregated_value: at + 1, breakdown_value: code, label: code }));
    const { summary, table } = trendsOf(results, { display: 'WorldMap' });
    expect([summary, table.rows.length]).toEqual(['Map of the world with 2 countries.', 4]);
  });

  test.each([
    [
      'series',
      (label: string, order: number, code: string) => ({ label: `${label} - ${code}`, action: { order, name: label } }),
    ],
    ['formulas', (label: string) => ({ label, action: null })],
  ])('on a map of several %s are those of the first, which it says, and all in the table', (_what, named) => {
    const row = (label: string, order: number, code: string, value: number) => ({
      ...named(label, order, code),
      aggregated_value: value,
      breakdown_value: code,
    });
    const results = [
      row('came', 0, 'DE', 20),
      row('came', 0, 'FR', 10),
      row('paid', 1, 'DE', 2),
      row('paid', 1, 'IN', 1),
    ];
    const { picture, table, note } = trendsOf(results, { display: 'WorldMap' });
    expect(picture.type === 'map' && [...picture.values]).toEqual([
      ['DE', 20],
      ['FR', 10],
    ]);
    expect(note).toBe('The map shows the first of 2 series.');
    expect(table.rows).toEqual([
      ['came - Germany', 20],
      ['came - France', 10],
      ['paid - Germany', 2],
      ['paid - India', 1],
    ]);
  });

  test('without anything say so', () => {
    expect(chart('no data').picture).toEqual({ type: 'none', reason: 'There is no data in this range.' });
  });

  test.each([null, 7, 'x', [null], [7], [{ data: 'x' }], { a: 1 }])(
    'that are not as they should be (%j) do no harm',
    (results) => {
      for (const kind of [
        'TrendsQuery',
        'FunnelsQuery',
        'RetentionQuery',
        'PathsQuery',
        'HogQLQuery',
        'LifecycleQuery',
      ]) {
        expect(typeof chartOf({ kind }, { results }).summary).toBe('string');
      }
    },
  );
});

describe('funnels', () => {
  test('tell the share of the first step and of the one before', () => {
    const { picture } = chart('a funnel');
    const [group] = picture.type === 'funnel' ? picture.groups : [];
    expect(
      group?.steps.map(({ name, count, share, shareOfPrevious }) => [name, count, share, shareOfPrevious]),
    ).toEqual([
      ['Signed up', 400, 1, null],
      ['Paid', 212, 0.53, 0.53],
      ['Watched a movie', 96, 0.24, 96 / 212],
    ]);
  });

  test('with a breakdown are one for each value', () => {
    const { picture, summary } = chart('a funnel with a breakdown');
    expect(picture.type === 'funnel' && picture.groups.map(({ name }) => name)).toEqual(['Chrome', 'No value']);
    expect(summary).toBe('Funnel of 3 steps by 2 values; of Chrome, 24% reach the last one.');
  });

  test('over time are lines of percent', () => {
    const { series: lines, format } = series(chart('a funnel over time'));
    expect([lines.map(({ name }) => name), format.unit]).toEqual([['Conversion'], 'percent']);
  });

  test('by their times are bars', () => {
    const { points } = series(chart('times of a funnel'));
    expect(points).toEqual(['37 min', '11 h 48 min', '23 h']);
    expect(chart('times of a funnel').note).toBe('Average time: 8 h 12 min.');
  });
});

describe('retention', () => {
  test('is a triangle of cohorts', () => {
    const { picture } = chart('retention');
    expect(picture).toMatchObject({ type: 'grid', columns: expect.arrayContaining(['Day 0', 'Day 7']) });
    expect(picture.type === 'grid' && picture.rows[0]).toEqual({
      name: 'Day 0, 2020-06-10',
      counts: [120, 60, 44, 31, 20, 12, 9, 4],
    });
  });

  test('of sums has these, and how many persons they are of', () => {
    const values = (cells: readonly (readonly [number, number])[]) =>
      cells.map(([count, aggregation_value]) => ({ count, aggregation_value }));
    const results = [
      {
        label: 'Day 0',
        values: values([
          [5, 120.5],
          [2, 40],
        ]),
      },
      {
        label: 'Day 1',
        values: values([
          [3, 0],
          [0, 0],
        ]),
      },
    ];
    const { picture, table } = chartOf({ kind: 'RetentionQuery' }, { results });
    expect(picture).toMatchObject({
      rows: [
        { counts: [5, 2], amounts: [120.5, 40] },
        { counts: [3, null], amounts: [0, null] },
      ],
    });
    expect(table.rows).toEqual([
      ['Day 0', 120.5, 40],
      ['Day 1', 0, null],
    ]);
  });

  test('that is padded with zeros does not say that nobody will come', () => {
    const values = (counts: readonly number[]) => counts.map((count) => ({ count }));
    const results = [
      { label: 'Day 0', values: values([5, 0]) },
      { label: 'Day 1', values: values([3, 0]) },
    ];
    const { picture } = chartOf({ kind: 'RetentionQuery' }, { results });
    expect(picture.type === 'grid' && picture.rows.map(({ counts }) => counts)).toEqual([
      [5, 0],
      [3, null],
    ]);
  });

  test('has no numbers behind its last interval, however many cohorts and values it has', () => {
    const rows = (count: number, more: object) =>
      Array.from({ length: count }, (_, at) => ({ label: `Day ${at}`, values: [{ count: 4 }, { count: 0 }], ...more }));
    const countsOf = (results: readonly object[]) => {
      const { picture } = chartOf({ kind: 'RetentionQuery' }, { results });
      return picture.type === 'grid' && picture.rows.map(({ counts }) => counts);
    };
    const [whole, last] = [
      [4, 0],
      [4, null],
    ];
    expect(countsOf(rows(3, {}))).toEqual([whole, whole, last]);
    expect(countsOf([...rows(2, { breakdown_value: 'pro' }), ...rows(2, { breakdown_value: 'free' })])).toEqual([
      whole,
      last,
      whole,
      last,
    ]);
  });
});

test('stickiness, lifecycle and paths are bars and flows', () => {
  expect(series(chart('stickiness')).points[0]).toBe('1 day');
  expect(series(chart('lifecycle')).series.map(({ name }) => name)).toEqual([
    'New',
    'Returning',
    'Resurrecting',
    'Dormant',
  ]);
  expect(chart('paths')).toMatchObject({
    picture: { type: 'flow' },
    table: { rows: expect.arrayContaining([['/', '/pricing', 120, '45 s']]) },
  });
});

test('rows of HogQL are a table, or the picture that their settings ask for', () => {
  expect(chart('rows of HogQL')).toMatchObject({ picture: { type: 'table' }, note: 'There are more rows than these.' });
  expect(series(chart('a chart of HogQL')).series).toMatchObject([{ name: 'visitors', values: [410, 640, 590, 320] }]);
  expect(chart('events').table.columns).toEqual(['event', 'timestamp', 'Person']);
});

test('a chart of HogQL that a column splits into series is a table, not one line through all of them', () => {
  const of = (seriesBreakdownColumn: string | null): Chart =>
    chartOf(
      {
        kind: 'DataVisualizationNode',
        display: 'ActionsLineGraph',
        chartSettings: { xAxis: { column: 'day' }, yAxis: [{ column: 'visitors' }], seriesBreakdownColumn },
        source: { kind: 'HogQLQuery', query: 'SELECT 1' },
      },
      {
        columns: ['day', 'browser', 'visitors'],
        results: [
          ['2026-01-05', 'Chrome', 7],
          ['2026-01-05', 'Safari', 2],
        ],
      },
    );
  expect(of('browser').picture.type).toBe('table');
  expect(of(null).picture.type).toBe('series');
});

test('a chart of HogQL has each column once, however often its settings name it', () => {
  const { picture, table } = chartOf(
    {
      kind: 'DataVisualizationNode',
      display: 'ActionsBar',
      chartSettings: { xAxis: { column: 'day' }, yAxis: Array.from({ length: 1_000 }, () => ({ column: 'visitors' })) },
      source: { kind: 'HogQLQuery', query: 'SELECT 1' },
    },
    { columns: ['day', 'visitors'], results: [['2026-01-05', 7]] },
  );
  expect(picture).toMatchObject({ series: [{ name: 'visitors', values: [7] }] });
  expect(table).toEqual({ columns: ['day', 'visitors'], rows: [['2026-01-05', 7]], isExact: true });
});

test('a few words stand beside the numbers of a chart, however many the query says', () => {
  const words = 'é'.repeat(100_000);
  const filter = { display: 'BoldNumber', aggregationAxisPrefix: words, aggregationAxisPostfix: words };
  const { picture } = trendsOf([{ label: 'all', aggregated_value: 7 }], filter);
  expect(picture).toMatchObject({ format: { prefix: 'é'.repeat(50), postfix: 'é'.repeat(50) } });
});

test.each(KINDS.map(({ name }) => name))('a %s has a picture', (kind) => {
  const none = chartOf({ kind: 'Unknown' }, { results: [] }).picture;
  expect(chartOf({ kind }, { results: [] }).picture).not.toEqual(none);
});

test('a query of no known kind has no picture', () => {
  expect(chartOf({ kind: 'SavedInsightNode' }, { results: [] }).picture.type).toBe('none');
});
