import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import {
  bad,
  type DashboardJson,
  type Dashboards,
  dashboards,
  denied,
  NOT_FOUND,
  told,
} from '../../support/dashboards.ts';

const patch = async ({ call }: Dashboards, id: number, body: unknown, options = {}) =>
  told(await call('PATCH', `/insights/${id}/`, body, options));

/** The insights that a dashboard's tiles show. */
const shownOn = async ({ found }: Dashboards, id: number) => (await found(id)).tiles.map(({ insight }) => insight?.id);

/** What is told of the answer of an insight that has no query. */
const NO_ANSWER = {
  result: null,
  hasMore: false,
  columns: null,
  types: null,
  timezone: 'UTC',
  last_refresh: null,
  cache_target_age: null,
  next_allowed_client_refresh: null,
  is_cached: false,
  query_status: null,
  hogql: null,
  filters_hash: '',
  error: null,
};

test('an empty body makes an insight of defaults', async () => {
  const { insight, service } = await dashboards();
  expect(await insight({})).toEqual({
    id: 1,
    short_id: 'i0000001',
    ...NO_ANSWER,
    name: null,
    derived_name: null,
    description: '',
    query: null,
    filters: {},
    tags: [],
    favorited: false,
    deleted: false,
    created_at: '2026-01-01T00:00:00Z',
    created_by: expect.objectContaining({ uuid: service.owner.uuid }),
    updated_at: '2026-01-01T00:00:00Z',
    last_modified_at: '2026-01-01T00:00:00Z',
    last_modified_by: expect.objectContaining({ uuid: service.owner.uuid }),
    dashboards: [],
  });
});

test('what clients read back is kept: tags, the derived name, the star, and a short id that names it in a path', async () => {
  const world = await dashboards();
  const { id: dashboard } = await world.dashboard();
  const sent = { derived_name: 'Pageviews', tags: [' Growth ', 'web', 'growth'], favorited: true };
  const made = await world.insight({ query: { kind: 'InsightVizNode' }, dashboards: [dashboard], ...sent });
  expect(made).toMatchObject({ ...sent, tags: ['growth', 'web'], short_id: expect.stringMatching(/^i[0-9a-z]{7}$/) });
  const path = `/insights/${String(made['short_id'])}/`;
  expect((await world.call('GET', path)).body).toEqual(made);
  expect((await world.call('PATCH', path, { favorited: false, tags: [] })).body).toMatchObject({
    id: made.id,
    derived_name: 'Pageviews',
    favorited: false,
    tags: [],
  });
  expect((await world.found(dashboard)).tiles).toMatchObject([{ insight: { tags: [], favorited: false } }]);
  for (const other of ['i0000009', 'i000000A', 'abcdefgh', 'i', 'izzzzzzzzzzz']) {
    expect((await world.call('GET', `/insights/${other}/`)).status).toBe(404);
  }
});

test('a list is of those that hold a text, have a star, or are the one of a short id', async () => {
  const world = await dashboards();
  const made = [
    await world.insight({ name: 'Visitors', favorited: true }),
    await world.insight({ derived_name: 'visits' }),
    await world.insight({ description: 'Who VISITS us', tags: ['web'] }),
    await world.insight({ name: 'Gone', deleted: true }),
  ];
  const listed = async (query: string) => {
    const { body } = await world.call('GET', `/insights/?${query}`);
    const { count, results = [] } = body as { count?: number; results?: { id: number }[] };
    return [count, results.map(({ id }) => id)];
  };
  expect(await listed('search=visit')).toEqual([3, [3, 2, 1]]);
  expect(await listed('search=VISIT&limit=1&offset=1')).toEqual([3, [2]]);
  expect(await listed('search=web')).toEqual([1, [3]]);
  expect(await listed('favorited=true')).toEqual([1, [1]]);
  expect(await listed('favorited=false&search=visitors')).toEqual([0, []]);
  expect(await listed(`short_id=${String(made[1]?.['short_id'])}`)).toEqual([1, [2]]);
  for (const other of [String(made[3]?.['short_id']), 'i0000999', 'AbCdEfGh', '2'])
    expect(await listed(`short_id=${other}`)).toEqual([0, []]);
});

test('a list is in the order that is asked for, beside filters and for whoever does not see all', async () => {
  const world = await dashboards();
  const { id: dashboard } = await world.dashboard();
  for (const name of ['beta', 'Alpha', 'gamma', 'alpha']) {
    await world.insight({ name, dashboards: name === 'gamma' ? [dashboard] : [] });
    world.context.clock.advance(1_000);
  }
  await patch(world, 1, { description: 'Changed last.' });
  const ids = async (query: string, options = {}) => {
    const { status, body } = await world.call('GET', `/insights/?${query}`, undefined, options);
    return status === 200 ? (body as unknown as { results: { id: number }[] }).results.map(({ id }) => id) : body;
  };
  expect(await ids('order=created_at')).toEqual([1, 2, 3, 4]);
  expect(await ids('order=-created_at')).toEqual([4, 3, 2, 1]);
  expect(await ids('order=last_modified_at')).toEqual([2, 3, 4, 1]);
  expect(await ids('order=-last_modified_at&limit=2')).toEqual([1, 4]);
  expect(await ids('order=-last_modified_at&limit=2&offset=2')).toEqual([3, 2]);
  expect(await ids('order=name')).toEqual([2, 4, 1, 3]);
  expect(await ids('order=-name&search=a')).toEqual([3, 1, 4, 2]);
  await world.call('PUT', `/dashboards/${dashboard}/access_controls/`, { access_level: 'none' });
  const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
  expect(await ids('order=-last_modified_at', { key })).toEqual([1, 4, 2]);
  expect(await ids('order=-last_viewed_at')).toMatchObject({ code: 'invalid_choice', attr: 'order' });
});

test('those that are deleted are listed when they are asked for, the last one first, until they are brought back', async () => {
  const world = await dashboards();
  const { id: dashboard } = await world.dashboard();
  const names = async (query: string, key?: string) => {
    const { body } = await world.call('GET', `/insights/?${query}`, undefined, key === undefined ? {} : { key });
    const { count, results = [] } = body as { count?: number; results?: { name: string }[] };
    expect(count).toBe(results.length);
    return results.map(({ name }) => name);
  };
  const shortIds: string[] = [];
  for (const name of ['kept', 'hidden', 'first', 'second']) {
    const { id, short_id } = await world.insight({ name, dashboards: name === 'hidden' ? [dashboard] : [] });
    shortIds.push(String(short_id));
    world.context.clock.advance(1_000);
    if (name !== 'kept') await patch(world, id, { deleted: true });
  }
  // What else was deleted is no insight.
  const { id: gone } = await world.dashboard({ name: 'gone' });
  await world.call('PATCH', `/dashboards/${gone}/`, { deleted: true });
  expect(await names('deleted=true')).toEqual(['second', 'first', 'hidden']);
  expect(await names('deleted=true&search=fir')).toEqual(['first']);
  expect(await names(`deleted=true&short_id=${shortIds[2]}`)).toEqual(['first']);
  expect(await names(`deleted=true&short_id=${shortIds[0]}`)).toEqual([]);
  expect(await names('deleted=false')).toEqual(['kept']);

  await world.call('PUT', `/dashboards/${dashboard}/access_controls/`, { access_level: 'none' });
  const member = await world.service.newKey(await world.service.newUser(LEVELS.member));
  expect(await names('deleted=true', member)).toEqual(['second', 'first']);
  await patch(world, 3, { deleted: false });
  expect(await names('deleted=true')).toEqual(['second', 'hidden']);
  expect(await names('')).toEqual(['first', 'kept']);
});

test('a list of one short id is empty for whoever may not see it', async () => {
  const world = await dashboards();
  const { id: dashboard } = await world.dashboard();
  const { short_id, id } = await world.insight({ dashboards: [dashboard] });
  const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
  const found = async () =>
    (await world.call('GET', `/insights/?short_id=${String(short_id)}`, undefined, { key })).body;
  expect(await found()).toMatchObject({ count: 1, results: [{ id }] });
  await world.call('PUT', `/dashboards/${dashboard}/access_controls/`, { access_level: 'none' });
  expect(await found()).toMatchObject({ count: 0, results: [] });
});

test('`dashboard` puts it on one more dashboard, and takes it from none', async () => {
  const world = await dashboards();
  const [first, second] = [await world.dashboard(), await world.dashboard()];
  const { id, dashboards: shown } = await world.insight({ dashboard: first.id });
  expect(shown).toEqual([first.id]);
  expect((await patch(world, id, { dashboard: second.id, name: 'Both' })).body).toMatchObject({
    name: 'Both',
    dashboards: [first.id, second.id],
  });
  expect((await patch(world, id, { dashboard: second.id })).body?.['dashboards']).toEqual([first.id, second.id]);
  expect((await patch(world, id, { dashboard: null })).body?.['dashboards']).toEqual([first.id, second.id]);
  expect((await patch(world, id, { dashboard: 999 })).status).toBe(400);
  expect((await world.found(second.id)).tiles).toMatchObject([{ order: 0, insight: { id } }]);
});

test('it changes field by field, and says who changed it when', async () => {
  const world = await dashboards();
  const made = await world.insight({ name: 'Visitors', description: 'd', query: { a: 1 }, filters: { b: 2 } });
  world.context.clock.advance(1_000);
  const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
  const { body } = await patch(world, made.id, { name: null, query: { c: { d: [] } } }, { key });
  expect(body).toEqual({
    ...made,
    name: null,
    query: { c: { d: [] } },
    updated_at: '2026-01-01T00:00:01Z',
    last_modified_at: '2026-01-01T00:00:01Z',
    last_modified_by: expect.objectContaining({ email: 'user-1@example.com' }),
  });
  expect((await world.call('GET', `/insights/${made.id}/`)).body).toEqual(body);
});

const ALONE = bad("'filters' are not answered without a query. Send `query`, such as a TrendsQuery.", 'filters');

test('the query that stands beside older filters is taken away together with them alone', async () => {
  const world = await dashboards();
  const { id } = await world.insight({ query: { a: 1 }, filters: { b: 2 } });
  expect(await patch(world, id, { query: null })).toEqual(ALONE);
  expect((await patch(world, id, { query: null, filters: {} })).body).toMatchObject({ query: null, filters: {} });
});

test('one that has older filters alone is changed by sending it back as it was read', async () => {
  const world = await dashboards();
  const tiles = [{ type: 'INSIGHT', name: 'Old', filters: { insight: 'TRENDS' } }];
  const template = { template_name: 'T', dashboard_description: '', dashboard_filters: {}, tiles };
  const made = await world.call('POST', '/dashboards/create_from_template_json/', { template });
  const [tile] = (made.body as unknown as DashboardJson).tiles;
  const { id, query, filters } = tile?.insight ?? { id: 0 };
  expect([query, filters]).toEqual([null, { insight: 'TRENDS' }]);
  const renamed = await patch(world, id, { name: 'New', query, filters });
  expect(renamed).toMatchObject({ status: 200, body: { name: 'New', query: null, filters } });
});

test.each([
  [{ query: [] }, bad('Invalid data. Expected a dictionary, but got list.', 'query')],
  [{ filters: null }, bad('This field may not be null.', 'filters', 'null')],
  [
    { filters: { insight: 'TRENDS' } },
    bad("'filters' are not answered without a query. Send `query`, such as a TrendsQuery.", 'filters'),
  ],
  [{ name: 'x'.repeat(401) }, bad('Ensure this field has no more than 400 characters.', 'name', 'max_length')],
  [{ dashboards: 1 }, bad('Expected a list of items but got type "int".', 'dashboards', 'not_a_list')],
  [{ dashboards: ['x'] }, bad('A valid integer is required.', 'dashboards__0')],
  [{ dashboards: [999] }, bad('Invalid pk "999" - object does not exist.', 'dashboards', 'does_not_exist')],
  [{ query: { a: 'x'.repeat(102_400) } }, bad('An insight may hold at most 100 KiB.')],
])('case %#: bad input is told, on create and on PATCH', async (body, expected) => {
  const world = await dashboards();
  const { id } = await world.insight({ name: 'Visitors' });
  expect(told(await world.call('POST', '/insights/', body))).toEqual(expected);
  expect(await patch(world, id, body)).toEqual(expected);
  expect((await world.call('GET', '/insights/')).body).toMatchObject({
    count: 1,
    results: [{ name: 'Visitors', query: null }],
  });
});

describe('dashboards', () => {
  test('show it from its creation on, once each', async () => {
    const world = await dashboards();
    const [a, b] = [await world.dashboard(), await world.dashboard()];
    const made = await world.insight({ dashboards: [a.id, b.id, a.id] });
    expect(made.dashboards).toEqual([a.id, b.id]);
    expect([await shownOn(world, a.id), await shownOn(world, b.id)]).toEqual([[made.id], [made.id]]);
    const { headers } = await world.call('GET', `/dashboards/${a.id}/`);
    expect(headers.get('etag')).toBe('"2"');
  });

  test('are the whole list: it goes where it was not, and leaves the others', async () => {
    const world = await dashboards();
    const all = [await world.dashboard(), await world.dashboard(), await world.dashboard()];
    const [a, b, c] = all.map(({ id }) => id);
    const { id } = await world.insight({ dashboards: [a, b] });
    const before = (await world.found(b ?? 0)).tiles;
    expect((await patch(world, id, { dashboards: [b, c] })).body).toMatchObject({ dashboards: [b, c] });
    expect(await shownOn(world, a ?? 0)).toEqual([]);
    expect((await world.found(b ?? 0)).tiles).toEqual(
      before.map((tile) => ({ ...tile, insight: expect.objectContaining({ id }) })),
    );
    expect(await shownOn(world, c ?? 0)).toEqual([id]);
    expect((await patch(world, id, { name: 'x' })).body).toMatchObject({ dashboards: [b, c] });
    expect((await patch(world, id, { dashboards: [] })).body).toMatchObject({ dashboards: [] });
    expect(await shownOn(world, c ?? 0)).toEqual([]);
  });

  test('come and go forty at once, and more are refused before anything is changed', async () => {
    const world = await dashboards();
    const ids: number[] = [];
    for (let n = 0; n < 46; n++) ids.push((await world.dashboard()).id);
    const [first, second] = [ids.slice(0, 21), ids.slice(21)];
    const { id } = await world.insight({ dashboards: first });
    expect(await patch(world, id, { dashboards: second })).toEqual(
      bad('An insight can be put on and taken from at most 40 dashboards at once.', 'dashboards'),
    );
    expect(await shownOn(world, first[0] ?? 0)).toEqual([id]);
    const fewer = second.slice(0, 19);
    expect((await patch(world, id, { dashboards: fewer })).body).toMatchObject({ dashboards: fewer });
  });

  test('that are full, restricted, hidden, deleted or in another project do not take it', async () => {
    const world = await dashboards();
    const { service, context } = world;
    const key = await service.newKey(await service.newUser(LEVELS.member));
    const full = await world.dashboard({ tiles: Array.from({ length: 500 }, () => ({ text: { body: '' } })) });
    const restricted = await world.dashboard({ restriction_level: 37 });
    const deleted = await world.dashboard({ deleted: true });
    const { project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
    const path = `/api/projects/${project.id}/dashboards/`;
    await service.call('POST', path, { body: {} });
    const { body: other } = await service.call('POST', path, { body: {} });
    const missing = (id: unknown) =>
      bad(`Invalid pk "${String(id)}" - object does not exist.`, 'dashboards', 'does_not_exist');
    const { id } = await world.insight({}, { key });
    for (const [goal, expected] of [
      [full.id, bad('A dashboard may have at most 500 tiles.', 'tiles')],
      [restricted.id, denied("You don't have edit permissions for this dashboard.")],
      [deleted.id, missing(deleted.id)],
      [other?.['id'], missing(other?.['id'])],
    ] as const) {
      expect(told(await world.call('POST', '/insights/', { dashboards: [goal] }, { key }))).toEqual(expected);
      expect(await patch(world, id, { dashboards: [goal] }, { key })).toEqual(expected);
    }
    expect((await world.call('GET', '/insights/')).body).toMatchObject({ count: 1 });
  });

  test('that are restricted, be it one of many, keep it from being edited by others', async () => {
    const world = await dashboards();
    const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
    const { id: restricted } = await world.dashboard({ restriction_level: 37 });
    const { id } = await world.insight({ dashboards: [restricted] });
    const refusal = denied("You don't have edit permissions for this insight.");
    for (const body of [{ name: 'x' }, { deleted: true }, { name: 'x', dashboards: [restricted] }, {}]) {
      expect(await patch(world, id, body, { key })).toEqual(refusal);
    }
    const { id: own } = await world.dashboard({ name: 'Mine' }, { key });
    const { status, body } = await patch(world, id, { dashboards: [restricted, own] }, { key });
    expect({ status, body }).toMatchObject({ status: 200, body: { dashboards: [restricted, own] } });
    expect(await patch(world, id, { name: 'x' }, { key })).toEqual(refusal);
    expect(await patch(world, id, { deleted: true }, { key })).toEqual(refusal);
    for (const wanted of [[own], []]) {
      expect(await patch(world, id, { dashboards: wanted }, { key })).toEqual(
        denied("You don't have edit permissions for this dashboard."),
      );
    }
    await world.changed(own, { deleted: true, delete_insights: true }, { key });
    expect(await shownOn(world, restricted)).toEqual([id]);
    await world.changed(restricted, { restriction_level: 21 });
    expect(await patch(world, id, { name: 'x' }, { key })).toMatchObject({ status: 200, body: { name: 'x' } });
  });

  test('that are restricted leave it to whoever made it', async () => {
    const world = await dashboards();
    const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
    const { id } = await world.insight({}, { key });
    const { id: restricted } = await world.dashboard({ restriction_level: 37, tiles: [{ insight: id }] });
    expect(await patch(world, id, { name: 'mine' }, { key })).toMatchObject({ status: 200, body: { name: 'mine' } });
    expect(await shownOn(world, restricted)).toEqual([id]);
  });

  test('that are hidden from a member hide it: from reads, lists, changes and other dashboards', async () => {
    const world = await dashboards();
    const { service, call } = world;
    const user = await service.newUser(LEVELS.member);
    const key = await service.newKey(user);
    const { id: hidden } = await world.dashboard();
    await call('PUT', `/dashboards/${hidden}/access_controls/`, { access_level: 'none' });
    const { id } = await world.insight({ name: 'secret', dashboards: [hidden] });
    const { id: free } = await world.insight({ name: 'free' });
    const { id: own } = await world.dashboard({ tiles: [{ insight: free }] }, { key });
    const listed = async () => (await call('GET', '/insights/', undefined, { key })).body;

    const refusal = denied('You do not have viewer access to this resource.');
    expect(told(await call('GET', `/insights/${id}/`, undefined, { key }))).toEqual(refusal);
    for (const body of [{ name: 'x' }, { deleted: true }, { dashboards: [own] }]) {
      expect(await patch(world, id, body, { key })).toEqual(refusal);
    }
    const missing = bad(`Invalid pk "${id}" - object does not exist.`, 'tiles', 'does_not_exist');
    const body = { tiles: [{ insight: id }] };
    expect(told(await call('POST', '/dashboards/', body, { key }))).toEqual(missing);
    expect(told(await call('PATCH', `/dashboards/${own}/`, body, { key }))).toEqual(missing);
    expect(await listed()).toMatchObject({ count: 1, results: [{ id: free, dashboards: [own] }] });

    const { id: shown } = await world.dashboard({ tiles: [{ insight: id }] });
    expect(await listed()).toMatchObject({ count: 2, results: [{ id: free }, { id, dashboards: [shown] }] });
    expect((await call('GET', `/insights/${id}/`, undefined, { key })).body).toMatchObject({ dashboards: [shown] });
    expect(await patch(world, id, { name: 'x' }, { key })).toEqual(
      denied("You don't have edit permissions for this insight."),
    );
    await world.changed(own, body, { key });
    expect(await shownOn(world, own)).toEqual([free, id]);
    expect((await call('GET', '/insights/')).body).toMatchObject({ count: 2 });
  });
});

test('a dashboard that is deleted goes on hiding what no other one shows, and comes back with it', async () => {
  const world = await dashboards();
  const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
  const { id: secret } = await world.dashboard();
  await world.call('PUT', `/dashboards/${secret}/access_controls/`, { access_level: 'none' });
  const { id: restricted } = await world.dashboard({ restriction_level: 37 });
  const { id: hidden } = await world.insight({ dashboards: [secret] });
  const { id: kept } = await world.insight({ dashboards: [restricted] });
  for (const id of [secret, restricted]) await world.changed(id, { deleted: true });
  const unseen = denied('You do not have viewer access to this resource.');
  expect(told(await world.call('GET', `/insights/${hidden}/`, undefined, { key }))).toEqual(unseen);
  for (const body of [{ name: 'x' }, { deleted: true }]) {
    expect(await patch(world, hidden, body, { key })).toEqual(unseen);
    expect(await patch(world, kept, body, { key })).toEqual(
      denied("You don't have edit permissions for this insight."),
    );
  }
  const listed = await world.call('GET', '/insights/', undefined, { key });
  expect(listed.body).toMatchObject({ count: 1, results: [{ id: kept, dashboards: [] }] });
  const missing = bad(`Invalid pk "${hidden}" - object does not exist.`, 'tiles', 'does_not_exist');
  const tiles = [{ insight: hidden }];
  expect(told(await world.call('POST', '/dashboards/', { tiles }, { key }))).toEqual(missing);
  await world.changed(secret, { deleted: false });
  expect(await shownOn(world, secret)).toEqual([hidden]);

  await world.changed(secret, { deleted: true });
  await world.dashboard({ tiles });
  expect((await world.call('GET', `/insights/${hidden}/`, undefined, { key })).status).toBe(200);
  expect((await world.call('GET', '/insights/', undefined, { key })).body).toMatchObject({ count: 2 });
});

test('nobody keeps it from others by putting it on a dashboard of their own, or by deleting the one that it is on', async () => {
  const world = await dashboards();
  const [maker, taker, key] = [
    await world.service.newKey(await world.service.newUser(LEVELS.member)),
    await world.service.newKey(await world.service.newUser(LEVELS.member)),
    await world.service.newKey(await world.service.newUser(LEVELS.member)),
  ];
  const { id: open } = await world.dashboard();
  const { id } = await world.insight({ dashboards: [open] }, { key: maker });
  const own = await world.dashboard({ restriction_level: 37, tiles: [{ insight: id }] }, { key: taker });
  expect(await patch(world, id, { name: 'x' }, { key })).toMatchObject({ status: 200, body: { name: 'x' } });
  await world.changed(open, { deleted: true }, { key: taker });
  expect(await patch(world, id, { name: 'y' }, { key })).toMatchObject({ status: 200, body: { name: 'y' } });
  await world.changed(open, { deleted: false }, { key: taker });

  await world.call('PUT', `/dashboards/${own.id}/access_controls/`, { access_level: 'none' }, { key: taker });
  const { tiles } = await world.found(open);
  const others = denied(
    'Others would not see this insight any more: it would only be on dashboards that are hidden from them.',
  );
  const [tile] = tiles;
  const taken = { tiles: [{ id: tile?.id, deleted: true }] };
  const board = await world.dashboard({}, { key: taker });
  await world.call('PUT', `/dashboards/${board.id}/access_controls/`, { access_level: 'none' }, { key: taker });
  const move = { tile: { id: tile?.id }, toDashboard: board.id };
  expect(told(await world.call('PATCH', `/dashboards/${open}/`, taken, { key: taker }))).toEqual(others);
  expect(told(await world.call('PATCH', `/dashboards/${open}/move_tile/`, move, { key: taker }))).toEqual(others);
  expect(await patch(world, id, { dashboards: [own.id] }, { key: taker })).toEqual(others);
  expect(told(await world.call('PATCH', `/dashboards/${open}/`, taken, { key }))).toEqual(
    denied('You would not see this insight any more: it would only be on dashboards that are hidden from you.'),
  );
  expect(await shownOn(world, open)).toEqual([id]);
  await world.changed(open, taken, { key: maker });
  expect(await shownOn(world, open)).toEqual([]);
});

test('nobody hides what somebody else made by putting it on a closed dashboard, nor by deleting one that has it', async () => {
  const world = await dashboards();
  const [maker, taker, key] = [
    await world.service.newKey(await world.service.newUser(LEVELS.member)),
    await world.service.newKey(await world.service.newUser(LEVELS.member)),
    await world.service.newKey(await world.service.newUser(LEVELS.member)),
  ];
  const close = (id: number) =>
    world.call('PUT', `/dashboards/${id}/access_controls/`, { access_level: 'none' }, { key: taker });
  const [{ id }, { id: placed }] = [await world.insight({}, { key: maker }), await world.insight({}, { key: maker })];
  const { id: own } = await world.dashboard({}, { key: taker });
  await close(own);
  const others = denied(
    'Others would not see this insight any more: it would only be on dashboards that are hidden from them.',
  );
  const tiles = [{ insight: id }];
  for (const body of [{ tiles }, { tiles, deleted: true }]) {
    expect(told(await world.call('PATCH', `/dashboards/${own}/`, body, { key: taker }))).toEqual(others);
  }
  expect(await patch(world, id, { dashboards: [own] }, { key: taker })).toEqual(others);
  expect(await shownOn(world, own)).toEqual([]);
  const { id: mine } = await world.insight({}, { key: taker });
  await world.changed(own, { tiles: [{ insight: mine }] }, { key: taker });
  await world.dashboard({ tiles }, { key });
  await world.changed(own, { tiles }, { key: taker });
  expect(await shownOn(world, own)).toEqual([mine, id]);

  const { id: board } = await world.dashboard({ tiles: [{ insight: placed }] }, { key: taker });
  await close(board);
  const seen = async () => [
    (await world.call('GET', `/insights/${placed}/`, undefined, { key })).status,
    (await world.call('GET', '/insights/', undefined, { key })).body?.['count'],
    (await patch(world, placed, { name: 'x' }, { key })).status,
  ];
  expect(await seen()).toEqual([403, 1, 403]);
  await world.changed(board, { deleted: true }, { key: taker });
  expect(await seen()).toEqual([200, 2, 200]);
});

test('nobody takes it from the last dashboard by which they see it: that is refused, and nothing is changed', async () => {
  const world = await dashboards();
  const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
  const { id: hidden } = await world.dashboard();
  await world.call('PUT', `/dashboards/${hidden}/access_controls/`, { access_level: 'none' });
  const { id: shown } = await world.dashboard();
  const { id: other } = await world.dashboard();
  const { id } = await world.insight({ dashboards: [hidden, shown] });
  const refusal = denied(
    'You would not see this insight any more: it would only be on dashboards that are hidden from you.',
  );
  expect(await patch(world, id, { dashboards: [] }, { key })).toEqual(refusal);
  expect(await shownOn(world, shown)).toEqual([id]);
  expect(await patch(world, id, { dashboards: [other] }, { key })).toMatchObject({
    status: 200,
    body: { dashboards: [other] },
  });
  expect(await patch(world, id, { dashboards: [] }, { key })).toEqual(refusal);
  expect(await patch(world, id, { dashboards: [] })).toMatchObject({ status: 200, body: { dashboards: [] } });
});

test('deleted it is gone from lists and reads until it is brought back', async () => {
  const world = await dashboards();
  const { id } = await world.insight();
  expect(await patch(world, id, { deleted: true })).toMatchObject({ status: 200, body: { deleted: true } });
  expect(told(await world.call('GET', `/insights/${id}/`))).toEqual(NOT_FOUND);
  expect(await patch(world, id, { name: 'x' })).toEqual(NOT_FOUND);
  expect(await patch(world, id, { deleted: true })).toEqual(NOT_FOUND);
  expect((await world.call('GET', '/insights/')).body).toMatchObject({ count: 0, results: [] });
  expect(await patch(world, id, { deleted: false })).toMatchObject({ status: 200, body: { deleted: false } });
  expect((await world.call('GET', '/insights/')).body).toMatchObject({ count: 1 });
});

test('lists are newest first, each with its dashboards, in two round trips', async () => {
  const world = await dashboards();
  const { id } = await world.dashboard();
  for (const name of ['a', 'b', 'c']) {
    await world.insight({ name, dashboards: name === 'b' ? [id] : [] });
    world.context.clock.advance(1);
  }
  const first = await world.call('GET', '/insights/?limit=2');
  expect(first.body).toMatchObject({
    count: 3,
    results: [
      { name: 'c', dashboards: [] },
      { name: 'b', dashboards: [id] },
    ],
  });
  world.table.counted();
  const next = new URL(String(first.body?.['next']));
  expect((await world.service.call('GET', `${next.pathname}${next.search}`)).body).toMatchObject({
    results: [{ name: 'a' }],
  });
  expect(world.table.counted()).toBe(2);
});

test('a page of large insights stops at 5 MB, and no query is read that it has no room for', async () => {
  const world = await dashboards();
  const query = { kind: 'HogQLQuery', query: 'SELECT 1', more: 'x'.repeat(99_000) };
  for (let n = 0; n < 60; n++) {
    await world.insight({ name: `n${n}`, query });
    world.context.clock.advance(1);
  }
  const parsed = jest.spyOn(JSON, 'parse');
  const { body } = await world.call('GET', '/insights/?limit=60');
  const read = parsed.mock.calls.filter(([text]) => text.length > 90_000 && text.length < 110_000);
  parsed.mockRestore();
  const results = body?.['results'] as readonly { readonly name: string }[];
  // Each row of the page is parsed as a row of the table, and 51 queries have some 5 MB.
  expect(read.length).toBeLessThan(60 + 53);
  const place = new URL(String(body?.['next']));
  const next = await world.service.call('GET', `${place.pathname}${place.search}`);
  const { results: others } = next.body as { readonly results: typeof results };
  const names = [...results, ...others].map(({ name }) => name);
  expect(names).toEqual(Array.from({ length: 60 }, (_, n) => `n${59 - n}`));
});

test('an insight of another project is not there', async () => {
  const world = await dashboards();
  const { service, context } = world;
  const { project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
  const path = `/api/projects/${project.id}/insights/`;
  const { body } = await service.call('POST', path, { body: {} });
  expect(told(await world.call('GET', `/insights/${String(body?.['id'])}/`))).toEqual(NOT_FOUND);
  expect(await patch(world, body?.['id'] as number, { name: 'mine' })).toEqual(NOT_FOUND);
});

test('a change is two round trips: the caller beside the insight, one write', async () => {
  const world = await dashboards();
  const { id } = await world.insight();
  await patch(world, id, {});
  world.table.counted();
  await patch(world, id, { name: 'x' });
  expect(world.table.counted()).toBe(2);
});

test.each(['', '?basic=true'])('put on a dashboard it is told anew to whoever knows its version%s', async (asked) => {
  const { dashboard, insight, call } = await dashboards();
  const { id } = await insight();
  const tag = (await call('GET', `/insights/${id}/${asked}`)).headers.get('etag') ?? '';
  const board = await dashboard({ tiles: [{ insight: id }] });
  const again = await call('GET', `/insights/${id}/${asked}`, undefined, { headers: { 'If-None-Match': tag } });
  expect(again).toMatchObject({ status: 200, body: { dashboards: [board.id] } });
});

test('a description may be null, as a name may, and is told as it was sent', async () => {
  const { service } = await dashboards();
  const path = `/api/projects/${service.project.id}/insights/`;
  const made = await service.call('POST', path, { body: { name: 'Visitors', description: null } });
  expect(made).toMatchObject({ status: 201, body: { description: null } });
  const one = `${path}${String(made.body?.['id'])}/`;
  expect((await service.call('PATCH', one, { body: { description: 'x' } })).body).toMatchObject({ description: 'x' });
  expect((await service.call('PATCH', one, { body: { description: null } })).body).toMatchObject({ description: null });
  expect((await service.call('GET', one)).body).toMatchObject({ description: null });
  expect((await service.call('GET', `${path}?search=visit`)).body).toMatchObject({ results: [{ description: null }] });
  expect((await service.call('POST', path, { body: {} })).body).toMatchObject({ description: '' });
});

test('an answer as CSV is refused by its name', async () => {
  const { service } = await dashboards();
  const path = `/api/projects/${service.project.id}/insights/`;
  const { body } = await service.call('POST', path, { body: {} });
  for (const one of [path, `${path}${String(body?.['id'])}/`]) {
    const refusal = { status: 400, body: { attr: 'format' } };
    expect(await service.call('GET', `${one}?format=csv`)).toMatchObject(refusal);
    expect((await service.call('GET', `${one}?format=json`)).status).toBe(200);
  }
});
