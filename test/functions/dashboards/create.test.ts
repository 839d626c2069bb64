import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { MAX_TILES } from '../../../lib/dashboards/model.ts';
import { TEMPLATES } from '../../../lib/dashboards/templates/index.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { NO_FILTERS } from '../../../lib/insights/filter-schema.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { bad, type DashboardJson, dashboards, told } from '../../support/dashboards.ts';
import { ROOT } from '../../support/source.ts';

test('an empty body makes a dashboard of defaults, its fields in the order of the document', async () => {
  const { dashboard, service } = await dashboards();
  const made = await dashboard({});
  expect(made).toEqual({
    id: 1,
    name: '',
    description: '',
    pinned: false,
    created_at: '2026-01-01T00:00:00Z',
    created_by: {
      id: service.owner.id,
      uuid: service.owner.uuid,
      distinct_id: service.owner.distinct_id,
      first_name: 'Olivia',
      last_name: '',
      email: 'owner@example.com',
      is_email_verified: false,
      hedgehog_config: {},
      role_at_organization: '',
    },
    is_shared: false,
    deleted: false,
    creation_mode: 'default',
    use_template: '',
    use_dashboard: null,
    delete_insights: false,
    filters: {},
    variables: {},
    tags: [],
    tiles: [],
    restriction_level: 21,
    effective_restriction_level: 21,
    effective_privilege_level: 37,
    user_access_level: 'manager',
  });
  expect(Object.keys(made).join(' ')).toBe(
    'id name description pinned created_at created_by is_shared deleted creation_mode use_template use_dashboard ' +
      'delete_insights filters variables tags tiles restriction_level effective_restriction_level ' +
      'effective_privilege_level user_access_level',
  );
});

test('what is sent is what is made; what is read-only or unknown is passed over', async () => {
  const { dashboard, found } = await dashboards();
  const sent = {
    name: '  Weekly ',
    description: 'Of the week',
    pinned: 'yes',
    tags: [' Sales ', 'sales', 'Q1'],
    restriction_level: '37',
    filters: { date_from: '-7d', properties: [{ key: '__proto__', value: 12345678901234567890n }] },
    variables: { a: { code_name: 'a', variableId: 'a', value: 1 } },
    delete_insights: true,
    is_shared: true,
    creation_mode: 'template',
    id: 99,
    whatever: 1,
  };
  const body = JSON.stringify(sent, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
  const made = await dashboard(body as unknown as object);
  expect(made).toMatchObject({
    id: 1,
    name: 'Weekly',
    description: 'Of the week',
    pinned: true,
    tags: ['sales', 'q1'],
    restriction_level: 37,
    filters: { date_from: '-7d' },
    variables: { a: { code_name: 'a', variableId: 'a', value: 1 } },
    delete_insights: true,
    is_shared: false,
    creation_mode: 'default',
  });
  expect(await found(made.id)).toEqual(made);
  expect(await dashboard({ name: null, filters: null, use_dashboard: null, use_template: '' })).toMatchObject({
    name: '',
    filters: {},
    creation_mode: 'default',
  });
});

test('free objects come back as they were sent, byte for byte', async () => {
  const { service, project } = await dashboards();
  const filters = '{"__proto__":{"x":1},"constructor":null,"big":12345678901234567890,"deep":[[{"a":1e999}]]}';
  const headers = { Authorization: `Bearer ${service.key}`, 'Content-Type': 'application/json' };
  const reply = await fetch(`${service.address}${project}/dashboards/`, {
    method: 'POST',
    headers,
    body: `{"filters":${filters},"tiles":[{"text":{"body":"x"},"layouts":${filters}}]}`,
  });
  expect(reply.status).toBe(201);
  const again = await fetch(`${service.address}${project}/dashboards/1/`, { headers });
  const text = await again.text();
  expect(text.split(filters)).toHaveLength(3);
  expect(await reply.text()).toBe(text);
});

test.each([
  [{ name: 'x'.repeat(401) }, bad('Ensure this field has no more than 400 characters.', 'name', 'max_length')],
  [{ name: ['x'] }, bad('Not a valid string.', 'name')],
  [{ description: null }, bad('This field may not be null.', 'description', 'null')],
  [{ pinned: 'maybe' }, bad('Must be a valid boolean.', 'pinned')],
  [
    { restriction_level: 99 },
    bad('"99" is not a valid choice. Choose one of: 21, 37.', 'restriction_level', 'invalid_choice'),
  ],
  [{ tags: 'sales' }, bad('Expected a list of items but got type "str".', 'tags', 'not_a_list')],
  [{ tags: null }, bad('This field may not be null.', 'tags', 'null')],
  [{ tags: ['x'.repeat(256)] }, bad('Ensure this field has no more than 255 characters.', 'tags__0', 'max_length')],
  [{ filters: [1] }, bad('Filters must be a dictionary')],
  [{ filters: 'x' }, bad('Filters must be a dictionary')],
  [{ filters: { properties: [], date_from: 7 } }, bad('Not a valid string.', 'filters__date_from')],
  [{ filters: { properties: 'x' } }, bad(NO_FILTERS, 'filters__properties')],
  [
    { filters: { breakdown_filter: [] } },
    bad('Invalid data. Expected a dictionary, but got list.', 'filters__breakdown_filter'),
  ],
  [{ variables: 1 }, bad('Filters must be a dictionary')],
  [{ filters: { a: ['\u0000'] } }, bad('Null characters are not allowed.', null, 'null_characters_not_allowed')],
  [{ use_template: null }, bad('This field may not be null.', 'use_template', 'null')],
  [
    { use_template: 'NOPE' },
    bad(
      'Invalid template provided: NOPE. Choose one of: DEFAULT_APP, Product analytics, WEBSITE_TRAFFIC, Website traffic, FEATURE_ADOPTION, Feature adoption.',
      'use_template',
    ),
  ],
  [
    { use_template: '__proto__' },
    bad(
      'Invalid template provided: __proto__. Choose one of: DEFAULT_APP, Product analytics, WEBSITE_TRAFFIC, Website traffic, FEATURE_ADOPTION, Feature adoption.',
      'use_template',
    ),
  ],
  [{ use_dashboard: '' }, bad('A valid integer is required.', 'use_dashboard')],
  [{ use_dashboard: 1.5 }, bad('A valid integer is required.', 'use_dashboard')],
  [{ use_dashboard: 999 }, bad('Invalid value provided', 'use_dashboard')],
  [
    { use_dashboard: 1, use_template: 'DEFAULT_APP' },
    bad('`use_dashboard` and `use_template` cannot be used together'),
  ],
  [{ tiles: [{ color: 'red' }] }, bad('A tile needs a text or an insight.', 'tiles__0', 'required')],
  [{ tiles: [{ insight: 999 }] }, bad('Invalid pk "999" - object does not exist.', 'tiles', 'does_not_exist')],
  [
    { tiles: [{ text: { body: 'x' }, insight: 1 }] },
    bad('A tile shows a text or an insight: leave out one of them.', 'tiles__0'),
  ],
  [{ tiles: [{ insight: 'x' }] }, bad('A valid integer is required.', 'tiles__0__insight')],
  [
    { tiles: [{ text: { body: '\u{1F600}'.repeat(4001) } }] },
    bad('Text body cannot exceed 4000 characters', 'tiles__0__text__body', 'max_length'),
  ],
  [
    { tiles: [{ text: { body: 'x' }, layouts: { sm: 'x'.repeat(102_400) } }] },
    bad('A tile may hold at most 100 KiB.', 'tiles__0'),
  ],
  [{ description: 'x'.repeat(307_200) }, bad('A dashboard may hold at most 300 KiB.')],
  [{ filters: { a: 'x'.repeat(307_200) } }, bad('A dashboard may hold at most 300 KiB.')],
  [
    { tiles: Array.from({ length: 501 }, () => ({ text: { body: '' } })) },
    bad('Ensure this field has no more than 500 elements.', 'tiles', 'max_length'),
  ],
])('case %#: bad input is told, and nothing is made', async (body, expected) => {
  const { call } = await dashboards();
  expect(told(await call('POST', '/dashboards/', body))).toEqual(expected);
  expect((await call('GET', '/dashboards/')).body).toMatchObject({ count: 0 });
});

describe('tiles', () => {
  test('are made with the dashboard: texts as markdown, insights by number or as they were read', async () => {
    const { dashboard, insight, found, service } = await dashboards();
    const { id } = await insight({ name: 'Visitors', query: { kind: 'TrendsQuery' } });
    const { id: another } = await insight({ name: 'Buyers' });
    const made = await dashboard({
      tiles: [
        { text: { body: ' # Hi\n' }, layouts: { sm: { x: 6, y: 0, w: 6, h: 2 } }, color: 'blue' },
        { insight: id, layouts: { sm: { x: 0, y: 0 } } },
        { id: 77, insight: { id: another, name: 'passed over' } },
      ],
    });
    expect(made.tiles).toMatchObject([
      { id: 2, insight: { id, name: 'Visitors', query: { kind: 'TrendsQuery' } }, text: null, color: null },
      {
        id: 1,
        layouts: { sm: { x: 6, y: 0, w: 6, h: 2 } },
        color: 'blue',
        insight: null,
        text: {
          id: 1,
          body: ' # Hi\n',
          created_by: { uuid: service.owner.uuid },
          last_modified_at: '2026-01-01T00:00:00Z',
          last_modified_by: { uuid: service.owner.uuid },
          team: service.project.id,
        },
        last_refresh: null,
        is_cached: false,
      },
      { id: 3, insight: { id: another, name: 'Buyers' }, layouts: {} },
    ]);
    expect(await found(made.id)).toEqual(made);
  });

  test('show an insight once: of those that name the same one the last is made, also beside copied ones', async () => {
    const { dashboard, insight } = await dashboards();
    const [{ id }, { id: other }] = [await insight(), await insight()];
    const tiles = [{ insight: id, color: 'red' }, { insight: other }, { insight: { id }, color: 'blue' }];
    const once = [
      { insight: { id }, color: 'blue' },
      { insight: { id: other }, color: null },
    ];
    const made = await dashboard({ tiles });
    expect(made.tiles).toMatchObject(once);
    const copy = await dashboard({ use_dashboard: made.id, tiles: [{ insight: id, color: 'green' }] });
    expect(copy.tiles).toMatchObject([{ insight: { id }, color: 'green' }, once[1]]);
    const copies = await dashboard({ use_dashboard: made.id, duplicate_tiles: true, tiles: [{ insight: id }] });
    expect(copies.tiles).toHaveLength(3);
  });

  test('may be 500, and then the dashboard is there as a whole', async () => {
    const { dashboard, found } = await dashboards();
    const tiles = Array.from({ length: MAX_TILES }, (_, at) => ({ text: { body: `${at}` } }));
    const { id } = await dashboard({ name: 'Full', tiles });
    expect((await found(id)).tiles.map(({ text }) => text?.body)).toEqual(tiles.map(({ text }) => text.body));
  });

  test('that never all came leave a dashboard that nobody sees, where a purge finds it', async () => {
    const { context, table, call, service, dashboard } = await dashboards();
    const write = table.write.bind(table);
    let writes = 0;
    table.write = (ops, options) => {
      if (ops.length > 1) writes += 1;
      return writes === 3 ? Promise.reject(new Error('the process dies here')) : write(ops, options);
    };
    const tiles = Array.from({ length: 200 }, () => ({ text: { body: 'x' } }));
    expect((await call('POST', '/dashboards/', { tiles })).status).toBe(500);
    table.write = write;
    expect((await call('GET', '/dashboards/1/')).status).toBe(404);
    expect((await call('GET', '/dashboards/')).body).toMatchObject({ count: 0, results: [] });
    expect(await listAll(context.table, ranges.deletedOf(service.project.id))).toMatchObject([
      keys.dashboard(service.project.id, 1),
    ]);
    expect((await dashboard()).id).toBe(2);
  });
});

describe('200 insights of its own', () => {
  const tiles = Array.from({ length: 200 }, () => ({ type: 'INSIGHT', query: { a: 1 } }));
  const template = { template_name: 'x', dashboard_description: '', dashboard_filters: {}, tiles };
  const headers = { 'Idempotency-Key': 'k' };

  /** A service whose create is cut off at its n-th write of several items; and what is listed then. */
  async function cutOff(nth: number) {
    const world = await dashboards();
    const { table, call } = world;
    const write = table.write.bind(table);
    let writes = 0;
    table.write = (ops, options) => {
      if (ops.length > 1) writes += 1;
      return writes >= nth ? Promise.reject(new Error('the process dies here')) : write(ops, options);
    };
    const create = () => call('POST', '/dashboards/create_from_template_json/', { template }, { headers });
    const first = await create();
    table.write = write;
    const countOf = async (what: string) => Number((await call('GET', `/${what}/?limit=1`)).body?.['count']);
    return { ...world, create, first, countOf };
  }

  test('come with it', async () => {
    const { first, countOf } = await cutOff(Infinity);
    const { tiles: made } = first.body as unknown as DashboardJson;
    expect(made.map(({ insight }) => insight?.id)).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
    expect(await countOf('insights')).toBe(200);
  });

  test.each([1, 2, 3, 4, 5, 6, 7])('are listed by nobody when they are cut off at the %i. write', async (nth) => {
    const { first, countOf } = await cutOff(nth);
    expect(first.status).toBe(500);
    expect(await Promise.all([countOf('insights'), countOf('dashboards')])).toEqual([0, 0]);
  });

  test.each([8, 9, 10])('cut off at the %i. write come when the create is repeated', async (nth) => {
    const { first, create, countOf } = await cutOff(nth);
    expect(first.status).toBe(500);
    expect(await countOf('dashboards')).toBe(1);
    const { tiles: made } = (await create()).body as unknown as DashboardJson;
    expect(made.filter(({ insight }) => insight !== null)).toHaveLength(200);
    expect(await Promise.all([countOf('insights'), countOf('dashboards')])).toEqual([200, 1]);
  });
});

describe('a template', () => {
  test('gives way to whatever was sent', async () => {
    const { dashboard } = await dashboards();
    const sent = { name: 'Mine', description: 'my own', filters: { date_from: '-1d' }, tags: ['mine'] };
    expect(await dashboard({ use_template: 'WEBSITE_TRAFFIC', ...sent })).toMatchObject(sent);
  });

  test('gives no tiles where some were sent, so that a dashboard that was read makes another one like it', async () => {
    const { dashboard } = await dashboards();
    const { id: _, ...read } = await dashboard({ use_template: 'DEFAULT_APP' });
    const again = await dashboard(read);
    expect(again).toMatchObject({ name: 'Product analytics', use_template: 'DEFAULT_APP' });
    expect(again.tiles.map(({ insight }) => insight?.id)).toEqual(read.tiles.map(({ insight }) => insight?.id));
    expect((await dashboard({ use_template: 'DEFAULT_APP', tiles: [] })).tiles).toHaveLength(6);
  });

  test('gives name, description, filters, tags and tiles', async () => {
    const { dashboard, found, service } = await dashboards();
    const made = await dashboard({ use_template: 'DEFAULT_APP' });
    expect(made).toMatchObject({
      name: 'Product analytics',
      description: '',
      creation_mode: 'template',
      use_template: 'DEFAULT_APP',
      filters: {},
    });
    expect(made.tiles).toHaveLength(6);
    for (const { insight } of made.tiles) {
      expect(insight).toMatchObject({ created_by: { uuid: service.owner.uuid }, query: { kind: 'InsightVizNode' } });
    }
    expect(await found(made.id)).toEqual(made);
    expect(await dashboard({ use_template: 'Website traffic' })).toMatchObject({
      name: 'Website traffic',
      description: 'Who visits the site, from where, and what they look at.',
      filters: { date_from: '-30d' },
    });
    expect((await dashboard({ use_template: 'FEATURE_ADOPTION' })).tiles[0]?.text?.body).toContain(
      '# Feature adoption',
    );
  });
});

describe('another dashboard', () => {
  test('gives its tiles, of the same insights, and nothing else', async () => {
    const { dashboard, insight, changed, call } = await dashboards();
    const { id: kept } = await insight({ name: 'Visitors' });
    const { id: gone } = await insight({ name: 'Gone' });
    const source = await dashboard({
      name: 'Source',
      description: 'd',
      pinned: true,
      tags: ['a'],
      filters: { a: 1 },
      tiles: [
        { insight: kept, layouts: { sm: { x: 1, y: 1 } }, color: 'red' },
        { insight: gone },
        { text: { body: 'x' } },
      ],
    });
    await call('PATCH', `/insights/${gone}/`, { deleted: true });
    const copy = await dashboard({ name: 'Copy', use_dashboard: source.id });
    expect(copy).toMatchObject({
      name: 'Copy',
      description: '',
      pinned: false,
      tags: [],
      filters: {},
      creation_mode: 'duplicate',
      use_dashboard: source.id,
      tiles: [
        { insight: { id: kept, name: 'Visitors' }, layouts: { sm: { x: 1, y: 1 } }, color: 'red' },
        { insight: null, text: { body: 'x' } },
      ],
    });
    const ids = source.tiles.map(({ id }) => id);
    expect(copy.tiles.some(({ id }) => ids.includes(id))).toBe(false);
    await changed(copy.id, { tiles: [{ id: copy.tiles[1]?.id, text: { body: 'y' } }] });
    expect((await call('GET', `/dashboards/${source.id}/`)).body).toMatchObject({
      tiles: [expect.anything(), { text: { body: 'x' } }],
    });
  });

  test('gives copies names that can be sent again, however long those of its insights are', async () => {
    const { dashboard, insight, call } = await dashboards();
    const { id: long } = await insight({ name: '\u{1f600}'.repeat(400) });
    const { id: unnamed } = await insight({ name: '' });
    const source = await dashboard({ tiles: [{ insight: long }, { insight: unnamed }] });
    const copy = await dashboard({ use_dashboard: source.id, duplicate_tiles: true });
    expect(copy.tiles).toMatchObject([
      { insight: { name: `${'\u{1f600}'.repeat(393)} (Copy)` } },
      { insight: { name: '' } },
    ]);
    for (const { insight: made } of copy.tiles) {
      const sent = await call('PATCH', `/insights/${made?.id}/`, { name: made?.['name'] });
      expect(sent).toMatchObject({ status: 200, body: { name: made?.['name'] } });
    }
  });

  test('gives copies of its insights when asked for', async () => {
    const { dashboard, insight, call } = await dashboards();
    const { id } = await insight({ name: 'Visitors', query: { kind: 'TrendsQuery' } });
    const { id: unnamed } = await insight({ name: null });
    const source = await dashboard({ tiles: [{ insight: id }, { insight: unnamed }] });
    const copy = await dashboard({ use_dashboard: source.id, duplicate_tiles: true });
    expect(copy.tiles).toMatchObject([
      { insight: { name: 'Visitors (Copy)', query: { kind: 'TrendsQuery' } } },
      { insight: { name: null } },
    ]);
    const [first] = copy.tiles;
    expect(first?.insight?.id).not.toBe(id);
    expect((await call('GET', `/insights/${first?.insight?.id}/`)).body).toMatchObject({ dashboards: [copy.id] });
  });

  test('of 500 tiles is copied as a whole, with its insights', async () => {
    const { dashboard, call, found } = await dashboards();
    const tiles = Array.from({ length: 500 }, (_, at) =>
      at % 2 === 0 ? { type: 'INSIGHT', query: { a: 1 } } : { type: 'TEXT', body: `${at}` },
    );
    const template = { template_name: 'x', dashboard_description: '', dashboard_filters: {}, tiles };
    const { body } = await call('POST', '/dashboards/create_from_template_json/', { template });
    const source = await found(body?.['id'] as number);
    const copy = await dashboard({ use_dashboard: source.id, duplicate_tiles: true });
    const read = await found(copy.id);
    expect(read.tiles).toHaveLength(500);
    const insights = [...source.tiles, ...read.tiles].flatMap((tile) => tile.insight?.id ?? []);
    expect(new Set(insights).size).toBe(500);
  });

  test('that is deleted, hidden or in another project is not to be had', async () => {
    const { dashboard, changed, call, context, service } = await dashboards();
    const refusal = bad('Invalid value provided', 'use_dashboard');
    const deleted = await dashboard();
    await changed(deleted.id, { deleted: true });
    expect(told(await call('POST', '/dashboards/', { use_dashboard: deleted.id }))).toEqual(refusal);

    const { project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
    const path = `/api/projects/${project.id}/dashboards/`;
    const { body: other } = await service.call('POST', path, { body: { name: 'Other' } });
    expect(told(await call('POST', '/dashboards/', { use_dashboard: other?.['id'] }))).toEqual(refusal);

    const hidden = await dashboard();
    await context.table.write([
      { change: keys.dashboard(service.project.id, hidden.id), set: { 'rule:everyone': 'none' } },
    ]);
    const key = await service.newKey(await service.newUser(LEVELS.member));
    expect(told(await call('POST', '/dashboards/', { use_dashboard: hidden.id }, { key }))).toEqual(refusal);
    expect(told(await call('POST', '/dashboards/', { use_dashboard: hidden.id }))).toMatchObject({ status: 201 });
  });
});

test("an insight of another project, or a deleted one, is no tile's", async () => {
  const { insight, call, context, service } = await dashboards();
  const { project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
  const path = `/api/projects/${project.id}/insights/`;
  const { body: other } = await service.call('POST', path, { body: { name: 'Other' } });
  const deleted = await insight({ name: 'Gone', deleted: true });
  for (const id of [other?.['id'] as number, deleted.id]) {
    const expected = bad(`Invalid pk "${id}" - object does not exist.`, 'tiles', 'does_not_exist');
    expect(told(await call('POST', '/dashboards/', { tiles: [{ insight: id }] }))).toEqual(expected);
  }
});

test('a dashboard may be made deleted: it is told once and then gone until it is brought back', async () => {
  const { dashboard, call, changed } = await dashboards();
  const made = await dashboard({ name: 'Ghost', deleted: true, tiles: [{ text: { body: 'x' } }] });
  expect(made).toMatchObject({ deleted: true, tiles: [] });
  expect((await call('GET', `/dashboards/${made.id}/`)).status).toBe(404);
  expect((await call('GET', '/dashboards/')).body).toMatchObject({ count: 0 });
  expect(await changed(made.id, { deleted: false })).toMatchObject({
    deleted: false,
    tiles: [{ text: { body: 'x' } }],
  });
});

test('any member may make one, and restrict it', async () => {
  const { dashboard, service } = await dashboards();
  const key = await service.newKey(await service.newUser(LEVELS.member));
  expect(await dashboard({ restriction_level: 37 }, { key })).toMatchObject({
    restriction_level: 37,
    effective_restriction_level: 37,
    effective_privilege_level: 37,
    user_access_level: 'manager',
  });
});

test('a dashboard without tiles is three round trips: the caller, its number, one write', async () => {
  const { table, dashboard } = await dashboards();
  await dashboard();
  table.counted();
  await dashboard();
  expect(table.counted()).toBe(3);
});

test('of two with one Idempotency-Key at once one is made, with its 200 tiles', async () => {
  const { call } = await dashboards();
  const tiles = Array.from({ length: 200 }, () => ({ text: { body: 'x' } }));
  const headers = { 'Idempotency-Key': 'twin' };
  const replies = await Promise.all([1, 2].map(() => call('POST', '/dashboards/', { tiles }, { headers })));
  expect(replies.map(({ status }) => status)).toEqual([201, 201]);
  expect(replies[0]?.body).toEqual(replies[1]?.body);
  expect((await call('GET', '/dashboards/')).body).toMatchObject({ count: 1 });
});

test('the guide names every template', () => {
  const guide = readFileSync(join(ROOT, 'docs/dashboards.md'), 'utf8');
  expect([...TEMPLATES.keys()].filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
});
