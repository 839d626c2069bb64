/**
 * The tools of `@posthog/agent-toolkit` 0.2.4 (npm): the requests that they send, in its order, and what they refuse to
 * read an answer without. The package itself brings frameworks for agents of 85 MB, which is more than these lines.
 */
import * as z from 'zod';
import { testContext } from '../support/context.ts';
import { importRecords } from '../support/imports.ts';
import { type Service, testService } from '../support/service.ts';

const FIRST = '2015-05-17';

const Project = z.object({ id: z.number(), name: z.string(), organization: z.guid() });
const Organization = z.object({ id: z.guid(), name: z.string() });
const Me = z.object({
  distinct_id: z.string(),
  organizations: z.array(z.object({ id: z.guid() })),
  team: z.object({ id: z.number(), organization: z.guid() }),
  organization: z.object({ id: z.guid() }),
});
const Key = z.object({
  scopes: z.array(z.string()),
  scoped_teams: z.array(z.number()),
  scoped_organizations: z.array(z.string()),
});
const listOf = <T extends z.ZodType>(one: T) =>
  z.object({ count: z.number().nullish(), next: z.string().nullish(), results: z.array(one) });
const EventName = z.object({ id: z.guid(), name: z.string(), last_seen_at: z.string().nullish() });
const PropertyName = z.object({
  id: z.string(),
  name: z.string(),
  property_type: z.enum(['String', 'Numeric', 'Boolean', 'DateTime']).nullish(),
});
const Insight = z.object({
  id: z.number(),
  short_id: z.string().regex(/^[A-Za-z0-9]{8}$/),
  name: z.string().nullish(),
  description: z.string().nullish(),
  filters: z.record(z.string(), z.unknown()),
  query: z.unknown(),
  created_at: z.string(),
  updated_at: z.string(),
  favorited: z.boolean().nullish(),
});
const DashboardName = z.object({ id: z.number(), name: z.string(), description: z.string().nullish() });
const Dashboard = DashboardName.extend({
  tiles: z.array(
    z.object({
      insight: z.object({
        short_id: z.string(),
        name: z.string(),
        derived_name: z.string().nullable(),
        description: z.string().nullable(),
        query: z.object({ kind: z.enum(['InsightVizNode', 'DataVisualizationNode']), source: z.unknown() }),
        created_at: z.string().nullish(),
        updated_at: z.string().nullish(),
        favorited: z.boolean().nullish(),
        tags: z.array(z.string()).nullish(),
      }),
      order: z.number(),
      color: z.string().nullish(),
      layouts: z.record(z.string(), z.unknown()).nullish(),
      last_refresh: z.string().nullish(),
      is_cached: z.boolean().nullish(),
    }),
  ),
});
const Results = z.object({ results: z.unknown() });

const context = testContext();
let service: Service;

beforeAll(async () => {
  service = await testService(context);
  await importRecords(
    context,
    service.project.id,
    ['ada', 'ada', 'bob'].map((distinct_id, n) => ({
      event: '$pageview',
      distinct_id,
      timestamp: `${FIRST}T10:0${n}:00Z`,
      properties: { $browser: 'Firefox', page: '/', $set: { plan: 'pro' } },
    })),
  );
});

/** Sends what a tool sends, and returns what it reads. Throws what its reader misses. */
async function sent<T extends z.ZodType>(method: string, path: string, read: T, body?: object): Promise<z.output<T>> {
  const reply = await service.call(method, path, body === undefined ? {} : { body });
  expect({ status: reply.status, text: reply.status < 300 ? '' : reply.text }).toEqual({
    status: method === 'POST' && !path.endsWith('/query/') ? 201 : 200,
    text: '',
  });
  return read.parse(reply.body);
}

const node = { kind: 'EventsNode', custom_name: 'Views', event: '$pageview' };
/** What the toolkit adds to a query by itself. */
const trends = {
  kind: 'TrendsQuery',
  filterTestAccounts: false,
  properties: [],
  interval: 'day',
  dateRange: { date_from: FIRST, date_to: FIRST },
  series: [{ ...node, math: 'dau' }],
};
const seen = { kind: 'InsightVizNode', source: trends };

test('it finds its key, its project, and the names that the project has', async () => {
  const key = await sent('GET', '/api/personal_api_keys/@current', Key);
  expect(key.scopes).toEqual(['*']);
  const me = await sent('GET', '/api/users/@me/', Me);
  const [organization] = (await sent('GET', '/api/organizations/', listOf(Organization))).results;
  expect(organization?.id).toBe(me.organization.id);
  await sent('GET', `/api/organizations/${me.organization.id}/`, Organization);
  const projects = await sent('GET', `/api/organizations/${me.organization.id}/projects/`, listOf(Project));
  expect(projects.results.map(({ id }) => id)).toEqual([me.team.id]);

  const names = (path: string) => sent('GET', `/api/projects/${me.team.id}/${path}`, listOf(PropertyName));
  const events = await sent('GET', `/api/projects/${me.team.id}/event_definitions/`, listOf(EventName));
  expect(events.results.map(({ name }) => name)).toEqual(['$pageview']);
  const paging = 'is_feature_flag=false&limit=200&offset=0&exclude_hidden=true';
  const ofEvent = `event_names=${encodeURIComponent('["$pageview"]')}&filter_by_event_names=true&type=event&${paging}`;
  const own = await names(`property_definitions/?${ofEvent}&exclude_core_properties=true`);
  expect(own.results.map(({ name }) => name)).toEqual(['page']);
  const all = await names(`property_definitions/?${ofEvent}&exclude_core_properties=false`);
  expect(all.results.map(({ name }) => name)).toEqual(['$browser', '$set', 'page']);
  const ofPersons = await names(
    `property_definitions/?exclude_core_properties=true&filter_by_event_names=false&type=person&${paging}`,
  );
  expect(ofPersons.results.map(({ name }) => name)).toEqual(['plan']);
});

test.each<[string, object, unknown]>([
  ['a trend', seen, [{ data: [2] }]],
  [
    'a trend with a breakdown and a display',
    {
      ...seen,
      source: {
        ...trends,
        trendsFilter: { display: 'ActionsTable', showLegend: false },
        breakdownFilter: { breakdown_type: 'event', breakdown: '$browser', breakdown_limit: 5 },
        compareFilter: { compare: false },
        conversionGoal: null,
      },
    },
    [{ label: 'Firefox', aggregated_value: 2 }],
  ],
  [
    'a funnel',
    {
      kind: 'InsightVizNode',
      source: {
        ...trends,
        kind: 'FunnelsQuery',
        series: [node, { ...node, custom_name: 'Again' }],
        funnelsFilter: {
          layout: 'vertical',
          funnelVizType: 'steps',
          funnelStepReference: 'total',
          funnelWindowInterval: 14,
          funnelWindowIntervalUnit: 'day',
        },
      },
    },
    [{ count: 2 }, { custom_name: 'Again', count: 1 }],
  ],
  [
    'HogQL with filters',
    {
      kind: 'DataVisualizationNode',
      source: {
        kind: 'HogQLQuery',
        query: 'SELECT event, count() FROM events WHERE {filters} GROUP BY event',
        filters: { dateRange: trends.dateRange, properties: [], filterTestAccounts: false },
      },
    },
    [['$pageview', 3]],
  ],
])('query-run: %s', async (_, query, results) => {
  const path = `/api/environments/${service.project.id}/query/`;
  expect(await sent('POST', path, Results, { query })).toMatchObject({ results });
});

test('insights are made, found by short id and number, changed, asked, put on dashboards and deleted', async () => {
  const project = `/api/projects/${service.project.id}`;
  const byShortId = async (id: string) =>
    (await sent('GET', `${project}/insights/?short_id=${id}`, z.object({ results: z.array(Insight) }))).results[0];
  const other = { name: 'Other', query: seen, favorited: false };
  const made = await sent('POST', `${project}/insights/`, Insight, { ...other, name: 'Visitors', tags: ['web'] });
  const later = await sent('POST', `${project}/insights/`, Insight, other);
  expect(await byShortId(made.short_id)).toEqual(made);
  expect(await sent('GET', `${project}/insights/${made.id}/`, Insight)).toEqual(made);
  const found = await sent('GET', `${project}/insights/?limit=10&search=visitors`, listOf(Insight));
  expect(found.results).toEqual([made]);
  const asked = await sent('POST', `/api/environments/${service.project.id}/query/`, Results, { query: made.query });
  expect(asked).toMatchObject({ results: [{ data: [2] }] });

  const board = await sent('POST', `${project}/dashboards/`, DashboardName, { name: 'Board', pinned: true, tags: [] });
  await sent('PATCH', `${project}/dashboards/${board.id}/`, DashboardName, { name: 'Our board', description: 'd' });
  const boards = await sent('GET', `${project}/dashboards/?limit=5&search=our`, listOf(DashboardName));
  expect(boards.results.map(({ id }) => id)).toEqual([board.id]);
  await sent('PATCH', `${project}/insights/${made.id}/`, z.any(), { dashboards: [board.id] });
  await sent('PATCH', `${project}/insights/${later.id}/`, Insight, { query: seen, dashboard: board.id });
  const shown = await sent('GET', `${project}/dashboards/${board.id}/`, Dashboard);
  expect(shown.tiles.map(({ order, insight }) => [order, insight.name])).toEqual([
    [0, 'Visitors'],
    [1, 'Other'],
  ]);

  await sent('PATCH', `${project}/insights/${made.id}/`, Insight, { deleted: true });
  expect(await byShortId(made.short_id)).toBeUndefined();
  expect(await byShortId(later.short_id)).toMatchObject({ id: later.id });
  await sent('PATCH', `${project}/dashboards/${board.id}/`, DashboardName, { deleted: true });
});

test('what a language model costs is a trend that it asks with test accounts left out', async () => {
  const query = {
    kind: 'TrendsQuery',
    dateRange: { date_from: '-6d', date_to: null },
    filterTestAccounts: true,
    series: [
      {
        event: '$ai_generation',
        name: '$ai_generation',
        math: 'sum',
        math_property: '$ai_total_cost_usd',
        kind: 'EventsNode',
      },
    ],
    breakdownFilter: { breakdown_type: 'event', breakdown: '$ai_model' },
  };
  const path = `/api/environments/${service.project.id}/query/`;
  expect(await sent('POST', path, z.object({ results: z.array(z.unknown()) }), { query })).toEqual({ results: [] });
});
