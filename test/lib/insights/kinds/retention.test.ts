import * as fc from 'fast-check';
import { retention } from '../../../../lib/insights/kinds/retention.ts';
import { type History, histories, intervalOf, intervalsBack, personOf } from '../../../support/insight-history.ts';
import { type Asked, insightWorld, type WorldEvent } from '../../../support/insight-world.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const UUID = '01900000-0000-7000-8000-000000000001';

interface Row {
  readonly label: string;
  readonly date: string;
  readonly values: readonly { readonly count: number; readonly label: string; readonly aggregation_value?: number }[];
  readonly breakdown_value?: string;
}

async function rowsOf({ events, persons = [], query, moment = {} }: Asked): Promise<readonly Row[]> {
  const world = await insightWorld({ events, persons }, moment);
  const { results } = await retention.answer(retention.schema.parse({ kind: 'RetentionQuery', ...query }), world);
  return results as readonly Row[];
}

const counts = (rows: readonly Row[]): number[][] => rows.map(({ values }) => values.map(({ count }) => count));

const seen = (distinct_id: string, ...days: readonly string[]): WorldEvent[] =>
  days.map((day) => ({
    event: '$pageview',
    distinct_id,
    timestamp: day.includes('T') ? day : `2020-06-${day}T12:00:00Z`,
  }));

/** Two persons, one of them with two distinct_ids, over a week of June 2020. */
const WEEK = {
  events: [...seen('a', '10', '11'), ...seen('a2', '14'), ...seen('b', '10', '12', '12', '16')],
  persons: [{ id: UUID, distinct_ids: ['a', 'a2'] }],
};

const LAST_WEEK = { dateRange: { date_to: '2020-06-16' }, retentionFilter: { period: 'Day', totalIntervals: 7 } };

describe('a retention query', () => {
  it('counts of those who came in an interval the ones who come again, row by row and padded with zeros', async () => {
    const rows = await rowsOf({ ...WEEK, query: LAST_WEEK });
    expect(rows.map(({ label, date }) => [label, date])).toEqual(
      Array.from({ length: 7 }, (_, n) => [`Day ${n}`, `2020-06-${10 + n}T00:00:00Z`]),
    );
    expect(rows[0]?.values[1]).toEqual({ count: 1, label: 'Day 1' });
    expect(counts(rows)).toEqual([
      [2, 1, 1, 0, 1, 0, 1],
      [1, 0, 0, 1, 0, 0, 0],
      [1, 0, 0, 0, 1, 0, 0],
      [0, 0, 0, 0, 0, 0, 0],
      [1, 0, 0, 0, 0, 0, 0],
      [0, 0, 0, 0, 0, 0, 0],
      [1, 0, 0, 0, 0, 0, 0],
    ]);
  });

  it('counts those who come the first time of all, and each only then', async () => {
    const events = [...WEEK.events, ...seen('b', '2020-05-01T00:00:00Z')];
    const filter = { ...LAST_WEEK.retentionFilter, retentionType: 'retention_first_time' };
    const rows = await rowsOf({ ...WEEK, events, query: { ...LAST_WEEK, retentionFilter: filter } });
    expect(counts(rows)[0]).toEqual([1, 1, 0, 0, 1, 0, 0]);
    expect(counts(rows).slice(1).flat()).toEqual(Array(42).fill(0));
  });

  it('takes the first of all events of a name, where only those count that fit the filters', async () => {
    const target = { id: '$pageview', type: 'events', properties: [{ key: 'plan', value: 'pro' }] };
    const events = WEEK.events.map((event, n) => ({
      ...event,
      properties: { plan: n === 0 || n > 3 ? 'pro' : 'free' },
    }));
    const answer = async (retentionType: string) =>
      counts(
        await rowsOf({
          ...WEEK,
          events,
          query: { ...LAST_WEEK, retentionFilter: { totalIntervals: 7, targetEntity: target, retentionType } },
        }),
      ).map(([began]) => began);
    expect(await answer('retention_first_time')).toEqual([1, 0, 1, 0, 0, 0, 0]);
    expect(await answer('retention_first_ever_occurrence')).toEqual([1, 0, 0, 0, 0, 0, 0]);
  });

  it('counts with cumulative retention those who come then or later', async () => {
    const query = { ...LAST_WEEK, retentionFilter: { ...LAST_WEEK.retentionFilter, cumulative: true } };
    expect(counts(await rowsOf({ ...WEEK, query }))[0]).toEqual([2, 2, 2, 2, 2, 1, 1]);
  });

  it('counts with a least number of occurrences only intervals that have so many', async () => {
    const query = { ...LAST_WEEK, retentionFilter: { ...LAST_WEEK.retentionFilter, minimumOccurrences: 2 } };
    expect(counts(await rowsOf({ ...WEEK, query }))[0]).toEqual([2, 0, 1, 0, 0, 0, 0]);
  });

  it('takes the interval of the end of the range whole', async () => {
    const events = [...seen('a', '2020-07-12T10:00:00Z', '2020-07-25T10:00:00Z')];
    const query = { dateRange: { date_to: '2020-07-20' }, retentionFilter: { period: 'Week', totalIntervals: 2 } };
    const rows = await rowsOf({ events, query });
    expect(rows.map(({ date }) => date)).toEqual(['2020-07-12T00:00:00Z', '2020-07-19T00:00:00Z']);
    expect(counts(rows)).toEqual([
      [1, 1],
      [1, 0],
    ]);
  });

  it('has as many rows as the range has intervals, where it has a beginning', async () => {
    const query = {
      dateRange: { date_from: '2020-06-12', date_to: '2020-06-16' },
      retentionFilter: { totalIntervals: 3 },
    };
    const rows = await rowsOf({ ...WEEK, query });
    expect(rows.map(({ date }) => date.slice(8, 10))).toEqual(['12', '13', '14', '15', '16']);
    expect(counts(rows)[0]).toEqual([1, 0, 0]);
  });

  it('counts 24 hours from when each person came first', async () => {
    const events = [...seen('a', '2020-06-10T23:00:00Z', '2020-06-11T01:00:00Z', '2020-06-11T23:00:00Z')];
    const query = {
      ...LAST_WEEK,
      retentionFilter: { ...LAST_WEEK.retentionFilter, timeWindowMode: '24_hour_windows' },
    };
    expect(counts(await rowsOf({ events, query }))[0]).toEqual([1, 1, 0, 0, 0, 0, 0]);
    expect(
      counts(await rowsOf({ events, query }))
        .slice(1)
        .flat(),
    ).toEqual(Array(42).fill(0));
  });

  it('adds up a property of those who come, and in the first interval of what they begin with', async () => {
    const pay = (distinct_id: string, timestamp: string, price: unknown): WorldEvent => ({
      event: 'pay',
      distinct_id,
      timestamp,
      properties: { price },
    });
    const events = [
      ...seen('a', '10'),
      ...seen('b', '10'),
      pay('a', '2020-06-10T11:00:00Z', 100),
      // Not after they came, but with it.
      pay('a', '2020-06-10T12:00:00Z', 1_000),
      pay('a', '2020-06-10T13:00:00Z', 5),
      pay('a', '2020-06-11T13:00:00Z', '2.5'),
      pay('b', '2020-06-11T13:00:00Z', 'none'),
    ];
    const filter = { totalIntervals: 7, returningEntity: { id: 'pay', type: 'events' }, aggregationProperty: 'price' };
    const values = async (aggregationType: string) =>
      (
        await rowsOf({ events, query: { ...LAST_WEEK, retentionFilter: { ...filter, aggregationType } } })
      )[0]?.values.slice(0, 2);
    expect(await values('sum')).toEqual([
      { count: 2, label: 'Day 0', aggregation_value: 5 },
      { count: 2, label: 'Day 1', aggregation_value: 2.5 },
    ]);
    expect((await values('avg'))?.map((value) => value.aggregation_value)).toEqual([2.5, 1.25]);
    expect(await values('count')).toEqual([
      { count: 2, label: 'Day 0' },
      { count: 2, label: 'Day 1' },
    ]);
  });

  it('has the rows of each value of a breakdown, the one with which most began first, and the rest as one', async () => {
    const browsers = ['Chrome', 'Chrome', 'Safari', 'Chrome', undefined, 'Edge', 'Chrome'];
    const events = WEEK.events.map((event, n) => ({
      ...event,
      properties: browsers[n] === undefined ? {} : { $browser: browsers[n] },
    }));
    const answer = async (breakdown_limit?: number) => {
      const breakdownFilter = { breakdowns: [{ property: '$browser', type: 'event' }], breakdown_limit };
      const rows = await rowsOf({ ...WEEK, events, query: { ...LAST_WEEK, breakdownFilter } });
      return new Map(
        [...new Set(rows.map((row) => row.breakdown_value))].map((value) => [
          value,
          counts(rows.filter((row) => row.breakdown_value === value)),
        ]),
      );
    };
    const all = await answer();
    expect([...all.keys()]).toEqual(['Chrome', '', 'Edge', 'Safari']);
    expect(all.get('Chrome')?.[0]).toEqual([2, 1, 0, 0, 0, 0, 1]);
    expect(all.get('')?.[2]).toEqual([1, 0, 0, 0, 0, 0, 0]);
    const few = await answer(1);
    expect([...few.keys()]).toEqual(['Chrome', '$$_posthog_breakdown_other_$$']);
    expect(few.get('$$_posthog_breakdown_other_$$')?.map(([began]) => began)).toEqual([0, 0, 2, 0, 1, 0, 0]);
  });

  it.each([
    [{ retentionFilter: { cumulative: true, timeWindowMode: '24_hour_windows' } }, /not supported for 24 hour windows/],
    [{ retentionFilter: { cumulative: true, aggregationType: 'sum', aggregationProperty: 'x' } }, /Sums and averages/],
    [{ retentionFilter: { aggregationType: 'sum' } }, /'sum' needs a property, as aggregationProperty/],
    [{ retentionFilter: { aggregationType: 'avg', aggregationProperty: null } }, /'avg' needs a property/],
    [{ retentionFilter: { targetEntity: { id: 1, type: 'actions' } } }, /Actions are not supported/],
    [{ retentionFilter: { retentionCustomBrackets: [1, 2] } }, /Brackets of intervals are not supported/],
    [{ samplingFactor: 0.1 }, /Sampling is not supported/],
    [{ aggregation_group_type_index: 0 }, /Groups are not supported/],
    [{ breakdownFilter: { breakdown: 1, breakdown_type: 'cohort' } }, /Breakdowns by cohort are not supported/],
  ])('refuses %j by its name', async (query, message) => {
    await expect(rowsOf({ events: WEEK.events, query })).rejects.toThrow(message);
  });

  it('tells who began in a row, and when they came', async () => {
    const world = await insightWorld(WEEK);
    const question = await retention.actors?.(
      retention.schema.parse({ kind: 'RetentionQuery', ...LAST_WEEK }),
      { interval: 0 },
      world,
    );
    const { columns, rows } = await world.rows(question ?? { hogql: '' });
    expect(columns).toEqual(['actor_id', 'appearances']);
    expect(new Map(rows.map(([id, gaps]) => [id, gaps]))).toEqual(
      new Map([
        [UUID, [0, 1, 4]],
        ['b', [0, 2, 6]],
      ]),
    );
  });

  it('tells of cumulative retention as many of who began in a row as its numbers are', async () => {
    const query = { ...LAST_WEEK, retentionFilter: { ...LAST_WEEK.retentionFilter, cumulative: true } };
    const world = await insightWorld(WEEK);
    const parsed = retention.schema.parse({ kind: 'RetentionQuery', ...query });
    const question = await retention.actors?.(parsed, { interval: 0 }, world);
    const { rows } = await world.rows(question ?? { hogql: '' });
    const those = [0, 1, 2, 3, 4, 5, 6].map(
      (gap) => rows.filter(([, gaps]) => (gaps as number[]).includes(gap)).length,
    );
    expect(those).toEqual(counts(await rowsOf({ ...WEEK, query }))[0]);
  });
});

const UNITS = { Hour: 'hour', Day: 'day', Week: 'week', Month: 'month' } as const;
const WINDOWS_MS = { Hour: 3_600_000, Day: 86_400_000, Week: 7 * 86_400_000, Month: 30 * 86_400_000 } as const;

const filters = fc.record({
  period: fc.constantFrom('Hour', 'Day', 'Day', 'Week', 'Month'),
  totalIntervals: fc.integer({ min: 1, max: 9 }),
  retentionType: fc.constantFrom('retention_recurring', 'retention_first_time'),
  targetEntity: fc.constantFrom(
    { id: '$pageview' },
    { id: null },
    { id: 'buy', properties: [{ key: 'plan', value: 'pro' }] },
  ),
  returningEntity: fc.constantFrom({ id: '$pageview' }, { id: null }, { id: 'buy' }),
  minimumOccurrences: fc.constantFrom(1, 1, 2),
  mode: fc.constantFrom('plain', 'cumulative', 'windows', 'sum'),
  breakdown: fc.constantFrom(undefined, undefined, 'plan'),
  to: fc.constantFrom(undefined, '-1d', '-2d'),
});
type Filter = typeof filters extends fc.Arbitrary<infer T> ? T : never;
type Entity = { readonly id: string | null; readonly properties?: readonly unknown[] };

/** Who came back, by value of the breakdown, row and gap: how many, and the sum of `price`. */
function naive(
  history: History,
  filter: Filter,
  values: readonly string[],
): Map<string, { count: number; sum: number }> {
  const unit = UNITS[filter.period];
  const end = history.now - (filter.to === undefined || unit === 'hour' ? 0 : Number(filter.to[1]) * 86_400_000);
  const names = intervalsBack(history, unit, end, filter.totalIntervals);
  const is = (entity: Entity, event: History['events'][number]): boolean =>
    (entity.id === null || entity.id === event.event) &&
    (entity.properties === undefined || event.properties?.['plan'] === 'pro');
  const numberOf = (price: unknown): number => (Number.isFinite(Number(price)) ? Number(price) : 0);
  const found = new Map<string, { count: number; sum: number }>();
  const add = (value: string, row: number, gap: number, sum: number): void => {
    const key = `${value}|${row}|${gap}`;
    const before = found.get(key) ?? { count: 0, sum: 0 };
    found.set(key, { count: before.count + 1, sum: before.sum + sum });
  };
  for (const value of values) {
    const own = history.events.filter(
      (event) => filter.breakdown === undefined || (event.properties?.['plan'] ?? '') === value,
    );
    for (const person of new Set(own.map((event) => personOf(history, event)))) {
      const mine = own
        .filter((event) => personOf(history, event) === person)
        .map((event) => ({ ...event, row: names.indexOf(intervalOf(history, unit, event.timestamp)) }))
        .toSorted((a, b) => a.timestamp - b.timestamp);
      const targets = mine.filter((event) => is(filter.targetEntity, event));
      const first = filter.retentionType === 'retention_first_time' ? targets[0] : undefined;
      const starts = filter.retentionType === 'retention_first_time' ? targets.slice(0, 1) : targets;
      const returns = mine.filter((event) => is(filter.returningEntity, event) && event.row >= 0);
      if (filter.mode === 'windows') {
        const anchor = first ?? targets.find(({ row }) => row >= 0);
        if (anchor === undefined || anchor.row < 0) continue;
        const lag = (at: number): number => Math.floor((at - anchor.timestamp) / WINDOWS_MS[filter.period] + 1e-12);
        for (let gap = 0; gap < filter.totalIntervals; gap++) {
          const back = returns.filter(({ timestamp }) => timestamp >= anchor.timestamp && lag(timestamp) === gap);
          if (gap === 0 || back.length >= filter.minimumOccurrences) add(value, anchor.row, gap, 0);
        }
        continue;
      }
      for (const row of new Set(starts.map((event) => event.row).filter((at) => at >= 0))) {
        const came = (gap: number): boolean =>
          gap === 0 || returns.filter((event) => event.row === row + gap).length >= filter.minimumOccurrences;
        for (let gap = 0; gap < filter.totalIntervals; gap++) {
          const later = Array.from({ length: filter.totalIntervals - gap }, (_, more) => gap + more);
          const is_ = filter.mode === 'cumulative' ? later.some(came) : came(gap);
          if (!is_) continue;
          const began = targets.find((event) => event.row === row)?.timestamp ?? 0;
          const counted =
            gap > 0
              ? returns.filter((event) => event.row === row + gap)
              : mine.filter(
                  (event) =>
                    event.row === row &&
                    (is(filter.targetEntity, event) || (is(filter.returningEntity, event) && event.timestamp > began)),
                );
          add(
            value,
            row,
            gap,
            counted.reduce((sum, event) => sum + numberOf(event.properties?.['price']), 0),
          );
        }
      }
    }
  }
  return found;
}

it('gives what a naive program gives, for random events, merges, clocks and filters', async () => {
  await fc.assert(
    fc.asyncProperty(histories({ days: 12 }), filters, async (history, filter) => {
      const { mode, breakdown, to, ...rest } = filter;
      const rows = await rowsOf({
        ...history,
        moment: history,
        query: {
          dateRange: { date_to: rest.period === 'Hour' ? undefined : to },
          retentionFilter: {
            ...rest,
            cumulative: mode === 'cumulative',
            timeWindowMode: mode === 'windows' ? '24_hour_windows' : 'strict_calendar_dates',
            ...(mode === 'sum' ? { aggregationType: 'sum', aggregationProperty: 'price' } : {}),
          },
          ...(breakdown === undefined ? {} : { breakdownFilter: { breakdown, breakdown_type: 'event' } }),
        },
      });
      const values = breakdown === undefined ? [''] : ['', 'pro', 'free'];
      const expected = naive(history, filter, values);
      const answered = new Map(
        rows.flatMap((row) =>
          row.values.flatMap((cell, gap) => {
            const key = `${row.breakdown_value ?? ''}|${row.label.split(' ')[1]}|${gap}`;
            return cell.count === 0 ? [] : [[key, { count: cell.count, sum: cell.aggregation_value ?? 0 }] as const];
          }),
        ),
      );
      const shown =
        mode === 'sum' ? expected : new Map([...expected].map(([key, { count }]) => [key, { count, sum: 0 }]));
      expect(answered).toEqual(shown);
    }),
    { numRuns: propertyRuns(60) },
  );
});
