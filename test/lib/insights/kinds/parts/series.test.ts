import type { World } from '../../../../../lib/insights/kinds/kind.ts';
import { labelOfSeries, Series, seriesCondition } from '../../../../../lib/insights/kinds/parts/series.ts';

/** A world in which nothing is asked. */
const NOTHING_ASKED: World = {
  now: 0,
  timezone: 'UTC',
  weekStartDay: 0,
  testAccountFilters: [],
  expression: async (hogql) => ({ node: 'Expression', hogql }),
  check: () => Promise.resolve(),
  tables: () => Promise.resolve([]),
  rows: async () => ({ columns: [], types: [], computed: [], rows: [] }),
};

describe('A series', () => {
  it('is of the events of its name that pass its filters', async () => {
    const series = Series.parse({ event: 'paid', properties: [{ type: 'hogql', key: 'a' }] });
    const name = { node: 'Call', name: 'equals', args: [{ chain: ['event'] }, { value: 'paid' }] };
    expect(await seriesCondition(series, NOTHING_ASKED)).toMatchObject({
      node: 'And',
      exprs: [name, { node: 'Expression', hogql: 'a' }],
    });
  });

  it.each([{ event: null }, { event: '' }, {}])('is of all events where it names none: %j', async (sent) => {
    const series = Series.parse({ kind: 'EventsNode', ...sent });
    expect(await seriesCondition(series, NOTHING_ASKED)).toEqual({ node: 'Constant', value: true });
    expect(labelOfSeries(series, 1)).toMatchObject({ label: 'All events', action: { id: null, name: 'All events' } });
  });

  it('is told in the results by its event', () => {
    const sent = { event: 'paid', name: 'Paid', custom_name: 'Orders', math: 'sum', math_property: 'price' };
    expect(labelOfSeries(Series.parse(sent), 2)).toEqual({
      label: 'paid',
      action: {
        id: 'paid',
        type: 'events',
        order: 2,
        name: 'paid',
        custom_name: 'Orders',
        math: 'sum',
        math_property: 'price',
        math_hogql: null,
        math_group_type_index: null,
        properties: {},
      },
    });
  });

  it.each([
    ['ActionsNode', 'Actions are not supported.'],
    ['DataWarehouseNode', 'Tables of a data warehouse are not supported.'],
    ['GroupNode', 'A series of several events is not supported.'],
    ['PersonsNode', 'A series of persons is not supported.'],
    ['constructor', "A series is one of these: 'EventsNode'."],
    [7, "A series is one of these: 'EventsNode'."],
  ])('of the kind %s is refused by its name', (kind, detail) => {
    const { error } = Series.safeParse({ kind, event: 'paid' });
    expect(error?.issues[0]).toMatchObject({ path: ['kind'], message: expect.stringContaining(detail) });
  });
});
