import * as fc from 'fast-check';
import { parse } from '../../../../lib/http/parse.ts';
import { stickiness } from '../../../../lib/insights/kinds/stickiness.ts';
import { compareText } from '../../../../lib/ports/table/semantics.ts';
import { histories, intervalOf, intervalsBack, personOf } from '../../../support/insight-history.ts';
import { type Asked, insightWorld, type WorldEvent } from '../../../support/insight-world.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const UUID = '01900000-0000-7000-8000-000000000001';

interface Result {
  readonly label: string;
  readonly data: readonly number[];
  readonly days: readonly number[];
  readonly labels: readonly string[];
  readonly count: number;
  readonly action: Readonly<Record<string, unknown>>;
  readonly compare?: boolean;
  readonly compare_label?: string;
}

const readQuery = (query: Asked['query']) =>
  parse(stickiness.schema, { kind: 'StickinessQuery', series: [{ kind: 'EventsNode', event: '$pageview' }], ...query });

async function resultsOf({ events, persons = [], query, moment = {} }: Asked): Promise<readonly Result[]> {
  const world = await insightWorld({ events, persons }, moment);
  return (await stickiness.answer(readQuery(query), world)).results as readonly Result[];
}

const seen = (distinct_id: string, ...days: readonly number[]): WorldEvent[] =>
  days.map((day) => ({ event: '$pageview', distinct_id, timestamp: Date.UTC(2020, 0, day, 12) }));

/** One came on six days, twice on one of them; one with two distinct_ids on two; one once, and on days beyond the range. */
const EVENTS = [
  ...seen('a', 11, 12, 12, 13, 15, 17, 19),
  ...seen('b', 12),
  ...seen('b2', 14),
  ...seen('c', 10, 15, 21),
];
const PERSONS = [{ id: UUID, distinct_ids: ['b', 'b2'] }];
const RANGE = { dateRange: { date_from: '2020-01-11', date_to: '2020-01-20' } };

describe('a stickiness query', () => {
  it('counts persons by the number of intervals in which they did the event', async () => {
    const [result] = await resultsOf({ events: EVENTS, persons: PERSONS, query: RANGE });
    expect(result).toMatchObject({
      label: '$pageview',
      data: [1, 1, 0, 0, 0, 1, 0, 0, 0, 0],
      days: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      count: 3,
      action: { id: '$pageview', type: 'events', order: 0, name: '$pageview' },
    });
    expect(result?.labels.slice(0, 3)).toEqual(['1 day', '2 days', '3 days']);
    expect(result).not.toHaveProperty('compare');
  });

  it('has as many numbers as the range has intervals, started ones included', async () => {
    const [result] = await resultsOf({ events: EVENTS, persons: PERSONS, query: { ...RANGE, interval: 'week' } });
    expect(result).toMatchObject({ data: [2, 0, 1], days: [1, 2, 3], labels: ['1 week', '2 weeks', '3 weeks'] });
  });

  it('counts persons at their number of intervals and below, when it is cumulative', async () => {
    const query = { ...RANGE, stickinessFilter: { computedAs: 'cumulative' } };
    const [result] = await resultsOf({ events: EVENTS, persons: PERSONS, query });
    expect(result).toMatchObject({ data: [3, 2, 1, 1, 1, 1, 0, 0, 0, 0], count: 3 });
    expect(result?.labels.slice(0, 2)).toEqual(['1 day or more', '2 days or more']);
  });

  it('counts intervals only that have the wanted number of events', async () => {
    const query = (operator: string) => ({
      ...RANGE,
      stickinessFilter: { stickinessCriteria: { operator, value: 2 } },
    });
    const data = async (operator: string) =>
      (await resultsOf({ events: EVENTS, persons: PERSONS, query: query(operator) }))[0]?.data.slice(0, 6);
    expect(await data('gte')).toEqual([1, 0, 0, 0, 0, 0]);
    expect(await data('exact')).toEqual([1, 0, 0, 0, 0, 0]);
    expect(await data('lte')).toEqual([1, 1, 0, 0, 0, 1]);
  });

  it('joins intervals from the last one back', async () => {
    const [result] = await resultsOf({ events: EVENTS, persons: PERSONS, query: { ...RANGE, intervalCount: 3 } });
    expect(result).toMatchObject({ data: [2, 0, 0, 1], days: [1, 2, 3, 4] });
  });

  it('of all time begins with the first event that passes the filters', async () => {
    const events = [{ event: '$pageview', distinct_id: 'z', timestamp: Date.UTC(2020, 0, 1) }, ...EVENTS];
    const properties = [{ type: 'event_metadata', key: 'distinct_id', operator: 'is_not', value: 'z' }];
    const moment = { now: Date.UTC(2020, 0, 20, 12) };
    const query = { dateRange: { date_from: 'all' }, properties };
    const [result] = await resultsOf({ events, persons: PERSONS, query, moment });
    expect(result).toMatchObject({ data: [0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0] });
  });

  it('has no numbers where its range ends before it begins', async () => {
    const query = { dateRange: { date_from: '2020-01-14', date_to: '2020-01-12' } };
    expect(await resultsOf({ events: EVENTS, query })).toMatchObject([{ data: [], days: [], labels: [], count: 0 }]);
    const world = await insightWorld({ events: EVENTS });
    const question = await stickiness.actors?.(readQuery(query), {}, world);
    expect((await world.rows(question ?? { hogql: '' })).rows).toEqual([]);
  });

  it('tells of the period before after the current one, for each series', async () => {
    const query = {
      dateRange: { date_from: '2020-01-14', date_to: '2020-01-16' },
      series: [
        { kind: 'EventsNode', event: '$pageview' },
        { kind: 'EventsNode', event: null },
      ],
      compareFilter: { compare: true },
    };
    const results = await resultsOf({ events: EVENTS, persons: PERSONS, query });
    expect(results.map(({ label, compare_label, data }) => [label, compare_label, data])).toEqual([
      ['$pageview', 'current', [3, 0, 0]],
      ['All events', 'current', [3, 0, 0]],
      ['$pageview', 'previous', [1, 0, 1]],
      ['All events', 'previous', [1, 0, 1]],
    ]);
  });

  it.each([
    [{ series: [{ kind: 'ActionsNode', id: 1 }] }, /Actions are not supported/],
    [{ series: [{ kind: 'EventsNode', event: 'a', math: 'unique_group' }] }, /Stickiness counts persons only/],
    [{ samplingFactor: 0.5 }, /Sampling is not supported/],
    [{ breakdownFilter: { breakdown: 'plan' } }, /Breakdowns of a stickiness are not supported/],
    [{ breakdownFilter: { breakdown: ['plan'] } }, /Breakdowns of a stickiness are not supported/],
    [{ breakdownFilter: { breakdowns: [{ property: 'a' }] } }, /Breakdowns of a stickiness are not supported/],
  ])('refuses %j by its name', async (query, message) => {
    await expect(resultsOf({ events: EVENTS, query })).rejects.toThrow(message);
  });

  it.each([{}, { breakdown: '' }, { breakdown: [] }, { breakdown: null, breakdowns: [] }, null])(
    'takes a breakdown by nothing: %j',
    (breakdownFilter) => {
      expect(readQuery({ breakdownFilter })).toMatchObject({ kind: 'StickinessQuery' });
    },
  );

  it('tells who did it in so many intervals', async () => {
    const world = await insightWorld({ events: EVENTS, persons: PERSONS });
    const idsOf = async (selection: object, query = {}) => {
      const question = await stickiness.actors?.(readQuery({ ...RANGE, ...query }), selection, world);
      const { rows } = await world.rows(question ?? { hogql: '' });
      return rows.map(([id]) => String(id)).toSorted(compareText);
    };
    expect(await idsOf({ day: 2 })).toEqual([UUID]);
    expect(await idsOf({ day: 2, operator: 'gte' })).toEqual([UUID, 'a']);
    expect(await idsOf({ day: 2 }, { stickinessFilter: { computedAs: 'cumulative' } })).toEqual([UUID, 'a']);
    expect(await idsOf({})).toEqual([UUID, 'a', 'c']);
    await expect(idsOf({ series: 1 })).rejects.toThrow(/no such series/);
  });
});

it('gives what a naive program gives, for random events, merges and clocks', async () => {
  const asked = fc.record({
    interval: fc.constantFrom('hour', 'day', 'day', 'week', 'month'),
    back: fc.integer({ min: 0, max: 6 }),
    intervalCount: fc.constantFrom(1, 1, 2, 3),
    criteria: fc.constantFrom(
      undefined,
      ...(['gte', 'lte', 'exact'] as const).map((operator) => ({ operator, value: 2 })),
    ),
    isCumulative: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(histories({ days: 14 }), asked, async (history, { interval, back, ...rest }) => {
      const { intervalCount, criteria, isCumulative } = rest;
      const from = Math.floor((history.now - back * 86_400_000 - 7 * 3_600_000) / 3_600_000) * 3_600_000;
      const [result] = await resultsOf({
        ...history,
        moment: history,
        query: {
          interval,
          intervalCount,
          dateRange: {
            date_from: new Date(from).toISOString(),
            date_to: new Date(history.now).toISOString(),
            explicitDate: true,
          },
          series: [{ kind: 'EventsNode', event: null }],
          stickinessFilter: {
            computedAs: isCumulative ? 'cumulative' : 'non_cumulative',
            ...(criteria === undefined ? {} : { stickinessCriteria: criteria }),
          },
        },
      });

      const all = intervalsBack(history, interval, history.now, 400);
      const names = all.slice(all.indexOf(intervalOf(history, interval, from)));
      const inside = history.events.filter(({ timestamp }) => timestamp >= from && timestamp < history.now + 1);
      const numbers = [...new Set(inside.map((event) => personOf(history, event)))].map((person) => {
        const mine = inside.filter((event) => personOf(history, event) === person);
        const blocks = mine.map(({ timestamp }) =>
          Math.floor((names.length - 1 - names.indexOf(intervalOf(history, interval, timestamp))) / intervalCount),
        );
        return [...new Set(blocks)].filter((block) => {
          const count = blocks.filter((one) => one === block).length;
          if (criteria === undefined) return true;
          return { gte: count >= 2, lte: count <= 2, exact: count === 2 }[criteria.operator];
        }).length;
      });
      const data = Array.from(
        { length: Math.ceil(names.length / intervalCount) },
        (_, n) => numbers.filter((number) => (isCumulative ? number > n : number === n + 1)).length,
      );
      expect(result?.data).toEqual(data);
      expect(result?.count).toBe(numbers.filter((number) => number > 0).length);
    }),
    { numRuns: propertyRuns(60) },
  );
});
