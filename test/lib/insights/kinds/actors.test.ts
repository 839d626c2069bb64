import { actorsOf } from '../../../../lib/insights/kinds/actors.ts';
import { funnels } from '../../../../lib/insights/kinds/funnels.ts';
import type { Kind } from '../../../../lib/insights/kinds/kind.ts';
import { lifecycle } from '../../../../lib/insights/kinds/lifecycle.ts';
import { retention } from '../../../../lib/insights/kinds/retention.ts';
import { stickiness } from '../../../../lib/insights/kinds/stickiness.ts';
import { trends } from '../../../../lib/insights/kinds/trends.ts';
import { insightWorld, type WorldEvent } from '../../../support/insight-world.ts';

const kind = actorsOf([funnels, retention, stickiness, lifecycle, trends] as readonly unknown[] as readonly Kind[]);

const id = (n: number): string => `01900000-0000-7000-8000-00000000000${n}`;
const seen = (distinct_id: string, ...days: readonly number[]): WorldEvent[] =>
  days.map((day) => ({ event: '$pageview', distinct_id, timestamp: Date.UTC(2020, 0, day, 12) }));

const EVENTS = [...seen('ann', 11, 12), ...seen('ann2', 13), ...seen('bob', 12, 13), ...seen('nobody', 12)];
const PERSONS = [
  {
    id: id(1),
    distinct_ids: ['ann', 'ann2'],
    created_at: '2020-01-11T12:00:00Z',
    properties: { email: 'ann@x.org', plan: 'pro' },
    is_identified: true,
  },
  { id: id(2), distinct_ids: ['bob'], created_at: '2020-01-10T12:00:00Z', properties: { name: 'Bob', plan: 'free' } },
  { id: id(3), distinct_ids: ['carl'], created_at: '2020-01-12T12:00:00Z', properties: { email: 'Carl@y.org' } },
  { id: id(4), distinct_ids: ['gone'], is_deleted: true },
];

async function answered(query: Readonly<Record<string, unknown>>, moment = {}) {
  const world = await insightWorld({ events: EVENTS, persons: PERSONS }, moment);
  const answer = await kind.answer(kind.schema.parse({ kind: 'ActorsQuery', ...query }), world);
  return { ...answer, results: answer.results as readonly (readonly unknown[])[] };
}

const ids = async (query: Readonly<Record<string, unknown>>): Promise<unknown[]> =>
  (await answered({ select: ['id'], ...query })).results.flat();

describe('an actors query', () => {
  it('lists persons, ordered by their ids', async () => {
    const { results, columns, hasMore, limit, offset } = await answered({});
    expect({ columns, hasMore, limit, offset }).toEqual({
      columns: ['person', 'id', 'person.$delete'],
      hasMore: false,
      limit: 100,
      offset: 0,
    });
    expect(results[0]).toEqual([
      {
        id: id(1),
        properties: { email: 'ann@x.org', plan: 'pro' },
        is_identified: true,
        created_at: '2020-01-11T12:00:00Z',
        distinct_ids: expect.arrayContaining(['ann', 'ann2']),
      },
      id(1),
      1,
    ]);
    expect(results.map(([, one]) => one)).toEqual([id(1), id(2), id(3)]);
  });

  it('finds persons by e-mail address, name, id and distinct_id', async () => {
    expect(await ids({ search: 'X.ORG' })).toEqual([id(1)]);
    expect(await ids({ search: 'bob' })).toEqual([id(2)]);
    expect(await ids({ search: 'ann2' })).toEqual([id(1)]);
    expect(await ids({ search: '00000003' })).toEqual([id(3)]);
    expect(await ids({ search: 'nobody' })).toEqual([]);
  });

  it('filters by what persons are now, and selects expressions over them', async () => {
    expect(await ids({ properties: [{ type: 'person', key: 'plan', value: 'pro' }] })).toEqual([id(1)]);
    expect(await ids({ fixedProperties: [{ type: 'person', key: 'plan', operator: 'is_not_set' }] })).toEqual([id(3)]);
    expect(await ids({ properties: [{ key: 'plan', value: 'pro' }] })).toEqual([id(1)]);
    expect(await ids({ properties: [{ type: 'hogql', key: "properties.plan = 'free'" }] })).toEqual([id(2)]);
    const select = ['person_display_name -- Person', 'properties.plan', 'created_at'];
    const { results, columns } = await answered({ select });
    expect(columns).toEqual(select);
    expect(results).toEqual([
      [{ display_name: 'Carl@y.org', id: id(3) }, null, '2020-01-12T12:00:00Z'],
      [{ display_name: 'ann@x.org', id: id(1) }, 'pro', '2020-01-11T12:00:00Z'],
      [{ display_name: 'Bob', id: id(2) }, 'free', '2020-01-10T12:00:00Z'],
    ]);
    expect((await answered({ select: ['properties.plan', 'count()'] })).results).toEqual([
      ['free', 1],
      ['pro', 1],
      [null, 1],
    ]);
  });

  it.each(['event', 'session', 'event_metadata'])('refuses a filter of type %s, by its name', async (type) => {
    for (const name of ['properties', 'fixedProperties'])
      await expect(
        ids({ [name]: { type: 'OR', values: [{ type, key: 'distinct_id', value: 'pro' }] } }),
      ).rejects.toThrow(`A filter of type '${type}' is not supported here. These are: 'person', 'hogql'.`);
  });

  it('orders and pages them', async () => {
    expect(await ids({ orderBy: ['created_at DESC'] })).toEqual([id(3), id(1), id(2)]);
    expect(await ids({ orderBy: ['person DESC'] })).toEqual([id(1), id(3), id(2)]);
    await expect(ids({ orderBy: ['constructor'] })).rejects.toThrow('Unable to resolve field: constructor');
    const { results, hasMore } = await answered({ select: ['id'], limit: 1, offset: 1 });
    expect([results.flat(), hasMore]).toEqual([[id(2)], true]);
  });

  it('tells who is behind a number of a retention, also who has no state of a person', async () => {
    const source = {
      kind: 'InsightActorsQuery',
      interval: 1,
      source: {
        kind: 'RetentionQuery',
        dateRange: { date_from: '2020-01-11', date_to: '2020-01-13' },
        retentionFilter: { totalIntervals: 3 },
      },
    };
    const { results, columns } = await answered({
      source,
      select: ['actor', 'appearances'],
      orderBy: ['length(appearances) DESC', 'id'],
    });
    expect(columns).toEqual(['actor', 'appearances']);
    expect(results.map(([actor, appearances]) => [(actor as { id: string }).id, appearances])).toEqual([
      [id(1), [0, 1]],
      [id(2), [0, 1]],
      ['nobody', [0]],
    ]);
    expect(results[2]?.[0]).toEqual({
      id: 'nobody',
      properties: {},
      is_identified: false,
      created_at: null,
      distinct_ids: ['nobody'],
    });
    expect(await ids({ source, search: 'ann' })).toEqual([id(1)]);
    expect(await ids({ source, limit: 1, offset: 1 })).toEqual([id(2)]);
  });

  it('tells who is behind a number of a stickiness or a lifecycle', async () => {
    const series = [{ kind: 'EventsNode', event: '$pageview' }];
    const dateRange = { date_from: '2020-01-11', date_to: '2020-01-13' };
    const sticky = { kind: 'StickinessQuery', series, dateRange };
    expect(await ids({ source: { kind: 'StickinessActorsQuery', source: sticky, day: 2, operator: 'gte' } })).toEqual([
      id(1),
      id(2),
    ]);
    expect(await ids({ source: { kind: 'InsightActorsQuery', source: sticky, day: '1' } })).toEqual(['nobody']);
    const cycle = { kind: 'LifecycleQuery', series, dateRange };
    const of = (day: string, status: string) =>
      ids({ source: { kind: 'InsightActorsQuery', source: cycle, day, status } });
    expect(await of('2020-01-12', 'new')).toEqual(['nobody']);
    expect(await of('2020-01-12', 'resurrecting')).toEqual([id(2)]);
    expect(await of('2020-01-13', 'dormant')).toEqual(['nobody']);
  });

  it('tells who is behind a number of a trend', async () => {
    const series = [{ kind: 'EventsNode', event: '$pageview' }];
    const query = { kind: 'TrendsQuery', series, dateRange: { date_from: '2020-01-12', date_to: '2020-01-13' } };
    const of = (selection: object) => ids({ source: { kind: 'InsightActorsQuery', source: query, ...selection } });
    expect(await of({ series: 0, day: '2020-01-12' })).toEqual([id(1), id(2), 'nobody']);
    expect(await of({ series: 0, day: '2020-01-13' })).toEqual([id(1), id(2)]);
  });

  it('tells who is behind a number of all other values of a funnel', async () => {
    const plans = ['pro', 'pro', 'pro', 'free', 'Other', undefined];
    const events = plans.flatMap((plan, n): WorldEvent[] =>
      ['seen', 'paid'].slice(0, n % 2 === 0 ? 2 : 1).map((event, minute) => ({
        event,
        distinct_id: `p${n}`,
        timestamp: Date.UTC(2020, 0, 11, 12, minute),
        properties: { plan },
      })),
    );
    const query = {
      kind: 'FunnelsQuery',
      series: [{ event: 'seen' }, { event: 'paid' }],
      dateRange: { date_from: '2020-01-11', date_to: '2020-01-11' },
      breakdownFilter: { breakdown: 'plan', breakdown_limit: 1 },
    };
    const world = await insightWorld({ events });
    const of = async (funnelStep: number, funnelStepBreakdown: readonly string[]) => {
      const source = { kind: 'FunnelsActorsQuery', source: query, funnelStep, funnelStepBreakdown };
      return (await kind.answer(kind.schema.parse({ kind: 'ActorsQuery', select: ['id'], source }), world)).results;
    };
    const { results } = await funnels.answer(funnels.schema.parse(query), world);
    expect(results).toMatchObject([
      [{ breakdown_value: ['pro'], count: 3 }, { count: 2 }],
      [{ breakdown_value: ['Other'], count: 3 }, { count: 1 }],
    ]);
    expect(await of(1, ['Other'])).toEqual([['p3'], ['p4'], ['p5']]);
    expect(await of(2, ['Other'])).toEqual([['p4']]);
    expect(await of(-2, ['Other'])).toEqual([['p3'], ['p5']]);
    expect(await of(1, ['pro'])).toEqual([['p0'], ['p1'], ['p2']]);
  });

  it.each([
    [
      {
        source: {
          kind: 'InsightActorsQuery',
          breakdown: '$$_posthog_breakdown_other_$$',
          source: { kind: 'RetentionQuery', breakdownFilter: { breakdown: 'plan' } },
        },
      },
      /Of all other values together/,
    ],
    [
      { source: { kind: 'InsightActorsQuery', source: { kind: 'HogQLQuery', query: 'SELECT 1' } } },
      /Persons are known behind these: .*RetentionQuery/,
    ],
    [{ source: { kind: 'HogQLQuery', query: 'SELECT 1' } }, /InsightActorsQuery/],
    [
      { source: { kind: 'InsightActorsQuery', source: { kind: 'RetentionQuery', samplingFactor: 0.5 } } },
      /Sampling is not supported/,
    ],
    [
      { source: { kind: 'FunnelsActorsQuery', source: { kind: 'FunnelsQuery' }, funnelCustomSteps: [1] } },
      /Custom steps/,
    ],
    [{ select: ['matched_recordings'] }, /matched_recordings/],
  ])('refuses %j', async (query, message) => {
    await expect(answered(query)).rejects.toThrow(message);
  });
});
