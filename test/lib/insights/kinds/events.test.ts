import * as fc from 'fast-check';
import { events as kind } from '../../../../lib/insights/kinds/events.ts';
import { histories, stateOf } from '../../../support/insight-history.ts';
import { insightWorld, type WorldEvent, type WorldPerson } from '../../../support/insight-world.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const NOW = Date.parse('2026-03-10T12:00:00Z');
const HOUR_MS = 3_600_000;
const UUID = '01900000-0000-7000-8000-000000000001';

interface Asked {
  readonly events?: readonly WorldEvent[];
  readonly persons?: readonly WorldPerson[];
  readonly query?: Readonly<Record<string, unknown>>;
  readonly moment?: Parameters<typeof insightWorld>[1];
}

async function answered({ events = EVENTS, persons = PERSONS, query = {}, moment = {} }: Asked) {
  const world = await insightWorld({ events, persons }, { now: NOW, ...moment });
  const answer = await kind.answer(kind.schema.parse({ kind: 'EventsQuery', ...query }), world);
  return { ...answer, results: answer.results as readonly (readonly unknown[])[] };
}

const at = (hoursAgo: number): number => NOW - hoursAgo * HOUR_MS;

const EVENTS: readonly WorldEvent[] = [
  { event: 'old', distinct_id: 'a', timestamp: at(25) },
  {
    event: 'view',
    distinct_id: 'a',
    timestamp: at(3),
    properties: { plan: 'pro', list: [1, { x: 2 }] },
    person_properties: { email: 'a@x.org' },
  },
  { event: 'view', distinct_id: 'b', timestamp: at(2) + 0.5, properties: { plan: 'free' } },
  {
    event: '$autocapture',
    distinct_id: 'a2',
    timestamp: at(1),
    elements_chain:
      'a.button.big:attr__data-x="say \\"hi\\""href="/p"nth-child="1"nth-of-type="2"text="Buy; now";body:nth-child="2"',
  },
  { event: 'future', distinct_id: 'b', timestamp: NOW + 5000 },
];
const PERSONS: readonly WorldPerson[] = [
  { id: UUID, distinct_ids: ['a', 'a2'], created_at: at(100), properties: { email: 'now@x.org' } },
];

describe('an events query', () => {
  it('answers the events of the last 24 hours, as objects in the order of their uuids where nothing else is asked', async () => {
    const { results, columns, types, hasMore, limit, offset } = await answered({});
    expect({ columns, hasMore, limit, offset }).toEqual({ columns: ['*'], hasMore: false, limit: 100, offset: 0 });
    expect(types?.[0]).toMatch(/^Tuple\(UUID, String, .*DateTime64\(6, 'UTC'\)/);
    expect(results).toHaveLength(3);
    expect(results[0]?.[0]).toEqual({
      uuid: '01940000-0000-7000-8000-000000000002',
      event: 'view',
      properties: { plan: 'pro', list: [1, { x: 2 }] },
      timestamp: '2026-03-10T09:00:00Z',
      team_id: expect.any(Number),
      distinct_id: 'a',
      elements_chain: '',
      created_at: expect.stringMatching(/Z$/),
    });
  });

  it('tells the elements of an event that has some', async () => {
    const { results } = await answered({ query: { event: '$autocapture' } });
    expect(results[0]?.[0]).toMatchObject({
      elements: [
        {
          tag_name: 'a',
          attr_class: ['button', 'big'],
          href: '/p',
          text: 'Buy; now',
          nth_child: 1,
          nth_of_type: 2,
          attributes: { 'attr__data-x': 'say "hi"' },
          order: 0,
        },
        { tag_name: 'body', attr_class: null, nth_child: 2, order: 1 },
      ],
    });
  });

  it('tells whose an event is: as they are now, and what they are called', async () => {
    const select = ['person', 'person_display_name -- Person', 'timestamp'];
    const { results, columns, types } = await answered({ query: { select } });
    expect(columns).toEqual(select);
    expect(types).toEqual(['String', expect.stringMatching(/^Tuple/), "DateTime64(6, 'UTC')"]);
    expect(results.map(([person]) => person)).toEqual([
      { uuid: UUID, created_at: '2026-03-06T08:00:00Z', properties: { email: 'now@x.org' }, distinct_id: 'a2' },
      { distinct_id: 'b' },
      { uuid: UUID, created_at: '2026-03-06T08:00:00Z', properties: { email: 'now@x.org' }, distinct_id: 'a' },
    ]);
    expect(results.map((row) => row[1])).toEqual([
      { display_name: 'now@x.org', id: UUID, distinct_id: 'a2' },
      { display_name: 'b', id: 'b', distinct_id: 'b' },
      { display_name: 'a@x.org', id: UUID, distinct_id: 'a' },
    ]);
  });

  it('has both ends exclusive, to the microsecond', async () => {
    const timestamps = async (query: object) =>
      (await answered({ query: { select: ['timestamp'], ...query } })).results.flat();
    expect(await timestamps({ after: '2026-03-10T09:00:00Z', before: '2026-03-10T11:00:00Z' })).toEqual([
      '2026-03-10T10:00:00.000500Z',
    ]);
    expect(await timestamps({ after: '2026-03-10T10:00:00.000500Z' })).toEqual(['2026-03-10T11:00:00Z']);
    expect(await timestamps({ after: '2026-03-10T10:00:00.000499Z' })).toHaveLength(2);
    expect(await timestamps({ after: 'all' })).toHaveLength(4);
    expect(await timestamps({ before: '2026-03-10T12:00:05.000001Z' })).toHaveLength(4);
  });

  it("reads and tells times by the project's clocks", async () => {
    const moment = { timezone: 'America/New_York' };
    const { results, types } = await answered({ query: { select: ['timestamp'], after: '2026-03-10T06:30' }, moment });
    expect(results).toEqual([['2026-03-10T07:00:00-04:00']]);
    expect(types).toEqual(["DateTime64(6, 'America/New_York')"]);
  });

  it('filters by names, properties, expressions and the person', async () => {
    const uuids = async (query: object) =>
      (await answered({ query: { select: ['uuid'], after: 'all', ...query } })).results.map(([uuid]) =>
        Number(String(uuid).slice(-2)),
      );
    expect(await uuids({ event: 'view' })).toEqual([2, 3]);
    expect(await uuids({ event: '', events: ['view', ''] })).toEqual([2, 3]);
    expect(await uuids({ event: '' })).toEqual(await uuids({}));
    expect(await uuids({ events: ['old', '$autocapture'] })).toEqual([1, 4]);
    expect(await uuids({ properties: [{ key: 'plan', value: 'pro' }] })).toEqual([2]);
    expect(await uuids({ fixedProperties: [{ key: 'plan', value: 'free' }] })).toEqual([3]);
    expect(await uuids({ where: ["properties.plan = 'free'", "event = 'view'"] })).toEqual([3]);
    expect(await uuids({ personId: UUID })).toEqual([1, 2, 4]);
  });

  it('groups by the other columns where there is an aggregate, greatest first', async () => {
    const select = ['event', 'count()', 'min(timestamp) AS since -- first'];
    const { results, columns } = await answered({ query: { select, after: 'all' } });
    expect(columns).toEqual(['event', 'count()', 'since']);
    expect(results).toEqual([
      ['view', 2, '2026-03-10T09:00:00Z'],
      ['$autocapture', 1, '2026-03-10T11:00:00Z'],
      ['old', 1, '2026-03-09T11:00:00Z'],
    ]);
    const having = await answered({ query: { select, after: 'all', where: ['count() > 1', "event != 'x'"] } });
    expect(having.results.map(([event]) => event)).toEqual(['view']);
    const greatest = await answered({ query: { select: ['event', 'max(timestamp)'], after: 'all' } });
    expect(greatest.results.map(([event]) => event)).toEqual(['$autocapture', 'view', 'old']);
    expect((await answered({ query: { select: ['count() as n'], event: 'none' } })).results).toEqual([[0]]);
  });

  it('orders by the newest where times are selected, else by the first column, else as it is told', async () => {
    const events = async (query: object) =>
      (await answered({ query: { after: 'all', ...query } })).results.map(([one]) => one);
    expect(await events({ select: ['event', 'timestamp'] })).toEqual(['$autocapture', 'view', 'view', 'old']);
    expect(await events({ select: ['event'] })).toEqual(['$autocapture', 'old', 'view', 'view']);
    expect(await events({ select: ['event', 'timestamp'], orderBy: ['timestamp ASC'] })).toEqual([
      'old',
      'view',
      'view',
      '$autocapture',
    ]);
    expect(await events({ select: ['event'], orderBy: ['properties.plan desc', 'timestamp'] })).toEqual([
      'view',
      'view',
      'old',
      '$autocapture',
    ]);
    expect(await events({ select: ['event', 'count()'], orderBy: ['event DESC'] })).toEqual([
      'view',
      'old',
      '$autocapture',
    ]);
  });

  it('finds the direction of an order behind as many spaces as a body has room for', async () => {
    // A pattern that begins anew at each space takes hours.
    const orderBy = [`timestamp${' '.repeat(500_000)}DESC  `, `event${' '.repeat(400_000)}`];
    const { results } = await answered({ query: { after: 'all', select: ['event', 'timestamp'], orderBy } });
    expect(results.map(([event]) => event)).toEqual(['$autocapture', 'view', 'view', 'old']);
  });

  it('gives its rows in pages that do not overlap', async () => {
    const select = ['event', 'uuid'];
    const pages = await Promise.all(
      [0, 2, 4].map((offset) => answered({ query: { select, after: 'all', limit: 2, offset, orderBy: ['event'] } })),
    );
    expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, false, false]);
    expect(new Set(pages.flatMap(({ results }) => results.map(([, uuid]) => uuid))).size).toBe(4);
  });

  it('tells of thousands of persons, of what is nested deeply, and of somebody without a person', async () => {
    const nested = JSON.parse(`${'{"a":'.repeat(80)}1${'}'.repeat(80)}`) as Record<string, unknown>;
    const events = Array.from({ length: 4000 }, (_, n) => ({
      event: 'view',
      distinct_id: `d${n}`,
      timestamp: at(1) + n,
      properties: n === 0 ? nested : {},
    }));
    const { results } = await answered({ events, query: { select: ['person', 'timestamp'], limit: 5000 } });
    expect(results).toHaveLength(4000);
    const mine = await answered({ events, query: { select: ['properties.a IS NOT NULL', '*'], personId: 'd0' } });
    expect(mine.results).toEqual([[true, expect.objectContaining({ distinct_id: 'd0', properties: nested })]]);
  });

  it.each([
    [{ actionId: 1 }, /Actions are not supported/],
    [{ source: { kind: 'InsightActorsQuery' } }, /events behind a number/],
    [{ select: ['no_such_field'] }, /no_such_field/],
    [{ select: ['1; DROP TABLE events'] }, /./],
    [{ where: ['1) OR (1 = 1'] }, /./],
    [{ orderBy: ['timestamp DESC, event'] }, /./],
    [{ limit: 50_001 }, /50000/],
    [{ after: 'soon' }, /Use a date/],
  ])('refuses %j', async (query, message) => {
    await expect(answered({ query })).rejects.toThrow(message);
  });
});

it('gives what a naive program gives, for random events and persons', async () => {
  const asked = fc.record({
    event: fc.constantFrom(undefined, '$pageview'),
    hours: fc.integer({ min: 1, max: 200 }),
    limit: fc.integer({ min: 1, max: 20 }),
    offset: fc.integer({ min: 0, max: 5 }),
    isDown: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(histories({ days: 6 }), asked, async (history, { event, hours, limit, offset, isDown }) => {
      const after = history.now - hours * HOUR_MS;
      const { results, hasMore } = await answered({
        ...history,
        moment: history,
        query: {
          select: ['timestamp', 'uuid', 'event', 'properties.plan', 'person'],
          event,
          limit,
          offset,
          after: new Date(after).toISOString(),
          orderBy: [`timestamp ${isDown ? 'DESC' : 'ASC'}`],
        },
      });
      const all = history.events
        .map((one, n) => ({ ...one, n: n + 1 }))
        .filter((one) => one.timestamp > after && one.timestamp < history.now + 5000)
        .filter((one) => event === undefined || one.event === event)
        .toSorted((a, b) => (a.timestamp - b.timestamp || a.n - b.n) * (isDown ? -1 : 1));
      const page = all.slice(offset, offset + limit);
      expect(results.map(([, uuid, name, plan]) => [Number(String(uuid).slice(-6)), name, plan])).toEqual(
        page.map((one) => [one.n, one.event, one.properties?.['plan'] ?? null]),
      );
      expect(results.map((row) => (row[4] as { uuid?: string; distinct_id: string }).uuid ?? null)).toEqual(
        page.map((one) => stateOf(history, one.distinct_id)?.id ?? null),
      );
      expect(hasMore).toBe(all.length > offset + limit);
    }),
    { numRuns: propertyRuns(40) },
  );
});
