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

/** The results of a query whose range is by default 9 to 19 January 2020. */
async function ask(world: World, query: Readonly<Record<string, unknown>>): Promise<Result[]> {
  const dateRange = { date_from: '2020-01-09', date_to: '2020-01-19' };
  const parsed = trends.schema.parse({ kind: 'TrendsQuery', dateRange, ...query });
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

const world = () => insightWorld({ events: VIEWS }, { now: Date.parse('2020-01-20T12:00:00Z') });
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
    readonly breakdown: 'none' | 'one' | 'two' | 'person' | 'hogql';
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
    const isTrailing = lookback > 1 && (one.interval === 'day' || isTotal);
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
      const isOnce = one.display === 'ActionsLineGraphCumulative' && ['dau', 'unique_session'].includes(one.math);
      const before: Seen[] = [];
      const data = keys.map((key) => {
        const found = at(key, own);
        if (!isOnce) return number(one.math, found);
        const known = number(one.math, before);
        before.push(...found);
        return number(one.math, before) - known;
      });
      const smooth = isTotal
        ? data
        : data.map((single, n) => {
            const window = data.slice(Math.max(0, n + 1 - one.smoothing), n + 1);
            return one.smoothing === 1 ? single : Math.floor(sum(window) / window.length);
          });
      const isSummed = one.display === 'ActionsLineGraphCumulative';
      return { name, data: isSummed ? smooth.map((_, n) => sum(smooth.slice(0, n + 1))) : smooth };
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
    ...['sum', 'avg', 'min', 'max', 'median', 'p75', 'p90', 'p99'],
    ...['avg_count_per_actor', 'max_count_per_actor', 'median_count_per_actor', 'p90_count_per_actor'],
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
    breakdown: fc.constantFrom('none', 'one', 'two', 'person', 'hogql'),
    limit: fc.integer({ min: 1, max: 3 }),
    display: fc.constantFrom('ActionsLineGraph', 'ActionsLineGraph', 'BoldNumber', 'ActionsLineGraphCumulative'),
    smoothing: fc.constantFrom(1, 1, 3),
    isCompared: fc.boolean(),
  });

  const BREAKDOWNS: Readonly<Record<Case['breakdown'], object>> = {
    none: {},
    one: { breakdown: '$browser', breakdown_type: 'event' },
    two: { breakdowns: [{ property: '$browser', type: 'event' }, { property: '$os' }] },
    person: { breakdown: 'plan', breakdown_type: 'person' },
    hogql: { breakdown: "concat('x', toString(properties.$os))", breakdown_type: 'hogql' },
  };

  const textOf = (value: unknown): string => (value === undefined || value === '' ? MISSING : String(value));

  it('are what a naive program counts', async () => {
    const persons = [
      { id: 'person 1', distinct_ids: ['d1', 'd2'] },
      { id: 'person 2', distinct_ids: ['d3'] },
      { id: 'person 1', distinct_ids: ['d3'] },
    ];
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
              person_id: 'of its arrival',
              ...(plan && { person_properties: { plan } }),
            }),
          );
          const random = await insightWorld(
            { events: written.map(({ person_id: _, ...event }) => event), persons },
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
                    person: textOf(plan),
                    hogql: properties.$os === undefined ? MISSING : `x${properties.$os}`,
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
