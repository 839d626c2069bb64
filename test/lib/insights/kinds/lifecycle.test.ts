import * as fc from 'fast-check';
import { parse } from '../../../../lib/http/parse.ts';
import { lifecycle } from '../../../../lib/insights/kinds/lifecycle.ts';
import { compareText } from '../../../../lib/ports/table/semantics.ts';
import { histories, intervalOf, intervalsBack, personOf, stateOf } from '../../../support/insight-history.ts';
import { type Asked, insightWorld, type WorldEvent } from '../../../support/insight-world.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

interface Result {
  readonly status: string;
  readonly label: string;
  readonly data: readonly number[];
  readonly days: readonly string[];
  readonly labels: readonly string[];
  readonly count: number;
  readonly action: Readonly<Record<string, unknown>>;
}

const readQuery = (query: Asked['query']) =>
  parse(lifecycle.schema, { kind: 'LifecycleQuery', series: [{ kind: 'EventsNode', event: '$pageview' }], ...query });

async function resultsOf({ events, persons = [], query, moment = {} }: Asked): Promise<readonly Result[]> {
  const world = await insightWorld({ events, persons }, moment);
  return (await lifecycle.answer(readQuery(query), world)).results as readonly Result[];
}

const dataOf = (results: readonly Result[]) => Object.fromEntries(results.map(({ status, data }) => [status, data]));

const day = (number: number): number => Date.UTC(2020, 0, number, 12);
const seen = (distinct_id: string, ...days: readonly number[]): WorldEvent[] =>
  days.map((at) => ({ event: '$pageview', distinct_id, timestamp: day(at) }));

const id = (n: number): string => `01900000-0000-7000-8000-00000000000${n}`;

/** One person is made on the 11th, with two distinct_ids; one is older, one is made later than they came first. */
const EVENTS = [...seen('a', 11, 12), ...seen('a2', 13, 15, 17), ...seen('b', 9, 12), ...seen('c', 12, 13)];
const PERSONS = [
  { id: id(1), distinct_ids: ['a', 'a2'], created_at: day(11) },
  { id: id(2), distinct_ids: ['b'], created_at: day(9) },
  { id: id(3), distinct_ids: ['c'], created_at: day(13) },
];
const RANGE = { dateRange: { date_from: '2020-01-12', date_to: '2020-01-18' } };

describe('a lifecycle query', () => {
  it('of all time begins with the first event that counts', async () => {
    const at = { event: '$pageview', timestamp: day(1) };
    const events = [
      { ...at, distinct_id: 'z' },
      { ...at, distinct_id: 'nobody', properties: { $process_person_profile: false } },
      ...EVENTS,
    ];
    const properties = [{ type: 'event_metadata', key: 'distinct_id', operator: 'is_not', value: 'z' }];
    const query = { dateRange: { date_from: 'all' }, properties };
    const [result] = await resultsOf({ events, persons: PERSONS, query, moment: { now: day(12) } });
    expect(result?.days).toEqual(['2020-01-09', '2020-01-10', '2020-01-11', '2020-01-12']);
  });

  it('says of each interval who is new, came again, came back and stayed away', async () => {
    const results = await resultsOf({ events: EVENTS, persons: PERSONS, query: RANGE });
    expect(results.map(({ status, label }) => [status, label])).toEqual([
      ['new', '$pageview - new'],
      ['returning', '$pageview - returning'],
      ['resurrecting', '$pageview - resurrecting'],
      ['dormant', '$pageview - dormant'],
    ]);
    expect(dataOf(results)).toEqual({
      new: [1, 0, 0, 0, 0, 0, 0],
      returning: [1, 2, 0, 0, 0, 0, 0],
      resurrecting: [1, 0, 0, 1, 0, 1, 0],
      dormant: [0, -1, -2, 0, -1, 0, -1],
    });
    expect(results[0]).toMatchObject({
      days: expect.arrayContaining(['2020-01-12', '2020-01-18']),
      count: 1,
      action: { id: '$pageview', type: 'events', order: 0, name: '$pageview', math: 'total' },
    });
    expect(results[0]?.labels[0]).toBe('12-Jan-2020');
    expect(results[3]?.count).toBe(-5);
  });

  it('takes the intervals of the ends of the range whole', async () => {
    const query = { dateRange: { date_from: '2020-01-14', date_to: '2020-01-18' }, interval: 'week' };
    const results = await resultsOf({ events: EVENTS, persons: PERSONS, query });
    expect(dataOf(results)).toEqual({ new: [1], returning: [2], resurrecting: [0], dormant: [0] });
    expect(results[0]?.days).toEqual(['2020-01-12']);
  });

  it('knows by the piece of an hour before the range who was there, where clocks are moved by half an hour', async () => {
    // At 2 o'clock it is half past two: at half past one is an hour before, a quarter to three the one before.
    const at = (distinct_id: string, timestamp: string) => ({ event: '$pageview', distinct_id, timestamp });
    const events = ['2026-10-03T15:00:00Z', '2026-10-03T16:10:00Z'].map((timestamp) => at('early', timestamp));
    events.push(...['2026-10-03T15:45:00Z', '2026-10-03T16:20:00Z'].map((timestamp) => at('late', timestamp)));
    const persons = ['early', 'late'].map((name, n) => ({ id: id(n), distinct_ids: [name], created_at: day(1) }));
    const hour = '2026-10-03T16:00:00Z';
    const query = { dateRange: { date_from: hour, date_to: hour }, interval: 'hour' };
    const results = await resultsOf({ events, persons, query, moment: { timezone: 'Australia/Lord_Howe' } });
    expect(results[0]?.days).toEqual(['2026-10-04 03:00:00']);
    expect(dataOf(results)).toEqual({ new: [0], returning: [1], resurrecting: [1], dormant: [0] });
  });

  it('takes whoever has no state of a person as new when they came first, with any event', async () => {
    const events: WorldEvent[] = [
      ...seen('x', 13, 14),
      { event: 'other', distinct_id: 'y', timestamp: day(2) },
      ...seen('y', 13),
    ];
    expect(dataOf(await resultsOf({ events, query: RANGE }))).toMatchObject({
      new: [0, 1, 0, 0, 0, 0, 0],
      resurrecting: [0, 1, 0, 0, 0, 0, 0],
      returning: [0, 0, 1, 0, 0, 0, 0],
    });
  });

  it('takes somebody as new when they came first, also where an event made their person only weeks later', async () => {
    const later = Date.UTC(2020, 1, 20);
    const persons = [
      { id: id(1), distinct_ids: ['a', 'a2'], created_at: later },
      { id: id(2), distinct_ids: ['b'], created_at: day(15) },
    ];
    const profileless = {
      event: 'other',
      distinct_id: 'b',
      timestamp: day(1),
      properties: { $process_person_profile: false },
    };
    const events: WorldEvent[] = [
      ...seen('a', 12),
      ...seen('a2', 14),
      profileless,
      { event: 'other', distinct_id: 'b', timestamp: day(13) },
      ...seen('b', 13, 15),
    ];
    expect(dataOf(await resultsOf({ events, persons, query: RANGE }))).toEqual({
      new: [1, 1, 0, 0, 0, 0, 0],
      returning: [0, 0, 0, 0, 0, 0, 0],
      resurrecting: [0, 0, 1, 1, 0, 0, 0],
      dormant: [0, -1, -1, -1, -1, 0, 0],
    });
    const before = { event: 'other', distinct_id: 'a2', timestamp: day(2) };
    expect(dataOf(await resultsOf({ events: [...events, before], persons, query: RANGE }))).toMatchObject({
      new: [0, 1, 0, 0, 0, 0, 0],
      resurrecting: [1, 0, 1, 1, 0, 0, 0],
    });
  });

  it('reads no events from before the range where all persons are older', async () => {
    const world = await insightWorld({ events: EVENTS, persons: PERSONS });
    const query = { dateRange: { date_from: '2020-01-15', date_to: '2020-01-18' } };
    await lifecycle.answer(readQuery(query), world);
    expect(world.looked().events.map(({ from }) => from)).toEqual([day(14) - 43_200_000, day(14) - 43_200_000]);
  });

  it('leaves out events that make no person', async () => {
    const events = seen('a', 12).map((event) => ({ ...event, properties: { $process_person_profile: false } }));
    expect(dataOf(await resultsOf({ events, persons: PERSONS, query: RANGE }))).toEqual({
      new: [0, 0, 0, 0, 0, 0, 0],
      returning: [0, 0, 0, 0, 0, 0, 0],
      resurrecting: [0, 0, 0, 0, 0, 0, 0],
      dormant: [0, 0, 0, 0, 0, 0, 0],
    });
  });

  it.each([
    [{ series: [{ kind: 'EventsNode' }, { kind: 'EventsNode' }] }, /one series/],
    [{ series: [] }, /one series/],
    [{ series: [{ kind: 'ActionsNode', id: 1 }] }, /Actions are not supported/],
    [{ dateRange: { date_from: '2020-01-03', date_to: '2020-01-01' } }, /ends before it begins/],
    [{ aggregation_group_type_index: 0 }, /Groups are not supported/],
    [{ breakdownFilter: { breakdown: 'plan' } }, /Breakdowns of a lifecycle are not supported/],
    [{ breakdownFilter: { breakdowns: [{ property: 'plan' }] } }, /Breakdowns of a lifecycle are not supported/],
  ])('refuses %j by its name', async (query, message) => {
    await expect(resultsOf({ events: EVENTS, query })).rejects.toThrow(message);
  });

  it('tells who has a status in an interval', async () => {
    const world = await insightWorld({ events: EVENTS, persons: PERSONS });
    const idsOf = async (selection: object) => {
      const question = await lifecycle.actors?.(readQuery(RANGE), selection, world);
      return (await world.rows(question ?? { hogql: '' })).rows.map(([one]) => String(one)).toSorted(compareText);
    };
    expect(await idsOf({ day: '2020-01-12', status: 'resurrecting' })).toEqual([id(2)]);
    expect(await idsOf({ day: '2020-01-14', status: 'dormant' })).toEqual([id(1), id(3)]);
    expect(await idsOf({ status: 'new' })).toEqual([id(3)]);
    await expect(idsOf({ day: '2020-02-01' })).rejects.toThrow(/none of the answer/);
    await expect(idsOf({ status: 'asleep' })).rejects.toThrow(/has the statuses/);
  });

  it('is shown as the HogQL that counts', async () => {
    const world = await insightWorld({ events: EVENTS, persons: PERSONS });
    await lifecycle.answer(readQuery(RANGE), world);
    expect(world.looked().hogql).toMatch(/'resurrecting'/);
  });
});

it('gives what a naive program gives, for random events, merges and clocks', async () => {
  const asked = fc.record({
    interval: fc.constantFrom('hour', 'day', 'day', 'week', 'month'),
    back: fc.integer({ min: 0, max: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(histories({ days: 14 }), asked, async (history, { interval, back }) => {
      const from = history.now - back * 86_400_000;
      const results = await resultsOf({
        ...history,
        moment: history,
        query: {
          interval,
          dateRange: {
            date_from: new Date(from).toISOString(),
            date_to: new Date(history.now).toISOString(),
            explicitDate: true,
          },
        },
      });

      const all = intervalsBack(history, interval, history.now, 400);
      const names = all.slice(all.indexOf(intervalOf(history, interval, from)) - 1);
      const counted = history.events.filter(({ properties }) => properties?.['$process_person_profile'] !== false);
      const expected = { new: 0, returning: 0, resurrecting: 0, dormant: 0 };
      const rows = names.slice(1).map(() => ({ ...expected }));
      for (const person of new Set(counted.map((event) => personOf(history, event)))) {
        const own = counted.filter((event) => personOf(history, event) === person);
        const state = stateOf(history, own[0]?.distinct_id ?? '');
        const first = Math.min(...own.map(({ timestamp }) => timestamp));
        const since = Math.min(state?.created_at ?? first, first);
        const active = names.map((name) =>
          own.some(
            ({ event, timestamp }) => event === '$pageview' && intervalOf(history, interval, timestamp) === name,
          ),
        );
        rows.forEach((row, n) => {
          if (active[n + 1] !== true) row.dormant -= active[n] === true ? 1 : 0;
          else if (intervalOf(history, interval, since) === names[n + 1]) row.new += 1;
          else if (active[n] === true) row.returning += 1;
          else row.resurrecting += 1;
        });
      }
      for (const { status, data } of results) {
        expect([status, data]).toEqual([status, rows.map((row) => row[status as keyof typeof row])]);
      }
    }),
    { numRuns: propertyRuns(60) },
  );
});
