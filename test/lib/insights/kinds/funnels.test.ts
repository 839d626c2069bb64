import * as fc from 'fast-check';
import { failureOfIssues } from '../../../../lib/http/fields.ts';
import { funnels } from '../../../../lib/insights/kinds/funnels.ts';
import { insightWorld, type WorldEvent, type WorldPerson } from '../../../support/insight-world.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

interface Step {
  readonly name: string;
  readonly count: number;
  readonly order: number;
  readonly average_conversion_time: number | null;
  readonly median_conversion_time: number | null;
  readonly breakdown_value?: readonly string[];
}

const NOW = Date.parse('2026-01-20T12:00:00Z');

async function resultsOf(
  queries: readonly object[],
  events: readonly WorldEvent[],
  persons: readonly WorldPerson[] = [],
  timezone = 'UTC',
): Promise<unknown[]> {
  const world = await insightWorld({ events, persons }, { now: NOW, timezone });
  const results: unknown[] = [];
  for (const query of queries) {
    const base = { kind: 'FunnelsQuery', dateRange: { date_from: '2026-01-01' } };
    results.push((await funnels.answer(funnels.schema.parse({ ...base, ...query }), world)).results);
  }
  return results;
}

const node = (event: string | null, properties: readonly object[] = []) => ({ kind: 'EventsNode', event, properties });
const nodes = (...events: readonly string[]) => events.map((event) => node(event));

/** Events of 1 January 2026, each `distinct_id event time`. */
const told = (...lines: readonly string[]): WorldEvent[] =>
  lines.map((line) => {
    const [distinct_id = '', event = '', time = '', value] = line.split(' ');
    const day = time.includes('T') ? `2026-01-${time}` : `2026-01-01T${time}`;
    return { distinct_id, event, timestamp: `${day}Z`, properties: value === undefined ? {} : { value } };
  });

const counts = (steps: unknown): number[] => (steps as readonly Step[]).map(({ count }) => count);

const PERSON = '00000000-0000-4000-8000-000000000001';

describe('a funnel', () => {
  /** Only signed up; signed up and paid; all, with two distinct_ids; only the movie; and paid before signing up. */
  const FIVE = told(
    'a signup 10:00:00',
    'b signup 10:00:00',
    'b paid 11:00:00',
    'c signup 10:00:00',
    'c paid 12:00:00',
    'c2 movie 13:00:00',
    'd movie 13:00:00',
    'e paid 09:00:00',
    'e signup 10:00:00',
    'e movie 11:00:00',
  );
  const MERGED = [{ id: PERSON, distinct_ids: ['c', 'c2'] }];
  const series = nodes('signup', 'paid', 'movie');

  it('counts who reached each step, in order, and how long it took from the step before', async () => {
    const [steps] = await resultsOf([{ series }], FIVE, MERGED);
    const step = { custom_name: null, people: [], type: 'events' };
    expect(steps).toEqual([
      {
        ...step,
        action_id: 'signup',
        name: 'signup',
        order: 0,
        count: 4,
        average_conversion_time: null,
        median_conversion_time: null,
      },
      {
        ...step,
        action_id: 'paid',
        name: 'paid',
        order: 1,
        count: 2,
        average_conversion_time: 5400,
        median_conversion_time: 5400,
      },
      {
        ...step,
        action_id: 'movie',
        name: 'movie',
        order: 2,
        count: 1,
        average_conversion_time: 3600,
        median_conversion_time: 3600,
      },
    ]);
  });

  it('names its steps by how many they are where their order does not matter', async () => {
    const [steps] = await resultsOf([{ series, funnelsFilter: { funnelOrderType: 'unordered' } }], FIVE, MERGED);
    expect((steps as Step[]).map(({ name, count }) => [name, count])).toEqual([
      ['Completed 1 step', 5],
      ['Completed 2 steps', 3],
      ['Completed 3 steps', 2],
    ]);
  });

  it('is broken by any other event where it is strict', async () => {
    const events = told(
      'a signup 10:00:00',
      'a paid 11:00:00',
      'b signup 10:00:00',
      'b look 10:30:00',
      'b paid 11:00:00',
    );
    const [ordered, strict] = await resultsOf(
      [
        { series: nodes('signup', 'paid') },
        { series: nodes('signup', 'paid'), funnelsFilter: { funnelOrderType: 'strict' } },
      ],
      events,
    );
    expect([counts(ordered), counts(strict)]).toEqual([
      [2, 2],
      [2, 1],
    ]);
  });

  it('takes the last of the runs that begin and end together where it is strict', async () => {
    const events = told('a s 10:00:00', 'a s 10:00:00', 'a s 10:00:01', 'a s 10:00:01');
    const query = { series: nodes('s', 's', 's'), funnelsFilter: { funnelOrderType: 'strict' } };
    const [steps] = await resultsOf([query], events);
    expect((steps as Step[]).map((one) => one.average_conversion_time)).toEqual([null, 1, 0]);
  });

  it('takes what happens exactly at the end of its window, counted from the first step, and nothing later', async () => {
    const events = told(
      'a s 10:00:00',
      'a p 10:05:00',
      'a m 10:10:00',
      'b s 10:00:00',
      'b p 10:05:00',
      'b m 10:10:00.001',
    );
    const funnelsFilter = { funnelWindowInterval: 10, funnelWindowIntervalUnit: 'minute' };
    const [steps] = await resultsOf([{ series: nodes('s', 'p', 'm'), funnelsFilter }], events);
    expect(counts(steps)).toEqual([2, 2, 1]);
  });

  it('takes the run that gets furthest, whichever first step began it', async () => {
    const events = told('a s 10:00:00', 'a s 11:00:00', 'a p 11:05:00');
    const funnelsFilter = { funnelWindowInterval: 10, funnelWindowIntervalUnit: 'minute' };
    const [steps] = await resultsOf([{ series: nodes('s', 'p'), funnelsFilter }], events);
    expect(steps).toMatchObject([{ count: 1 }, { count: 1, average_conversion_time: 300 }]);
  });

  it('needs as many events as there are steps of the same, and lets equal times convert', async () => {
    const events = told('a s 10:00:00', 'b s 10:00:00', 'b s 10:00:00', 'c p 10:00:00', 'c s 10:00:00', 'c s 10:00:00');
    const [twice, there, back] = await resultsOf(
      [nodes('s', 's'), nodes('s', 'p'), nodes('s', 'p', 's')].map((all) => ({ series: all })),
      events,
    );
    expect([counts(twice), counts(there), counts(back)]).toEqual([
      [3, 2],
      [3, 1],
      [3, 1, 1],
    ]);
  });

  it('leaves a person out altogether who did what is excluded between two steps, within the window', async () => {
    const events = told(
      'a s 10:00:00',
      'a p 11:00:00', // converts
      'b s 10:00:00',
      'b x 10:30:00',
      'b p 11:00:00', // out
      'c s 10:00:00',
      'c x 10:30:00', // out, though nothing follows
      'd s 10:00:00',
      'd x 02T10:00:01', // behind the window
      'e s 10:00:00',
      'e p 11:00:00',
      'e x 11:30:00', // after it was done
      'f s 10:00:00',
      'f x 10:30:00',
      'f s 11:00:00',
      'f p 12:00:00', // begins anew
    );
    const exclusions = [{ ...node('x'), funnelFromStep: 0, funnelToStep: 1 }];
    const funnelsFilter = { exclusions, funnelWindowInterval: 1, funnelWindowIntervalUnit: 'day' };
    const [steps] = await resultsOf([{ series: nodes('s', 'p'), funnelsFilter }], events);
    expect(steps).toMatchObject([{ count: 4 }, { count: 3, average_conversion_time: 3600 }]);
  });

  it('tells its steps for each value of a breakdown, and others together beyond the limit', async () => {
    const events = told('a s 10:00:00 x', 'a p 11:00:00 y', 'b s 10:00:00 x', 'c s 10:00:00 z', 'd s 10:00:00');
    const breakdownFilter = { breakdown: 'value', breakdown_type: 'event', breakdown_limit: 2 };
    const [first, byStep] = await resultsOf(
      [
        { series: nodes('s', 'p'), breakdownFilter },
        {
          series: nodes('s', 'p'),
          breakdownFilter,
          funnelsFilter: { breakdownAttributionType: 'step', breakdownAttributionValue: 1 },
        },
      ],
      events,
    );
    const shown = (lists: unknown) => (lists as Step[][]).map((steps) => [steps[0]?.breakdown_value, counts(steps)]);
    expect(shown(first)).toEqual([
      [['x'], [2, 1]],
      [[''], [1, 0]],
      [['Other'], [1, 0]],
    ]);
    expect(shown(byStep)).toEqual([[['y'], [1, 1]]]);
  });

  it('tells of each period how many percent of those who entered reached the end', async () => {
    const events = told(
      'a s 10:00:00',
      'a p 03T11:00:00',
      'b s 10:00:00',
      'c s 10:00:00',
      'a s 03T10:00:00',
      'd s 03T10:00:00',
    );
    const [trend] = await resultsOf(
      [
        {
          series: nodes('s', 'p'),
          dateRange: { date_from: '2026-01-01', date_to: '2026-01-03' },
          funnelsFilter: { funnelVizType: 'trends' },
        },
      ],
      events,
    );
    expect(trend).toEqual([
      {
        count: 3,
        data: [33.33, 0, 50],
        days: ['2026-01-01', '2026-01-02', '2026-01-03'],
        labels: ['1-Jan-2026', '2-Jan-2026', '3-Jan-2026'],
      },
    ]);
  });

  it('has a trend of no intervals where its range ends before it begins', async () => {
    const query = {
      series: nodes('s', 'p'),
      dateRange: { date_from: '2026-01-03', date_to: '2026-01-01' },
      funnelsFilter: { funnelVizType: 'trends' },
    };
    const breakdownFilter = { breakdown: 'value' };
    const [trend, byValue] = await resultsOf([query, { ...query, breakdownFilter }], told('a s 10:00:00'));
    expect(trend).toEqual([{ count: 0, data: [], days: [], labels: [] }]);
    expect(byValue).toEqual([]);
  });

  it('tells in how many seconds persons converted, by bins', async () => {
    const events = told(
      'a s 00:00:00',
      'a p 00:37:00',
      'b s 00:00:00',
      'b p 01:00:20',
      'c s 00:00:00',
      'c p 23:00:00',
      'd s 00:00:00',
    );
    const viz = { funnelVizType: 'time_to_convert' };
    const [automatic, one, none] = await resultsOf(
      [
        { series: nodes('s', 'p'), funnelsFilter: viz },
        { series: nodes('s', 'p'), funnelsFilter: { ...viz, binCount: 1 } },
        { series: nodes('s', 'nothing'), funnelsFilter: viz },
      ],
      events,
    );
    expect(automatic).toEqual({
      bins: [
        [2220, 2],
        [42_510, 0],
        [82_800, 1],
      ],
      average_conversion_time: (2220 + 3620 + 82_800) / 3,
    });
    expect(one).toMatchObject({
      bins: [
        [2220, 2],
        [82_800, 1],
      ],
    });
    expect(none).toEqual({ bins: [], average_conversion_time: null });
  });

  it('tells the average time to the last bit, in whichever order persons are read', async () => {
    const seconds = [0.1, 0.2, 0.3, 0.7, 1.1, 4.4, 1000.3];
    const average = (0.1e6 + 0.2e6 + 0.3e6 + 0.7e6 + 1.1e6 + 4.4e6 + 1000.3e6) / seconds.length / 1e6;
    const series = nodes('s', 'p');
    for (const order of [seconds, seconds.toReversed(), seconds.toSorted((a, b) => (a % 1) - (b % 1))]) {
      const lines = order.flatMap((took, n) => {
        const end = new Date(Date.parse('2026-01-01T10:00:00Z') + took * 1000).toISOString().slice(11, -1);
        return [`d${n} s 10:00:00 x`, `d${n} p ${end} x`];
      });
      const [steps, apart, times] = await resultsOf(
        [
          { series },
          { series, breakdownFilter: { breakdown: 'value', breakdown_type: 'event' } },
          { series, funnelsFilter: { funnelVizType: 'time_to_convert' } },
        ],
        told(...lines),
      );
      const found = [(steps as Step[])[1], (apart as Step[][])[0]?.[1], times as Step];
      expect(found.map((one) => one?.average_conversion_time)).toEqual([average, average, average]);
    }
  });

  it('is of whatever an expression tells apart', async () => {
    const events = told('a s 10:00:00 one', 'b p 11:00:00 one', 'c s 10:00:00 two', 'd s 10:00:00');
    const funnelsFilter = { funnelAggregateByHogQL: 'properties.value' };
    const [steps] = await resultsOf([{ series: nodes('s', 'p'), funnelsFilter }], events);
    expect(counts(steps)).toEqual([2, 1]);
  });

  it('tells whose steps they are', async () => {
    const world = await insightWorld({ events: FIVE, persons: MERGED }, { now: NOW });
    const whose = async (selection: Parameters<NonNullable<typeof funnels.actors>>[1], more: object = {}) => {
      const query = { kind: 'FunnelsQuery', dateRange: { date_from: '2026-01-01' }, series, ...more };
      const question = await funnels.actors?.(funnels.schema.parse(query), selection, world);
      return question && (await world.rows(question)).rows.map(([id]) => String(id)).toSorted();
    };
    expect(await whose({ funnelStep: 2 })).toEqual([PERSON, 'b']);
    expect(await whose({ funnelStep: -2 })).toEqual(['a', 'e']);
    const trends = { funnelsFilter: { funnelVizType: 'trends', funnelToStep: 1 } };
    const period = { funnelTrendsEntrancePeriodStart: '2026-01-01' };
    expect(await whose(period, trends)).toEqual([PERSON, 'b']);
    expect(await whose({ ...period, funnelTrendsDropOff: true }, trends)).toEqual(['a', 'e']);
    await expect(whose({ funnelStep: 4 })).rejects.toMatchObject({ status: 400 });
  });

  const refusals: readonly (readonly [name: string, query: object, detail: RegExp])[] = [
    [
      'a breakdown by bins',
      { series: nodes('s', 'p'), breakdownFilter: { breakdown: 'k', breakdown_histogram_bin_count: 5 } },
      /no breakdown by bins/,
    ],
    ['one step', { series: nodes('s') }, /at least two steps/],
    ['an action', { series: [node('s'), { kind: 'ActionsNode', id: 1 }] }, /Actions are not supported/],
    ...['first_time_for_user', 'first_time_for_user_with_filters'].map((math): (typeof refusals)[number] => [
      `a step of ${math}`,
      { series: [{ ...node('s'), math }, node('p')] },
      /Steps of first events only are not supported/,
    ]),
    ['sampling', { series: nodes('s', 'p'), samplingFactor: 0.1 }, /Sampling is not supported/],
    ['a comparison', { series: nodes('s', 'p'), compareFilter: { compare: true } }, /Comparisons .* not supported/],
    [
      'periods to leave out',
      { series: nodes('s', 'p'), funnelsFilter: { hideIncompleteConversionWindowPeriods: true } },
      /Leaving out periods is not supported/,
    ],
    [
      'steps that end before they begin',
      { series: nodes('s', 'p'), funnelsFilter: { funnelFromStep: 1, funnelToStep: 1 } },
      /'funnelToStep' is from 2 to 1/,
    ],
    [
      'an exclusion of a step',
      {
        series: nodes('s', 'p'),
        funnelsFilter: { exclusions: [{ ...node('p'), funnelFromStep: 0, funnelToStep: 1 }] },
      },
      /Exclusion steps cannot contain an event/,
    ],
    [
      'steps that share events, in any order',
      { series: [node('s'), node(null)], funnelsFilter: { funnelOrderType: 'unordered' } },
      /Steps 1 and 2 may be the same event/,
    ],
  ];
  it.each(refusals)('is refused where it has %s', async (_name, query, detail) => {
    const { error } = funnels.schema.safeParse({ kind: 'FunnelsQuery', ...query });
    const failure = error ? failureOfIssues(error) : await resultsOf([query], []).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ status: 400, body: { detail: expect.stringMatching(detail) as unknown } });
  });
});

/** An event of the naive program: whose it is, when, and which steps and exclusions it is. */
interface Told {
  readonly actor: string;
  readonly at: number;
  readonly uuid: string;
  readonly value: string;
  readonly steps: readonly boolean[];
  readonly excluded: readonly boolean[];
}

interface Naive {
  readonly order: 'ordered' | 'strict' | 'unordered';
  readonly steps: number;
  readonly windowMs: number;
  readonly exclusions: readonly { readonly from: number; readonly to: number }[];
}

/** When the steps of a run were done, and whether it is excluded. */
interface Run {
  readonly times: readonly number[];
  readonly isExcluded: boolean;
}

/** The earliest time at which each step can be done by a run that begins at an instant, trying all ways. */
function orderedTimes(events: readonly Told[], start: number, count: number): number[] {
  const earliest: number[] = [];
  const walk = (step: number, after: number, used: readonly Told[]): void => {
    if (step === count) return;
    for (const event of events) {
      if (!event.steps[step] || used.includes(event) || (step === 0 ? event.at !== start : event.at < after)) continue;
      earliest[step] = Math.min(earliest[step] ?? Number.POSITIVE_INFINITY, event.at);
      walk(step + 1, event.at, [...used, event]);
    }
  };
  walk(0, start, []);
  return earliest;
}

/** The most steps that can be done by different events of these, trying all ways. */
const mostSteps = (events: readonly Told[], step: number, count: number): number => {
  if (step === count) return 0;
  const others = events.flatMap((event) =>
    event.steps[step]
      ? [
          1 +
            mostSteps(
              events.filter((one) => one !== event),
              step + 1,
              count,
            ),
        ]
      : [],
  );
  return Math.max(mostSteps(events, step + 1, count), ...others);
};

function unorderedTimes(events: readonly Told[], start: number, count: number): number[] {
  const times: number[] = [];
  for (const at of events.map((one) => one.at).toSorted((a, b) => a - b)) {
    const most = mostSteps(
      events.filter((one) => one.at >= start && one.at <= at),
      0,
      count,
    );
    while (times.length < most) times.push(at);
  }
  return times;
}

function strictTimes(events: readonly Told[], first: Told, count: number): number[] {
  const placeOf = ({ steps, excluded }: Told) => (excluded.includes(true) ? -1 : [...steps, true].indexOf(true));
  const order = events.toSorted((a, b) => a.at - b.at || placeOf(a) - placeOf(b) || (a.uuid < b.uuid ? -1 : 1));
  const from = order.indexOf(first);
  const times: number[] = [];
  for (let n = 0; n < count && order[from + n]?.steps[n]; n++) times.push((order[from + n] as Told).at);
  return times;
}

function runsOf(
  events: readonly Told[],
  { order, steps, windowMs, exclusions }: Naive,
  isStart: (event: Told) => boolean = () => true,
): (Run & { readonly start: Told })[] {
  const starts = events.filter(
    (one) => (order === 'unordered' ? one.steps.includes(true) : one.steps[0]) && isStart(one),
  );
  return starts.map((start) => {
    const all =
      order === 'strict'
        ? strictTimes(events, start, steps)
        : (order === 'ordered' ? orderedTimes : unorderedTimes)(events, start.at, steps);
    const times = all.filter((at) => at <= start.at + windowMs);
    const isExcluded = exclusions.some(({ from, to }, n) => {
      const begin = order === 'unordered' ? start.at : times[from];
      const end = times[order === 'unordered' ? steps - 1 : to] ?? start.at + windowMs + 0.001;
      return begin !== undefined && events.some(({ at, excluded }) => excluded[n] && at > begin && at < end);
    });
    return { start, times, isExcluded };
  });
}

/** The run by which a person counts; undefined: they do not. Of runs that end together it is the last one. */
function furthest(runs: readonly Run[]): Run | undefined {
  const most = Math.max(0, ...runs.map(({ times }) => times.length));
  const [best] = runs
    .filter(({ times, isExcluded }) => times.length === most && !isExcluded)
    .toSorted((a, b) => (a.times.at(-1) ?? 0) - (b.times.at(-1) ?? 0) || laterFirst(a.times, b.times));
  return best;
}

/** Orders times of runs by the first step at which they differ. */
function laterFirst(a: readonly number[], b: readonly number[]): number {
  const step = a.findIndex((at, n) => at !== b[n]);
  return step === -1 ? 0 : (b[step] ?? 0) - (a[step] ?? 0);
}

const grouped = <T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> => Map.groupBy(items, keyOf);

type Attribution = 'none' | 'first_touch' | 'last_touch' | 'all_events' | 'step';

/** The runs of each person and value. */
function casesOf(
  events: readonly Told[],
  naive: Naive,
  attribution: Attribution,
  step: number,
): { value: string; runs: ReturnType<typeof runsOf> }[] {
  return [...grouped(events, ({ actor }) => actor).values()].flatMap((own) => {
    const steps = own.filter((one) => one.steps.includes(true));
    if (attribution === 'none') return [{ value: '', runs: runsOf(own, naive) }];
    if (attribution === 'all_events')
      return [...grouped(own, ({ value }) => value)].map(([value, alike]) => ({ value, runs: runsOf(alike, naive) }));
    if (attribution === 'step') {
      const isIt = (one: Told) => (naive.order === 'unordered' ? one.steps.includes(true) : one.steps[step]);
      const values = [...new Set(own.filter(isIt).map(({ value }) => value))];
      return values.map((value) => ({
        value,
        runs:
          naive.order === 'unordered'
            ? runsOf(own, naive, (one) => one.value === value)
            : runsOf(
                own.map((one) => ({
                  ...one,
                  steps: one.steps.map((is, n) => is && (n !== step || one.value === value)),
                })),
                naive,
              ),
      }));
    }
    const sign = attribution === 'first_touch' ? 1 : -1;
    const [touch] = steps
      .filter(({ value }) => value !== '')
      .toSorted((a, b) => sign * (a.at - b.at) || (a.value < b.value ? -1 : 1));
    return [{ value: touch?.value ?? '', runs: runsOf(own, naive) }];
  });
}

const average = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, one) => sum + one, 0) / values.length;
const median = (values: readonly number[]): number | null => {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return average(sorted.slice(Math.ceil(half) - 1, Math.floor(half) + 1));
};
const close = (value: number | null): unknown => (value === null ? null : expect.closeTo(value, 5));

function stepsOf(runs: readonly Run[], count: number) {
  return Array.from({ length: count }, (_, n) => {
    const reached = runs.filter(({ times }) => times.length > n);
    const seconds = n === 0 ? [] : reached.map(({ times }) => ((times[n] ?? 0) - (times[n - 1] ?? 0)) / 1000);
    return {
      count: reached.length,
      average_conversion_time: close(average(seconds)),
      median_conversion_time: close(median(seconds)),
    };
  });
}

const START = Date.parse('2026-01-01T00:00:00Z');
const SECOND_MS = 1000;

const STEPS = [
  { node: node('a'), is: (one: WorldEvent) => one.event === 'a' },
  { node: node('b'), is: (one: WorldEvent) => one.event === 'b' },
  { node: node('c'), is: (one: WorldEvent) => one.event === 'c' },
  { node: node(null), is: () => true },
  {
    node: node('a', [{ type: 'event', key: 'k', value: ['1'] }]),
    is: (one: WorldEvent) => one.event === 'a' && one.properties?.['k'] === '1',
  },
  {
    node: node('a', [{ type: 'event', key: 'k', value: ['2'] }]),
    is: (one: WorldEvent) => one.event === 'a' && one.properties?.['k'] === '2',
  },
] as const;

const someEvent = fc.record({
  distinct_id: fc.constantFrom(...Array.from({ length: 12 }, (_, n) => `d${n}`)),
  event: fc.constantFrom('a', 'b', 'c', 'x'),
  second: fc.integer({ min: 0, max: 9 }),
  k: fc.constantFrom('1', '2', undefined),
});
const someFunnel = fc.record({
  order: fc.constantFrom('ordered' as const, 'ordered' as const, 'strict' as const, 'unordered' as const),
  steps: fc.array(fc.integer({ min: 0, max: STEPS.length - 1 }), { minLength: 2, maxLength: 4 }),
  windowSeconds: fc.integer({ min: 1, max: 9 }),
  exclusions: fc.array(fc.record({ from: fc.nat(2), length: fc.integer({ min: 1, max: 3 }) }), { maxLength: 2 }),
  attribution: fc.constantFrom<Attribution>('none', 'none', 'first_touch', 'last_touch', 'all_events', 'step'),
  step: fc.nat(3),
});
type SomeFunnel = typeof someFunnel extends fc.Arbitrary<infer T> ? T : never;

/** A funnel as the service takes it, and as the naive program does. */
function funnelOf({ order, steps: all, windowSeconds, exclusions: some, attribution, step }: SomeFunnel) {
  // What may be the same event in any order is refused, and so is what is a step and excluded.
  const steps =
    order === 'unordered'
      ? all.map((n) => (n === 3 ? 1 : n === 4 ? 5 : n)).map((n, _, found) => (n === 5 && found.includes(0) ? 0 : n))
      : all;
  const last = steps.length - 1;
  const exclusions = steps.includes(3)
    ? []
    : some.flatMap(({ from, length }) => {
        if (order === 'unordered') return [{ from: 0, to: last }];
        return from >= last ? [] : [{ from, to: Math.min(last, from + length) }];
      });
  const at = Math.min(step, last);
  const query = {
    series: steps.map((n) => STEPS[n]?.node),
    ...(attribution === 'none' ? {} : { breakdownFilter: { breakdown: 'k', breakdown_type: 'event' } }),
    funnelsFilter: {
      funnelOrderType: order,
      funnelWindowInterval: windowSeconds,
      funnelWindowIntervalUnit: 'second',
      exclusions: exclusions.map(({ from, to }) => ({ ...node('x'), funnelFromStep: from, funnelToStep: to })),
      ...(attribution === 'none' ? {} : { breakdownAttributionType: attribution, breakdownAttributionValue: at }),
    },
  };
  const naive: Naive = { order, steps: steps.length, windowMs: windowSeconds * SECOND_MS, exclusions };
  return { query, naive, steps, attribution, step: at };
}

it('a funnel counts what a naive program counts that tries all ways', async () => {
  const cases = fc.record({
    events: fc.array(someEvent, { minLength: 30, maxLength: 70 }),
    merged: fc.subarray(['d1', 'd2', 'd3', 'd4']),
    funnels: fc.array(someFunnel, { minLength: 8, maxLength: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ events: some, merged, funnels: asked }) => {
      const events = some.map(
        ({ distinct_id, event, second, k }, n): WorldEvent => ({
          distinct_id,
          event,
          timestamp: START + second * SECOND_MS,
          uuid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
          properties: k === undefined ? {} : { k },
        }),
      );
      const persons = merged.length === 0 ? [] : [{ id: PERSON, distinct_ids: merged }];
      const all = asked.map(funnelOf);
      const found = await resultsOf(
        all.map(({ query }) => query),
        events,
        persons,
      );
      all.forEach(({ naive, steps, attribution, step }, n) => {
        const tagged = events.map(
          (one): Told => ({
            actor: merged.includes(one.distinct_id) ? PERSON : one.distinct_id,
            at: Number(one.timestamp),
            uuid: String(one.uuid),
            value: (one.properties?.['k'] as string | undefined) ?? '',
            steps: steps.map((kind) => STEPS[kind]?.is(one) ?? false),
            excluded: naive.exclusions.map(() => one.event === 'x'),
          }),
        );
        const runs = casesOf(tagged, naive, attribution, step).flatMap(({ value, runs: own }) => {
          const best = furthest(own);
          return best === undefined ? [] : [{ value, ...best }];
        });
        const values = attribution === 'none' ? [''] : [...new Set(runs.map(({ value }) => value))];
        const expected = new Map(
          values.map((value) => [
            value,
            stepsOf(
              runs.filter((one) => one.value === value),
              naive.steps,
            ),
          ]),
        );
        const lists = (attribution === 'none' ? [found[n]] : found[n]) as Step[][];
        const shown = new Map(
          lists.map((list) => [
            list[0]?.breakdown_value?.[0] ?? '',
            list.map(({ count, average_conversion_time, median_conversion_time }) => ({
              count,
              average_conversion_time,
              median_conversion_time,
            })),
          ]),
        );
        expect(shown).toEqual(expected);
      });
    }),
    { numRuns: propertyRuns(6) },
  );
});
