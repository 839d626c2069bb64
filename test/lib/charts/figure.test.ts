/** Charts as markup, and as a browser shows them. */
import * as fc from 'fast-check';
import { csvOf } from '../../../lib/charts/csv.ts';
import { chartOf } from '../../../lib/charts/describe/describe.ts';
import { DARK, LIGHT } from '../../../lib/charts/draw/palette.ts';
import { axisLabels, HEIGHT, namedPoints, valueScale } from '../../../lib/charts/draw/scale.ts';
import { figure } from '../../../lib/charts/figure.ts';
import { duration, fullNumber, PLAIN, shortNumber } from '../../../lib/charts/numbers.ts';
import { CHART_STYLE } from '../../../lib/charts/style.ts';
import { STYLE } from '../../../lib/dashboards/public-page/style.ts';
import { htmlPage } from '../../../lib/http/html-page.ts';
import { html } from '../../../lib/http/markup.ts';
import { describeInBrowser, obstacles } from '../../support/browser.ts';
import { HOSTILE, SAMPLES, trend } from '../../support/charts.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const markupOf = ({ query, answered }: Pick<(typeof SAMPLES)[number], 'query' | 'answered'>): string =>
  figure(chartOf(query, answered)).toString();

/** Returns the value with another one for some of its texts and numbers. */
function changed(value: unknown, change: (leaf: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => changed(one, change));
  if (typeof value !== 'object' || value === null) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one, change)]));
}

describe('the markup of a chart', () => {
  test('is elements and attributes of its own, whatever names and numbers a result has', () => {
    const hostile = fc.oneof(
      fc.constantFrom(HOSTILE, '"', "'", '<', '&lt;', '\0', '\u202e', '${1}', ']]>', '-->', 'javascript:alert(1)'),
      fc.string(),
      fc.constantFrom(NaN, Infinity, -1e308, 1e308, 0.1, -0, 1e-12, null),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...SAMPLES),
        fc.infiniteStream(hostile),
        fc.infiniteStream(fc.boolean()),
        (sample, values, turns) => {
          const { results, columns } = sample.answered;
          const change = (leaf: unknown): unknown => (turns.next().value ? values.next().value : leaf);
          const answered = {
            ...sample.answered,
            // Of the thousands of series some are enough.
            results: changed(Array.isArray(results) ? results.slice(0, 30) : results, change),
            ...(columns === undefined ? {} : { columns: columns.map((column) => `${column}${HOSTILE}`) }),
          };
          const markup = markupOf({ query: sample.query, answered });
          const tags = markup.match(/<[^>]*>/g) ?? [];
          const odd = tags.filter((tag) => !TAG.test(tag));
          expect(odd).toEqual([]);
          expect(markup.replaceAll(/<[^>]*>/g, '')).not.toMatch(/[<>]/);
          expect(markup).not.toMatch(/ (d|x|y|width|height|viewBox)="[^"]*(NaN|Infinity|undefined|e)/);
        },
      ),
      { numRuns: propertyRuns(500) },
    );
  });

  test('has paths whose steps are not all there', () => {
    const link = (source: string, target: string) => ({ source, target, value: 1, average_conversion_time: 0 });
    const results = [link('1_/a', '5_/b'), link('5_/b', '6_/c')];
    expect(markupOf({ query: { kind: 'PathsQuery' }, answered: { results } })).toContain('class="flow"');
  });

  test('is the same each time', () => {
    for (const sample of SAMPLES) expect(markupOf(sample)).toBe(markupOf(sample));
  });

  test('of 25 series of 30 points is below 60 KB with its numbers', () => {
    for (const name of ['25 lines', '25 stacked bars']) {
      const sample = SAMPLES.find((one) => one.name === name);
      expect(sample === undefined ? Infinity : Buffer.byteLength(markupOf(sample))).toBeLessThan(60_000);
    }
  });

  test('of thousands of series and points has an end', () => {
    const data = Array.from({ length: 1000 }, (_, at) => at);
    for (const display of [
      'ActionsLineGraph',
      'ActionsBar',
      'ActionsAreaGraph',
      'ActionsPie',
      'WorldMap',
      'BoldNumber',
    ]) {
      const results = Array.from({ length: 1000 }, (_, at) => ({
        label: `s${at}`,
        data,
        labels: data.map(String),
        count: at,
      }));
      const query = { kind: 'TrendsQuery', trendsFilter: { display } };
      expect(Buffer.byteLength(markupOf({ query, answered: { results } }))).toBeLessThan(250_000);
    }
  });
});

/** Elements that charts are made of: none loads anything, runs anything, or has styles. */
const TAG =
  /^<\/?(figure|figcaption|details|summary|div|p|span|strong|b|bdi|ol|li|table|caption|colgroup|col|thead|tbody|tr|th|td|svg|g|path|rect|text|title)( (class|role|aria-label|aria-hidden|tabindex|scope|title|width|height|viewBox|preserveAspectRatio|x|y|d|stroke-width|open)(="[^"<>]*")?)*\s*\/?>$/;

describe('the period that goes on', () => {
  const days = (count: number) => Array.from({ length: count }, (_, at) => `2020-01-0${at + 1}`);
  const drawn = (display: string, results: readonly object[], more: object = {}) =>
    figure(
      chartOf(
        { kind: 'TrendsQuery', trendsFilter: { display } },
        // It is the fourth in Kiribati already, and still the third by UTC.
        { results, computedAt: '2020-01-03T12:00:00Z', timezone: 'Pacific/Kiritimati', ...more },
      ),
    ).toString();
  const one = (more: object = {}) => trend('One', [5, 7, 6, 1], { days: days(4), ...more });
  const paths = (markup: string): string[] =>
    Array.from(markup.matchAll(/<path class="((?:line|area|bar|dot) [^"]*)" d="[^"]*"\/>/g), ([, name]) =>
      String(name),
    );

  test('is a piece of line of its own, by the clock of the project, and told in the description', () => {
    const markup = drawn('ActionsLineGraph', [one()]);
    expect(paths(markup)).toEqual(['line c0', 'line c0 unfinished']);
    expect(markup).toContain('from 1 to 7. The last day is not over."');
    const whole = drawn('ActionsLineGraph', [one()], { computedAt: '2020-01-04T10:00:00Z' });
    expect(paths(whole)).toEqual(['line c0']);
    expect(whole).not.toContain('not over');
  });

  test('is a bar and an area of its own, but for the period before and for what is summed up', () => {
    const before = one({ compare_label: 'previous' });
    expect(paths(drawn('ActionsBar', [one({ compare_label: 'current' }), before]))).toEqual([
      'bar c0',
      'bar c0 unfinished',
      'bar c0 previous',
      // Of the legend.
      'bar c0',
      'line c0 previous',
    ]);
    expect(paths(drawn('ActionsAreaGraph', [one()]))).toEqual([
      'area c0',
      'line c0',
      'area c0 unfinished',
      'line c0 unfinished',
    ]);
    expect(paths(drawn('ActionsLineGraphCumulative', [one()]))).toEqual(['line c0']);
  });

  test.each([
    ['hours', ['2020-01-03 22:00:00', '2020-01-03 23:00:00', '2020-01-04 00:00:00'], '2020-01-03T10:20:00Z', 'hour'],
    ['weeks', ['2019-12-23', '2019-12-30'], '2020-01-05T09:59:59Z', 'week'],
    ['months', ['2019-12-01', '2020-01-01'], '2020-01-31T09:59:59Z', 'month'],
  ])('of %s is told by how far these are apart', (_, points, computedAt, unit) => {
    const results = [
      trend(
        'One',
        points.map(() => 3),
        { days: points },
      ),
    ];
    expect(drawn('ActionsLineGraph', results, { computedAt })).toContain(`The last ${unit} is not over.`);
    const [later] = [new Date(Date.parse(computedAt) + 3_600_000).toISOString()];
    expect(drawn('ActionsLineGraph', results, { computedAt: later })).not.toContain('not over');
  });

  test('is over when the answer was known to be true after it, though it was computed before', () => {
    const text = 'The last day is not over.';
    expect(drawn('ActionsLineGraph', [one()], { trueAt: '2020-01-04T09:59:59Z' })).toContain(text);
    expect(drawn('ActionsLineGraph', [one()], { trueAt: '2020-01-04T10:00:00Z' })).not.toContain('not over');
  });

  test('is none of a range that has ended within its last week or month', () => {
    const results = [trend('One', [3, 4], { days: ['2019-12-01', '2020-01-01'] })];
    const until = (date_to: string, more: object = {}) =>
      drawn('ActionsLineGraph', results, { range: { date_from: '2019-12-01T00:00:00+14:00', date_to }, ...more });
    expect(until('2020-01-02T23:59:59.999+14:00')).not.toContain('not over');
    expect(until('2020-01-31T23:59:59.999+14:00')).toContain('The last month is not over.');
    // It ended just when it was computed, as a range of exact ends does that ends now.
    expect(until('2020-01-04T02:00:00+14:00')).toContain('The last month is not over.');
    const later = { trueAt: '2020-01-20T00:00:00Z' };
    expect(until('2020-01-15T23:59:59.999+14:00', later)).not.toContain('not over');
  });

  test('is the second of two hours that a clock shows alike', () => {
    const hours = ['2020-10-25 01:00:00', '2020-10-25 02:00:00', '2020-10-25 02:00:00'];
    const at = (trueAt: string, days = hours) =>
      drawn(
        'ActionsLineGraph',
        [
          trend(
            'One',
            days.map(() => 3),
            { days },
          ),
        ],
        {
          computedAt: trueAt,
          timezone: 'Europe/Berlin',
        },
      );
    expect(at('2020-10-25T01:30:00Z')).toContain('The last hour is not over.');
    expect(at('2020-10-25T00:30:00Z')).toContain('The last 2 hours are not over.');
    expect(at('2020-10-25T00:30:00Z', hours.slice(0, 2))).toContain('The last hour is not over.');
    expect(at('2020-10-25T02:00:00Z')).not.toContain('not over');
  });

  test('may be many, where a range reaches into the future, or all', () => {
    expect(drawn('ActionsLineGraph', [one()], { computedAt: '2020-01-02T00:00:00Z' })).toContain(
      'The last 3 days are not over.',
    );
    expect(paths(drawn('ActionsLineGraph', [one()], { computedAt: '2019-12-31T00:00:00Z' }))).toEqual([
      'line c0 unfinished',
    ]);
  });

  test('leaves the keys of lines where these are told apart', () => {
    const two = [one(), trend('Two', [50, 70, 60, 1], { days: days(4) })];
    const markup = drawn('ActionsLineGraph', two);
    expect(markup).not.toContain('keys ends');
    const [, keys] = /<svg class="keys"[^>]*>(.*?)<\/svg>/.exec(markup) ?? [];
    expect(keys?.match(/x="[^"]*"/g)).toEqual(['x="66.7%"', 'x="66.7%"']);
  });

  test('is not told of an answer whose time nobody knows', () => {
    for (const more of [{ computedAt: null }, { timezone: null }, { timezone: 'Nowhere' }, { computedAt: 'soon' }])
      expect(paths(drawn('ActionsLineGraph', [one()], more))).toEqual(['line c0']);
  });
});

describe('a table of rows', () => {
  const rowsOf = (kind: string, row: readonly unknown[]) =>
    chartOf({ kind }, { results: [row], columns: row.map((_, at) => `c${at}`) });

  test.each(['HogQLQuery', 'EventsQuery', 'ActorsQuery'])(
    'of %s shows whole numbers in groups and others in short, with the whole value beside it',
    (kind) => {
      const markup = figure(rowsOf(kind, [2026, 1_700_000_000, 1.79e15, 0.00004, 0.00031234, -0.5])).toString();
      const shown = Array.from(markup.matchAll(/<td class="n">([^<]*)</g), ([, text]) => text);
      expect(shown).toEqual(['2026', '1,700,000,000', '1,790,000,000,000,000', '0.00004', '-0.5']);
      expect(markup).toContain('<td class="n" title="0.00031234">0.0003123</td>');
    },
  );

  test('tells nothing from an empty text, and an answer without rows from one without data', () => {
    const answered = {
      results: [
        [null, ''],
        [7, null],
      ],
      columns: ['paid', 'plan'],
    };
    const markup = figure(chartOf({ kind: 'HogQLQuery' }, answered)).toString();
    expect(markup).toContain('<td class="n missing">null</td><td><bdi></bdi></td>');
    expect(markup).toContain('<td class="n">7</td><td class="missing">null</td>');
    expect(csvOf(chartOf({ kind: 'HogQLQuery' }, answered).table)).toBe('paid,plan\r\n,\r\n7,\r\n');
    expect(chartOf({ kind: 'HogQLQuery' }, { results: [] }).summary).toBe('The query gives no rows.');
    expect(chartOf({ kind: 'EventsQuery' }, { results: [] }).summary).toBe('There is no data in this range.');
  });

  test('shows the beginning of a long text, and has all of it for a file', () => {
    const long = '=x'.repeat(400);
    const { table } = rowsOf('HogQLQuery', [long]);
    expect(figure(rowsOf('HogQLQuery', [long])).toString()).toContain(`<bdi>${long.slice(0, 300)}…</bdi>`);
    expect(csvOf(table)).toBe(`c0\r\n'${long}\r\n`);
  });
});

describe('an axis', () => {
  test('has lines at round numbers, from below the least to above the greatest', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 30 }),
        (values) => {
          for (const unit of ['number', 'seconds', 'milliseconds'] as const) {
            const { y, ticks } = valueScale(values, { ...PLAIN, unit });
            expect(ticks.length).toBeGreaterThanOrEqual(1);
            expect(ticks.length).toBeLessThanOrEqual(12);
            for (const value of [0, ...values]) {
              expect(y(value)).toBeGreaterThanOrEqual(0);
              expect(y(value)).toBeLessThanOrEqual(HEIGHT);
            }
          }
        },
      ),
      { numRuns: propertyRuns(300) },
    );
    expect(valueScale([3, 47], PLAIN).ticks).toEqual([0, 10, 20, 30, 40, 50]);
    expect(valueScale([2], PLAIN).ticks).toEqual([0, 1, 2]);
    expect(valueScale([3100], { ...PLAIN, unit: 'seconds' }).ticks).toEqual([0, 900, 1800, 2700, 3600]);
  });

  test('writes no two of its lines alike', () => {
    const results = [{ label: 'a', labels: ['x', 'y'], data: [0.001, 0.0042] }];
    const markup = markupOf({ query: { kind: 'TrendsQuery' }, answered: { results } });
    expect([...markup.matchAll(/<text x="\d+" y="[\d.]+">([^<]*)</g)].map(([, text]) => text)).toEqual([
      '0',
      '0.001',
      '0.002',
      '0.003',
      '0.004',
      '0.005',
    ]);
  });

  test('names few points, evenly', () => {
    expect(namedPoints(1, 6)).toEqual([0]);
    expect(namedPoints(30, 6)).toEqual([0, 5, 10, 15, 20, 25]);
    expect(namedPoints(7, 4)).toEqual([0, 2, 4, 6]);
  });

  test.each([
    ['two months', ['Oct 2020', 'Nov 2020'], ['Oct 2020', 'Nov 2020'], []],
    [
      'a week',
      [21, 22, 23, 24, 25, 26, 27, 28].map((day) => `${day}-Nov-2020`),
      ['21-Nov', '23-Nov', '25-Nov', '28-Nov'],
      [],
    ],
    [
      'thirty days',
      Array.from({ length: 30 }, (_, at) => `${at + 1}-Nov-2020`),
      ['1-Nov', '6-Nov', '11-Nov', '16-Nov', '21-Nov', '30-Nov'],
      ['1-Nov', '11-Nov', '21-Nov'],
    ],
    [
      'five days',
      Array.from({ length: 5 }, (_, at) => `${at + 1}-Nov-2020`),
      ['1-Nov', '2-Nov', '3-Nov', '4-Nov', '5-Nov'],
      ['2-Nov', '4-Nov'],
    ],
  ])('of %s has the name of its last point, and on a phone two names at least', (_, labels, names, minor) => {
    const results = [{ label: 'a', labels, data: labels.map(() => 1) }];
    const markup = markupOf({ query: { kind: 'TrendsQuery' }, answered: { results } });
    const [, axis = ''] = /<svg class="x-axis"[^>]*>(.*?)<\/svg>/.exec(markup) ?? [];
    expect(axis.match(/[^<>]+(?=<\/text>)/g)).toEqual(names);
    expect(Array.from(axis.matchAll(/class="[^"]*minor">([^<]*)</g), ([, name]) => name)).toEqual(minor);
  });

  test('shortens what all names share, and what is long', () => {
    expect(axisLabels(['9-Jan-2020', '10-Jan-2020'])).toEqual(['9-Jan', '10-Jan']);
    expect(axisLabels(['31-Dec-2019', '1-Jan-2020'])).toEqual(['31-Dec-2019', '1-Jan-2020']);
    expect(axisLabels(['30-Jan – 5-Feb', '5–11 Jan'])).toEqual(['30-Jan', '5-Jan']);
    expect(axisLabels(['29-Dec-2025 – 4-Jan-2026', '5–11 Jan'])).toEqual(['29-Dec-2025', '5-Jan']);
    expect(axisLabels(['a very long name of a point'])).toEqual(['a very long n…']);
  });

  test('leaves what is no range of days as it is', () => {
    const names = ['18–24', '18–29', 'Home – A', 'Home – B'];
    expect(axisLabels(names)).toEqual(names);
  });
});

test.each([
  [0, '0', '0'],
  [-0.001, '0', '0'],
  [1234.567, '1,234.57', '1,234.57'],
  [1_234_567, '1,234,567', '1.23M'],
  [-45_000, '-45,000', '-45K'],
])('%p is written %s, and %s where there is little room', (value, full, short) => {
  expect([fullNumber(value, PLAIN), shortNumber(value, PLAIN)]).toEqual([full, short]);
});

test.each([
  [0, '0 s'],
  [0.00025, '0.25 ms'],
  [0.02, '20 ms'],
  [0.9996, '1 s'],
  [1.25, '1.3 s'],
  [59.6, '60 s'],
  [60, '1 min'],
  [3725, '1 h 2 min'],
  [86_400 * 3, '3 d'],
  [-90, '-1 min 30 s'],
])('%p seconds are %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test('a cell of a retention of sums shows its sum, and an average that grows is as dark as the first', () => {
  const values = [
    [5, 120.5],
    [2, 241],
    [1, -3],
  ].map(([count, aggregation_value]) => ({ count, aggregation_value }));
  const results = [values, [], []].map((cells, at) => ({ label: `Day ${at}`, values: cells }));
  const cells = figure(chartOf({ kind: 'RetentionQuery' }, { results }))
    .toString()
    .match(/<td class="n h.*?<\/td>/g);
  expect(cells).toEqual([
    '<td class="n h10" title="5">120.5</td>',
    '<td class="n h10" title="2">241</td>',
    '<td class="n h0" title="1">-3</td>',
  ]);
});

test('no two lines of a picture of short times are written alike', () => {
  const query = { kind: 'TrendsQuery', trendsFilter: { aggregationAxisFormat: 'duration_ms' } };
  const [, axis] =
    /<svg class="y-axis"(.*?)<\/svg>/s.exec(
      figure(chartOf(query, { results: [trend('Loading', [22, 18])] })).toString(),
    ) ?? [];
  expect(axis?.match(/[^<>]+(?=<\/text>)/g)).toEqual(['0 s', '5 ms', '10 ms', '15 ms', '20 ms', '25 ms']);
});

describe('colours', () => {
  /** The three parts of a colour, from 0 to 1, as light. */
  const light = (colour: string): number[] =>
    [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
  const luminance = ([r = 0, g = 0, b = 0]: readonly number[]): number => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const contrast = (a: string, b: string): number => {
    const [high = 0, low = 0] = [luminance(light(a)), luminance(light(b))].toSorted((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  /** Machado, Oliveira and Fernandes (2009), each for those who lack the cone entirely. */
  const EYES: Readonly<Record<string, readonly (readonly [number, number, number])[]>> = {
    most: [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
    protanopia: [
      [0.152286, 1.052583, -0.204868],
      [0.114503, 0.786281, 0.099216],
      [-0.003882, -0.048116, 1.051998],
    ],
    deuteranopia: [
      [0.367322, 0.860646, -0.227968],
      [0.280085, 0.672501, 0.047413],
      [-0.01182, 0.04294, 0.968881],
    ],
    tritanopia: [
      [1.255528, -0.076749, -0.178779],
      [-0.078411, 0.930809, 0.147602],
      [0.004733, 0.691367, 0.3039],
    ],
  };
  /** A colour in Oklab, where distances are as people see them. */
  const oklab = ([r = 0, g = 0, b = 0]: readonly number[]): number[] => {
    const [l, m, s] = [
      Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b),
      Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b),
      Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b),
    ] as const;
    return [
      0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
    ];
  };
  const seen = (colour: string, eyes: readonly (readonly number[])[]): number[] =>
    oklab(
      eyes.map((row) =>
        Math.max(
          0,
          row.reduce((sum, weight, at) => sum + weight * (light(colour)[at] ?? 0), 0),
        ),
      ),
    );

  test.each([
    ['light', LIGHT, '#ffffff'],
    ['dark', DARK, '#1d2025'],
  ])('of a %s page stand out from it', (_, palette, back) => {
    expect(palette.filter((colour) => contrast(colour, back) < 3)).toEqual([]);
  });

  test.each(Object.keys(EYES))('are told apart by eyes of %s', (eyes) => {
    for (const palette of [LIGHT, DARK]) {
      const colours = palette.map((colour) => seen(colour, EYES[eyes] ?? []));
      const near = colours.flatMap((a, at) =>
        colours.slice(at + 1).flatMap((b, then) => {
          const distance = Math.hypot(...a.map((part, i) => part - (b[i] ?? 0)));
          return distance < 0.1 ? [`${palette[at]} ${palette[at + 1 + then]} ${distance.toFixed(3)}`] : [];
        }),
      );
      expect(near).toEqual([]);
    }
  });
});

/** Sheets of A4 within their margins, in pixels. */
const A4 = { width: 717, height: 1046 };

describeInBrowser('charts in a browser', (visit) => {
  const { content, headers } = htmlPage({
    title: 'Charts',
    style: STYLE + CHART_STYLE,
    body: html`<main><h1>Charts</h1><div class="tiles">${SAMPLES.map(
      (sample) =>
        html`<article class="tile"><h2>${sample.name}</h2>${figure(chartOf(sample.query, sample.answered))}</article>`,
    )}</div></main>`,
  });

  test.each(
    (['light', 'dark'] as const).flatMap((colorScheme) =>
      [320, 1200].map((width) => ({ colorScheme, viewport: { width, height: 900 } })),
    ),
  )('are seen without a script, an error or an obstacle: %j', async (options) => {
    const { page, complaints } = await visit(options);
    const address = 'http://charts.example/';
    await page.route(address, (route) =>
      route.fulfill({ body: content, headers: { ...headers, 'Content-Type': 'text/html' } }),
    );
    await page.goto(address);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(options.viewport.width);
    // No name of a point covers another one.
    const covered = await page.evaluate(`[...document.querySelectorAll('.x-axis, .y-axis, .ends')].flatMap((axis) => {
      const boxes = [...axis.querySelectorAll('text')].map((text) => text.getBoundingClientRect()).filter(({ width }) => width > 0);
      return boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) => a.left < b.right && b.left < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom).map(() => axis.textContent));
    })`);
    expect(covered).toEqual([]);
    expect(complaints).toEqual([]);
    expect(await obstacles(page)).toEqual([]);
  });

  test('are whole on paper, wide tables too', async () => {
    const { page } = await visit({ viewport: A4 });
    const wide = {
      columns: Array.from({ length: 14 }, (_, at) => `Column ${at}`),
      results: [Array(14).fill('words that wrap')],
    };
    await page.setContent(
      `${content}<div class="tile">${figure(chartOf({ kind: 'HogQLQuery' }, wide)).toString()}</div>`,
    );
    await page.emulateMedia({ media: 'print' });
    const cut = `[...document.querySelectorAll('.tile')].filter((tile) => tile.scrollWidth > tile.clientWidth).map((tile) => tile.textContent)`;
    expect(await page.evaluate(cut)).toEqual([]);
  });

  test('have bars that use the room between names and numbers, and no bar as wide as the picture', async () => {
    const { page } = await visit({ viewport: { width: 600, height: 400 } });
    const show = (display: string, values: number[]) =>
      page.setContent(
        `<style>${STYLE}${CHART_STYLE}</style>${figure(chartOf({ kind: 'TrendsQuery', trendsFilter: { display } }, { results: [trend('One', values)] })).toString()}`,
      );
    const widthOf = async (selector: string) => (await page.locator(selector).first().boundingBox())?.width ?? 0;
    await show('ActionsBarValue', [7]);
    expect(await widthOf('.ranking rect')).toBeGreaterThan(0.4 * (await widthOf('.ranking')));
    await show('ActionsBar', [7]);
    expect(await widthOf('.marks .bar')).toBeLessThan(0.2 * (await widthOf('.marks')));
  });

  test('have a pie where they begin, however many slices are named beside it', async () => {
    const { page } = await visit({ viewport: { width: 600, height: 400 } });
    const sample = SAMPLES.find(({ name }) => name === 'a pie of many');
    const drawn = figure(chartOf(sample?.query, sample?.answered ?? { results: [] })).toString();
    await page.setContent(`<style>${STYLE}${CHART_STYLE}</style>${drawn}`);
    const boxOf = (selector: string) => page.locator(selector).first().boundingBox();
    const [pie, names] = [await boxOf('.pie > svg'), await boxOf('.pie table')];
    expect(names?.height).toBeGreaterThan(1.2 * (pie?.height ?? 0));
    expect(pie?.y).toBeLessThan((names?.y ?? 0) + 5);
  });
});
