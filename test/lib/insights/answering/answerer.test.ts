import { computed } from '../../../../lib/insights/answering/answerer.ts';
import { insightWorld } from '../../../support/insight-world.ts';

const SEEN = { kind: 'EventsNode', event: 'seen' };

test.each([
  ['its schema', { kind: 'TrendsQuery', series: [{ ...SEEN, math: 'most' }] }, 'query__series__0__math'],
  ['what a kind asks', { kind: 'TrendsQuery', series: [{ ...SEEN, math: 'sum' }] }, 'query__series__0__math_property'],
  [
    'a formula',
    { kind: 'TrendsQuery', series: [SEEN], trendsFilter: { formula: 'A + C' } },
    'query__trendsFilter__formula',
  ],
  [
    'a formula that is none',
    { kind: 'TrendsQuery', series: [SEEN], trendsFilter: { formula: 'A / / A' } },
    'query__trendsFilter__formula',
  ],
  [
    'one of several formulas',
    { kind: 'TrendsQuery', series: [SEEN], trendsFilter: { formulas: ['', 'A', 'A +'] } },
    'query__trendsFilter__formulas__2',
  ],
  [
    'a formula with a name',
    { kind: 'TrendsQuery', series: [SEEN], trendsFilter: { formulaNodes: [{ formula: 'A' }, { formula: '(A' }] } },
    'query__trendsFilter__formulaNodes__1__formula',
  ],
  [
    'a funnel',
    { kind: 'FunnelsQuery', series: [SEEN, SEEN], funnelsFilter: { funnelToStep: 5 } },
    'query__funnelsFilter__funnelToStep',
  ],
  ['its text', { kind: 'HogQLQuery', query: 'SELECT nothing FROM events' }, 'query'],
])('a fault of a query is told of its member below `query`, by %s', async (_, query, attr) => {
  const world = await insightWorld({ events: [] });
  const moment = { now: 0, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] } as const;
  const asked = { query, moment, files: { events: [], persons: [] } };
  await expect(computed({ world: () => world }, asked)).rejects.toMatchObject({ body: { attr } });
});

test('what a world was done without is told once with the answer', async () => {
  const world = await insightWorld({ events: [] });
  const asked = {
    query: { kind: 'HogQLQuery', query: 'SELECT 1' },
    moment: { now: 0, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] },
    files: { events: [], persons: [] },
  } as const;
  const warned = computed(
    {
      world: (_files, _moment, use) => {
        for (const reason of ['it is no text', 'it is no text']) use?.warn?.(new Error(reason));
        return world;
      },
    },
    asked,
  );
  expect(await warned).toMatchObject({ warnings: ['it is no text'] });
  expect(await computed({ world: () => world }, asked)).not.toHaveProperty('warnings');
});
