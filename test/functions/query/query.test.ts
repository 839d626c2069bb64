import { SECOND_MS } from '../../../lib/basics/units.ts';
import { learnedProperties } from '../../../lib/lake/learned-properties.ts';
import { START, testContext } from '../../support/context.ts';
import { importRecords } from '../../support/imports.ts';
import { type Service, testService } from '../../support/service.ts';

const EVENTS = ['ada', 'bob', 'bob'].map((distinct_id, n) => ({
  uuid: `01940000-0000-7000-8000-00000000000${n}`,
  event: n === 2 ? 'paid' : 'seen',
  distinct_id,
  timestamp: new Date(START - (n + 1) * SECOND_MS).toISOString(),
  properties: { n },
}));

async function world() {
  const context = testContext();
  const service = await testService(context);
  await importRecords(context, service.project.id, EVENTS);
  const path = `/api/projects/${service.project.id}/query/`;
  const ask = (body: object) => service.call('POST', path, { body });
  const hogql = (query: string, rest: object = {}) => ask({ query: { kind: 'HogQLQuery', query }, ...rest });
  /** Asks about a query until it has ended. */
  const ran = async (id: string) => {
    for (;;) {
      const reply = await service.call('GET', `${path}${id}/`);
      if (reply.status !== 202) return reply;
      expect(reply.body).toMatchObject({ query_status: { complete: false } });
    }
  };
  return { context, service, path, ask, hogql, ran };
}

const COUNT = 'SELECT count() AS n FROM events';

test('a query of HogQL is answered, with all that PostHog tells beside it', async () => {
  const { hogql } = await world();
  const { status, body } = await hogql(
    'SELECT event, count() AS n, max(timestamp) FROM events GROUP BY event ORDER BY n DESC',
  );
  expect(status).toBe(200);
  expect(body).toMatchObject({
    results: [
      ['seen', 2, '2025-12-31T23:59:59Z'],
      ['paid', 1, '2025-12-31T23:59:57Z'],
    ],
    columns: ['event', 'n', 'max(timestamp)'],
    types: [
      ['event', 'String'],
      ['n', 'UInt64'],
      [expect.anything(), expect.stringMatching(/DateTime64\(6, 'UTC'\)/)],
    ],
    hasMore: false,
    limit: 100,
    offset: 0,
    is_cached: false,
    timezone: 'UTC',
    last_refresh: '2026-01-01T00:00:00Z',
    cache_key: expect.stringMatching(/^cache_/),
    hogql: expect.stringContaining('count()'),
    error: null,
  });
});

test('what is asked again is from the cache, until an event comes', async () => {
  const { context, service, hogql } = await world();
  expect((await hogql(COUNT)).body).toMatchObject({ results: [[3]], is_cached: false });
  context.clock.advance(SECOND_MS);
  expect((await hogql(COUNT)).body).toMatchObject({
    results: [[3]],
    is_cached: true,
    last_refresh: '2026-01-01T00:00:00Z',
  });
  await importRecords(context, service.project.id, [{ ...EVENTS[0], uuid: undefined, event: 'more' }]);
  expect((await hogql(COUNT, { refresh: 'force_cache' })).body).toMatchObject({ results: [[3]], is_cached: true });
  expect((await hogql(COUNT)).body).toMatchObject({ results: [[4]], is_cached: false });
});

test('each form of refresh does what PostHog says', async () => {
  const { hogql, ran } = await world();
  expect((await hogql(COUNT, { refresh: 'force_cache' })).body).toMatchObject({ results: null, is_cached: false });
  const begun = await hogql(COUNT, { refresh: 'async', client_query_id: 'mine' });
  expect(begun).toMatchObject({ status: 202, body: { query_status: { id: 'mine', query_async: true, error: false } } });
  expect(await ran('mine')).toMatchObject({
    status: 200,
    body: { query_status: { complete: true, results: { results: [[3]], columns: ['n'] }, error: false } },
  });
  for (const refresh of ['async', 'lazy_async', 'async_except_on_cache_miss', 'blocking', 'force_cache'])
    expect(await hogql(COUNT, { refresh })).toMatchObject({ status: 200, body: { results: [[3]], is_cached: true } });
  for (const refresh of ['force_blocking', true])
    expect(await hogql(COUNT, { refresh })).toMatchObject({ status: 200, body: { is_cached: false } });
  expect((await hogql(COUNT, { refresh: 'force_async', client_query_id: 'again' })).status).toBe(202);
  expect((await ran('again')).status).toBe(200);
  expect((await hogql('SELECT 2', { async: true })).status).toBe(202);
  expect((await hogql('SELECT 1', { refresh: 'async_except_on_cache_miss' })).body).toMatchObject({ results: [[1]] });
});

const SEEN = [{ kind: 'EventsNode', event: 'seen' }];
test.each([
  { kind: 'HogQLQuery', query: 'SELECT count() + 1, event AS name FROM events GROUP BY event ORDER BY event' },
  { kind: 'HogQLMetadata', language: 'hogQL', query: COUNT },
  { kind: 'TrendsQuery', series: SEEN, interval: 'week' },
  { kind: 'TrendsQuery', series: SEEN, interval: 'hour' },
  { kind: 'FunnelsQuery', series: [...SEEN, { kind: 'EventsNode', event: 'paid' }] },
  { kind: 'RetentionQuery', retentionFilter: { totalIntervals: 2 } },
  { kind: 'StickinessQuery', series: SEEN },
  { kind: 'LifecycleQuery', series: SEEN },
  { kind: 'PathsQuery', pathsFilter: { includeEventTypes: ['custom_event'] } },
  { kind: 'EventsQuery', select: ['event', 'distinct_id'], orderBy: ['event', 'distinct_id'] },
])('the run of a $kind answers what its caller is answered who waits', async (query) => {
  const { ask, ran } = await world();
  const waited = await ask({ query, refresh: 'force_blocking' });
  expect(waited).toMatchObject({ status: 200, body: { is_cached: false } });
  expect((await ask({ query, refresh: 'force_async', client_query_id: 'mine' })).status).toBe(202);
  const told = (await ran('mine')).body?.['query_status'] as { readonly results: object };
  expect(told.results).toEqual(waited.body);
});

test('wrappers are answered as their source', async () => {
  const { ask } = await world();
  const source = { kind: 'HogQLQuery', query: COUNT };
  for (const kind of ['InsightVizNode', 'DataTableNode', 'DataVisualizationNode'])
    expect((await ask({ query: { kind, source } })).body).toMatchObject({ results: [[3]] });
});

test('values, variables and their overrides take the place of placeholders', async () => {
  const { ask } = await world();
  const query = {
    kind: 'HogQLQuery',
    query: 'SELECT count() FROM events WHERE event = {name} AND properties.n >= {variables.least}',
    values: { name: 'seen' },
    variables: { v1: { variableId: 'v1', code_name: 'least', value: 0 } },
  };
  expect((await ask({ query })).body).toMatchObject({ results: [[2]] });
  expect((await ask({ query, variables_override: { v1: { value: 1 } } })).body).toMatchObject({ results: [[1]] });
});

test('{filters} stands for a date range and properties, which a dashboard may set', async () => {
  const { ask } = await world();
  const query = { kind: 'HogQLQuery', query: 'SELECT count() FROM events WHERE {filters}' };
  expect((await ask({ query })).body).toMatchObject({ results: [[3]] });
  const properties = [{ type: 'event', key: 'n', value: [0, 1], operator: 'exact' }];
  expect((await ask({ query: { ...query, filters: { properties } } })).body).toMatchObject({ results: [[2]] });
  const filters_override = { date_from: '-1d', date_to: '2025-12-31', properties };
  expect((await ask({ query, filters_override })).body).toMatchObject({ results: [[2]] });
  expect((await ask({ query, filters_override: { date_from: '2026-01-01' } })).body).toMatchObject({ results: [[0]] });
});

test('a filter of a request that is wrong is refused by its name', async () => {
  const { ask } = await world();
  const query = { kind: 'HogQLQuery', query: COUNT };
  for (const [name, value] of Object.entries({ date_from: 5, interval: [], properties: 'x' }))
    expect(await ask({ query, filters_override: { [name]: value } })).toMatchObject({
      status: 400,
      body: { attr: `filters_override__${name}` },
    });
});

test.each<[body: object, code: string, detail: string | RegExp]>([
  [{}, 'required', 'This field is required.'],
  [{ query: {} }, 'parse_error', /^The query has no `kind`/],
  [{ query: { kind: 'SavedInsightNode' } }, 'parse_error', 'Unsupported query kind: SavedInsightNode'],
  [{ query: { kind: 'Wrong' } }, 'parse_error', /^'Wrong' is not a kind of query/],
  [{ query: { kind: 'InsightVizNode' } }, 'invalid_input', /^A query is an object/],
  [{ query: { kind: 'HogQLQuery' } }, 'required', 'This field is required.'],
  [{ query: { kind: 'HogQLQuery', query: COUNT, limit: 3 } }, 'invalid_input', /^A limit beside the text/],
  [{ query: { kind: 'HogQLQuery', query: COUNT, offset: 3 } }, 'invalid_input', /^An offset beside the text/],
  [{ query: { kind: 'HogQLQuery', query: 'SELECT' } }, 'invalid_input', /parse/],
  [{ query: { kind: 'HogQLQuery', query: 'SELECT nothing FROM events' } }, 'invalid_input', /nothing/],
  [{ query: { kind: 'HogQLQuery', query: 'SELECT {x}' } }, 'invalid_input', /x/],
  [{ query: { kind: 'HogQLQuery', query: COUNT }, refresh: 'sometimes' }, 'invalid_choice', /sometimes/],
  [{ query: { kind: 'HogQLQuery', query: COUNT }, client_query_id: 'a b' }, 'invalid_input', /letters/],
])('%j is refused', async (body, code, detail) => {
  const { ask } = await world();
  const reply = await ask(body);
  expect(reply).toMatchObject({ status: 400, body: { type: 'validation_error', code } });
  expect(reply.body?.['detail']).toMatch(detail);
});

test('a run is nobody else’s, and a run that fails says why', async () => {
  const { context, hogql, service, path } = await world();
  const { body: other } = await service.call('POST', `/api/organizations/${service.organization.id}/projects/`, {
    body: {},
  });
  await hogql('SELECT nothing FROM events', { refresh: 'force_async', client_query_id: 'bad' });
  await context.answers?.idle();
  expect(await service.call('GET', `${path}bad/`)).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('nothing') },
  });
  const elsewhere = `/api/environments/${String(other?.['id'])}/query/bad/`;
  expect((await service.call('GET', elsewhere)).status).toBe(404);
  expect((await service.call('DELETE', elsewhere)).status).toBe(404);
  expect(await service.call('DELETE', `${path}bad/`)).toMatchObject({
    status: 200,
    body: { message: expect.anything() },
  });
  context.clock.advance(3_600 * SECOND_MS);
  expect((await service.call('GET', `${path}bad/`)).status).toBe(404);
});

test('a key needs the scope of queries', async () => {
  const { service, path } = await world();
  const keyOf = async (scope: 'query:read' | 'insight:read') => service.newKey(service.owner, { scopes: [scope] });
  const body = { query: { kind: 'HogQLQuery', query: COUNT } };
  expect((await service.call('POST', path, { key: await keyOf('insight:read'), body })).status).toBe(403);
  expect((await service.call('POST', path, { key: await keyOf('query:read'), body })).status).toBe(200);
});

async function insightOf(service: Service, query: object): Promise<string> {
  const path = `/api/projects/${service.project.id}/insights/`;
  const { body } = await service.call('POST', path, { body: { name: 'Count', query } });
  return `${path}${String(body?.['id'])}/`;
}

test('an insight has the cached answer, and another one only when it is asked for', async () => {
  const { context, service } = await world();
  const path = await insightOf(service, { kind: 'DataTableNode', source: { kind: 'HogQLQuery', query: COUNT } });
  const found = async (rest: string) => (await service.call('GET', `${path}${rest}`)).body;
  expect(await found('')).toMatchObject({ result: null, last_refresh: null, is_cached: false });
  expect(await found('?refresh=blocking')).toMatchObject({ result: [[3]], columns: ['n'], is_cached: false });
  expect(await found('')).toMatchObject({ result: [[3]], last_refresh: '2026-01-01T00:00:00Z', is_cached: true });
  expect(await found('?basic=true')).not.toHaveProperty('result');
  context.clock.advance(SECOND_MS);
  expect(await found('?refresh=true')).toMatchObject({ last_refresh: '2026-01-01T00:00:01Z', is_cached: false });
  const { headers } = await service.call('GET', path);
  // Its version says nothing of its answer.
  const again = await service.call('GET', path, { headers: { 'If-None-Match': headers.get('etag') ?? '' } });
  expect(again.status).toBe(200);
});

test('an insight tells the range that its answer is of, as a query does', async () => {
  const { service } = await world();
  const dateRange = { date_from: '2025-12-01', date_to: '2025-12-15' };
  const path = await insightOf(service, { kind: 'TrendsQuery', series: [{ kind: 'EventsNode' }], dateRange });
  const range = { date_from: '2025-12-01T00:00:00Z', date_to: '2025-12-15T23:59:59.999Z' };
  expect((await service.call('GET', path)).body).not.toHaveProperty('resolved_date_range');
  for (const refresh of ['?refresh=blocking', ''])
    expect((await service.call('GET', `${path}${refresh}`)).body).toMatchObject({ resolved_date_range: range });
});

test('a dashboard has the answers of its insights, and one that cannot be answered tells why', async () => {
  const { service } = await world();
  const project = `/api/projects/${service.project.id}`;
  const good = await insightOf(service, { kind: 'HogQLQuery', query: COUNT });
  const bad = await insightOf(service, { kind: 'HogQLQuery', query: 'SELECT nothing FROM events' });
  const tiles = [good, bad].map((path) => ({ insight: Number(path.split('/').at(-2)) }));
  const { body } = await service.call('POST', `${project}/dashboards/`, { body: { name: 'D', tiles } });
  const path = `${project}/dashboards/${String(body?.['id'])}/`;
  expect(body).toMatchObject({
    tiles: [{ insight: { result: null }, is_cached: false }, { insight: { result: null } }],
  });
  expect((await service.call('GET', `${path}?refresh=blocking`)).body).toMatchObject({
    tiles: [
      { insight: { result: [[3]] }, is_cached: false, last_refresh: '2026-01-01T00:00:00Z' },
      { insight: { result: null, error: expect.stringContaining('nothing') } },
    ],
  });
  expect((await service.call('GET', path)).body).toMatchObject({
    tiles: [{ insight: { result: [[3]] }, is_cached: true }, { insight: { result: null } }],
  });
});

test.each([[{ kind: 'InsightVizNode' }], [{ kind: 5 }], [{ a: 1 }]])(
  'an insight of %j says wherever it is shown why it has no answer',
  async (query) => {
    const { ask, service } = await world();
    const project = `/api/projects/${service.project.id}`;
    const error = (await ask({ query })).body?.['detail'];
    expect(error).toEqual(expect.stringContaining('`kind`'));
    const path = await insightOf(service, query);
    const empty = await service.call('POST', `${project}/insights/`, { body: { name: 'Nothing yet' } });
    const tiles = [Number(path.split('/').at(-2)), empty.body?.['id']].map((insight) => ({ insight }));
    const { body } = await service.call('POST', `${project}/dashboards/`, { body: { name: 'D', tiles } });
    for (const refresh of ['', '?refresh=blocking']) {
      const insight = await service.call('GET', `${path}${refresh}`);
      const dashboard = await service.call('GET', `${project}/dashboards/${String(body?.['id'])}/${refresh}`);
      expect(insight).toMatchObject({ status: 200, body: { result: null, error } });
      expect(dashboard.body).toMatchObject({
        tiles: [
          { insight: { result: null, error } },
          { insight: expect.not.objectContaining({ error: expect.any(String) }) },
        ],
      });
    }
  },
);

test.each([
  [{ key: 'a(', type: 'hogql' }, /Failed to parse query/],
  [{ key: 'nothing > 1', type: 'hogql' }, /nothing/],
  [{ key: 'email', value: '(a', operator: 'not_regex', type: 'person' }, /Regular expression '\(a'/],
  [{ key: 'id', value: 1, type: 'cohort' }, /type 'cohort'/],
])('a query says so where it is a filter of its project’s test accounts that is wrong: %j', async (filter, reason) => {
  const { service, ask } = await world();
  await service.call('PATCH', `/api/projects/${service.project.id}/`, { body: { test_account_filters: [filter] } });
  const sound = { kind: 'TrendsQuery', series: SEEN };
  const hogql = { kind: 'HogQLQuery', query: `${COUNT} WHERE {filters}` };
  for (const query of [
    { ...sound, filterTestAccounts: true },
    { ...hogql, filters: { filterTestAccounts: true } },
  ]) {
    const { status, body } = await ask({ query });
    expect({ status, body }).toMatchObject({ status: 400, body: { attr: 'query__filterTestAccounts' } });
    expect(body?.['detail']).toMatch(/^The project's filters of test accounts cannot be used\. /);
    expect(body?.['detail']).toMatch(reason);
  }
  for (const query of [sound, { ...hogql, filters: {} }]) expect((await ask({ query })).status).toBe(200);
});

test('a project has a zone, a week start and test accounts, and its answers follow them', async () => {
  const { service, hogql } = await world();
  const path = `/api/projects/${service.project.id}/`;
  const change = (body: object) => service.call('PATCH', path, { body });
  expect((await service.call('GET', path)).body).toMatchObject({
    timezone: 'UTC',
    week_start_day: null,
    test_account_filters: [],
  });
  const day = 'SELECT DISTINCT toDate(timestamp) FROM events';
  expect((await hogql(day)).body).toMatchObject({ results: [['2025-12-31']] });
  const filters = [{ key: 'email', value: 'x', operator: 'not_icontains', type: 'person' }];
  expect(await change({ timezone: 'Asia/Tokyo', week_start_day: 1, test_account_filters: filters })).toMatchObject({
    status: 200,
    body: { timezone: 'Asia/Tokyo', week_start_day: 1, test_account_filters: filters },
  });
  expect((await hogql(day)).body).toMatchObject({
    results: [['2026-01-01']],
    timezone: 'Asia/Tokyo',
    is_cached: false,
  });
  const { body } = await service.call('GET', `/api/organizations/${service.organization.id}/`);
  expect(body).toMatchObject({ teams: [{ timezone: 'Asia/Tokyo' }] });
  for (const wrong of [
    { timezone: 'Mars/Olympus' },
    { timezone: '+01:00' },
    // Names of ICU alone: insights would fail in them.
    { timezone: 'PST' },
    { timezone: 'jst' },
    { timezone: 'SystemV/PST8' },
    { week_start_day: 3 },
  ])
    expect(await change(wrong)).toMatchObject({ status: 400, body: { attr: Object.keys(wrong)[0] } });
});

test.each([
  ['time zone', { timezone: 'Asia/Tokyo' }, [2]],
  ['week start', { week_start_day: 1 }, [0, 2]],
  [
    'filter of test accounts',
    { test_account_filters: [{ key: 'n', value: ['1'], operator: 'is_not', type: 'event' }] },
    [1],
  ],
])(
  'an answer that is kept is not given once its project has another %s, and is otherwise as it was',
  async (_, change, data) => {
    const { service, ask } = await world();
    const query = {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'seen' }],
      interval: 'week',
      dateRange: { date_from: '2025-12-28', date_to: '2026-01-03' },
      filterTestAccounts: true,
    };
    expect((await ask({ query })).body).toMatchObject({ is_cached: false });
    expect((await ask({ query })).body).toMatchObject({ is_cached: true });
    await service.call('PATCH', `/api/projects/${service.project.id}/`, { body: change });
    const { body } = await ask({ query });
    expect(body).toMatchObject({ is_cached: false });
    expect(body?.['results']).toMatchObject([{ data }]);
  },
);

test('where nothing answers queries, they are refused by name, and insights are shown without answers', async () => {
  const context = { ...testContext(), answers: null };
  const service = await testService(context);
  const path = `/api/projects/${service.project.id}/query/`;
  expect(await service.call('POST', path, { body: { query: { kind: 'HogQLQuery', query: COUNT } } })).toMatchObject({
    status: 400,
    body: { type: 'validation_error', detail: expect.stringContaining('not offered') },
  });
  expect((await service.call('GET', `${path}x/`)).status).toBe(400);
  const insight = await insightOf(service, { kind: 'HogQLQuery', query: COUNT });
  expect(await service.call('GET', `${insight}?refresh=true`)).toMatchObject({ status: 200, body: { result: null } });
});

test('what queries read often is learned', async () => {
  const { context, service, hogql } = await world();
  const query = 'SELECT properties.n, properties.$browser FROM events';
  for (let n = 0; n < 21; n += 1) await hogql(query, { refresh: 'force_blocking' });
  expect(await learnedProperties(context.table, service.project.id)).toEqual(['n']);
});

test('a query that is checked async is told as one that is waited for', async () => {
  const { ask, ran } = await world();
  const query = { kind: 'HogQLMetadata', language: 'hogQL', query: 'select evnt from events' };
  await ask({ query, refresh: 'force_async', client_query_id: 'mine' });
  const { isValid, errors, table_names } = (await ask({ query })).body ?? {};
  const asked = { results: null, query: query.query, warnings: [], notices: [] };
  expect((await ran('mine')).body).toMatchObject({
    query_status: { results: { ...asked, isValid, errors, table_names } },
  });
});

test('a query is checked without being asked, as the command line of PostHog does before it asks', async () => {
  const { ask } = await world();
  const check = (query: string) => ask({ query: { kind: 'HogQLMetadata', language: 'hogQL', query } });
  const wrong = await check('select evnt from events');
  expect(wrong.status).toBe(200);
  expect(wrong.body).toMatchObject({
    isValid: false,
    query: 'select evnt from events',
    errors: [{ message: expect.stringContaining('evnt'), start: 7, end: 11 }],
    warnings: [],
    notices: [],
    table_names: [],
  });
  expect((await check(COUNT)).body).toMatchObject({ isValid: true, errors: [], table_names: ['events'] });
  const other = await ask({ query: { kind: 'HogQLMetadata', language: 'hogTemplate', query: 'x' } });
  expect(other).toMatchObject({ status: 400, body: { attr: 'query__language' } });
});
