import { EVERYONE, ruleField } from '../../../lib/dashboards/access-controls/model.ts';
import { collaboratorField } from '../../../lib/dashboards/collaborators/model.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import type { Op } from '../../../lib/ports/table/table.ts';
import { bad, type DashboardJson, dashboards, denied, NOT_FOUND, told } from '../../support/dashboards.ts';

test('fields that are sent change, the others stay; what is read-only is passed over', async () => {
  const { dashboard, changed, found } = await dashboards();
  const made = await dashboard({
    name: 'Weekly',
    description: 'd',
    tags: ['a'],
    filters: { a: 1 },
    variables: { v: 1 },
  });
  const after = await changed(made.id, {
    name: 'Monthly',
    pinned: true,
    tags: ['B', 'b '],
    filters: { b: 2 },
    delete_insights: true,
    creation_mode: 'template',
    created_by: null,
    is_shared: true,
    id: 9,
    use_template: 'DEFAULT_APP',
    use_dashboard: 1,
  });
  expect(after).toEqual({
    ...made,
    name: 'Monthly',
    pinned: true,
    tags: ['b'],
    filters: { b: 2 },
    delete_insights: true,
  });
  expect(await found(made.id)).toEqual(after);
  expect(await changed(made.id, { tags: [], name: null })).toMatchObject({ tags: [], name: '', description: 'd' });
});

test('filters are replaced as a whole; null and {} are passed over, as with PostHog', async () => {
  const { dashboard, changed, call } = await dashboards();
  const { id } = await dashboard({ filters: { a: 1, b: 2 } });
  expect(await changed(id, { filters: { c: 3 } })).toMatchObject({ filters: { c: 3 } });
  expect((await changed(id, { filters: { c: 3 } })).filters).toEqual({ c: 3 });
  expect((await changed(id, { filters: {} })).filters).toEqual({ c: 3 });
  expect((await changed(id, { filters: null })).filters).toEqual({ c: 3 });
  expect(told(await call('PATCH', `/dashboards/${id}/`, { name: 'X', filters: [] }))).toEqual(
    bad('Filters must be a dictionary'),
  );
  expect(told(await call('PATCH', `/dashboards/${id}/`, { filters: { date_to: ['-1d'] } }))).toEqual(
    bad('Not a valid string.', 'filters__date_to'),
  );
  expect((await call('GET', `/dashboards/${id}/`)).body).toMatchObject({
    name: '',
    filters: { c: 3 },
  });
});

test('its place in the list follows its name and its pin', async () => {
  const { dashboard, changed, call } = await dashboards();
  const [a, b, c] = [await dashboard({ name: 'a' }), await dashboard({ name: 'B' }), await dashboard({ name: 'c' })];
  const names = async () =>
    (((await call('GET', '/dashboards/')).body?.['results'] ?? []) as { name: string }[]).map((one) => one.name);
  expect(await names()).toEqual(['a', 'B', 'c']);
  await changed(c.id, { pinned: true });
  await changed(a.id, { name: 'Zed' });
  expect(await names()).toEqual(['c', 'B', 'Zed']);
  await changed(b.id, { deleted: true });
  expect(await names()).toEqual(['c', 'Zed']);
  await changed(b.id, { deleted: false, name: 'AA', pinned: true });
  expect(await names()).toEqual(['AA', 'c', 'Zed']);
});

describe('a deleted dashboard', () => {
  test('is gone from reads until `deleted: false` brings it back with its tiles', async () => {
    const { dashboard, changed, call, insight } = await dashboards();
    const { id: insightId } = await insight();
    const made = await dashboard({ tiles: [{ text: { body: 'x' } }, { insight: insightId }] });
    expect(await changed(made.id, { deleted: true })).toEqual({ ...made, deleted: true, tiles: [] });
    expect(told(await call('GET', `/dashboards/${made.id}/`))).toEqual(NOT_FOUND);
    expect(told(await call('PATCH', `/dashboards/${made.id}/`, { name: 'x' }))).toEqual(NOT_FOUND);
    expect(told(await call('PATCH', `/dashboards/${made.id}/`, { deleted: true }))).toEqual(NOT_FOUND);
    expect((await call('GET', `/insights/${insightId}/`)).body).toMatchObject({ dashboards: [] });
    expect(await changed(made.id, { deleted: false })).toEqual(made);
    expect((await call('GET', `/insights/${insightId}/`)).body).toMatchObject({ dashboards: [made.id] });
  });

  test('takes the insights with it that no other dashboard shows, and brings back those', async () => {
    const { dashboard, changed, call, insight } = await dashboards();
    const [own, shared, gone] = [await insight(), await insight(), await insight()];
    const tiles = [{ insight: own.id }, { insight: shared.id }, { insight: gone.id }];
    const { id } = await dashboard({ tiles });
    const other = await dashboard({ tiles: [{ insight: shared.id }] });
    const dead = await dashboard({ tiles: [{ insight: own.id }] });
    await changed(dead.id, { deleted: true });
    await call('PATCH', `/insights/${gone.id}/`, { deleted: true });
    await changed(id, { deleted: true, delete_insights: true });
    const statuses = async () =>
      Promise.all([own, shared, gone].map(async (one) => (await call('GET', `/insights/${one.id}/`)).status));
    expect(await statuses()).toEqual([404, 200, 404]);
    expect((await call('GET', `/dashboards/${other.id}/`)).body).toMatchObject({
      tiles: [{ insight: { id: shared.id } }],
    });
    const back = await changed(id, { deleted: false });
    expect(back.tiles.map(({ insight: one }) => one?.id)).toEqual([own.id, shared.id]);
    expect(await statuses()).toEqual([200, 200, 404]);
  });

  test('with 500 insights takes and brings back all of them', async () => {
    const { dashboard, changed, call } = await dashboards();
    const template = { template_name: 'x', dashboard_description: '', dashboard_filters: {} };
    const tiles = Array.from({ length: 500 }, () => ({ type: 'INSIGHT', query: { a: 1 } }));
    const { body } = await call('POST', '/dashboards/create_from_template_json/', { template: { ...template, tiles } });
    const id = body?.['id'] as number;
    const count = async () => (await call('GET', '/insights/?limit=1')).body?.['count'];
    expect(await count()).toBe(500);
    await changed(id, { deleted: true, delete_insights: true });
    expect(await count()).toBe(0);
    expect((await changed(id, { deleted: false })).tiles).toHaveLength(500);
    expect(await count()).toBe(500);
    expect((await dashboard()).id).toBe(id + 1);
  });

  /** A dashboard with 200 insights, more than two transactions, and how many insights are listed. */
  async function withManyInsights() {
    const world = await dashboards();
    const template = { template_name: 'x', dashboard_description: '', dashboard_filters: {} };
    const tiles = Array.from({ length: 200 }, () => ({ type: 'INSIGHT', query: { a: 1 } }));
    const made = await world.call('POST', '/dashboards/create_from_template_json/', {
      template: { ...template, tiles },
    });
    const count = async () => (await world.call('GET', '/insights/?limit=1')).body?.['count'];
    return { ...world, made: made.body as DashboardJson, count };
  }

  /** How many insights a write deletes or brings back. */
  const insightsIn = (ops: readonly Op[]) =>
    ops.filter((op) => 'change' in op && op.set !== undefined && 'deleted_with' in op.set).length;

  test.each([1, 2, 3])('goes with all of its insights when another deletes one before the %i. write', async (nth) => {
    const { table, call, changed, made, count } = await withManyInsights();
    const write = table.write.bind(table);
    let writes = 0;
    const changedInsight = (id: number) => call('PATCH', `/insights/${id}/`, { deleted: true });
    table.write = async (ops, options) => {
      if (insightsIn(ops) > 1) writes += 1;
      if (insightsIn(ops) > 1 && writes === nth) {
        const { id = 0 } = made.tiles.at(-1)?.insight ?? {};
        await changedInsight(id);
      }
      return write(ops, options);
    };
    await changed(made.id, { deleted: true, delete_insights: true });
    expect(await count()).toBe(0);
    expect((await call('GET', `/dashboards/${made.id}/`)).status).toBe(404);
  });

  test.each([1, 2, 3, 4])(
    'that is cut off at the %i. write is deleted, and brought back, by who repeats it',
    async (nth) => {
      const { table, call, changed, made, count } = await withManyInsights();
      const write = table.write.bind(table);
      const cutOff = async (body: object) => {
        let writes = 0;
        table.write = (ops, options) => {
          if (ops.length > 1) writes += 1;
          return writes >= nth ? Promise.reject(new Error('the process dies here')) : write(ops, options);
        };
        expect((await call('PATCH', `/dashboards/${made.id}/`, body)).status).toBe(500);
        table.write = write;
        return changed(made.id, body);
      };
      await cutOff({ deleted: true, delete_insights: true });
      expect(await count()).toBe(0);
      expect((await cutOff({ deleted: false })).tiles.filter(({ insight }) => insight !== null)).toHaveLength(200);
      expect(await count()).toBe(200);
    },
  );
});

describe('tiles', () => {
  test('are added, changed and taken away; what is not named stays', async () => {
    const { dashboard, changed, found, insight, context, service } = await dashboards();
    const { id: insightId } = await insight({ name: 'Visitors' });
    const made = await dashboard({
      tiles: [{ text: { body: 'one' } }, { text: { body: 'two' }, color: 'red' }, { insight: insightId }],
    });
    const [one, two, three] = made.tiles.map(({ id }) => id);
    context.clock.advance(60_000);
    const key = await service.newKey(await service.newUser(LEVELS.member));
    const after = await changed(
      made.id,
      {
        tiles: [
          { id: one, text: { id: one, body: 'ONE' } },
          { id: two, deleted: true },
          {
            id: three,
            color: 'blue',
            layouts: { sm: { x: 0, y: 0 } },
            insight: { id: 999, name: 'Mine' },
            is_cached: true,
          },
          { text: { body: 'new' } },
        ],
      },
      { key },
    );
    expect(after.tiles).toMatchObject([
      {
        id: three,
        color: 'blue',
        layouts: { sm: { x: 0, y: 0 } },
        insight: { id: insightId, name: 'Visitors' },
        is_cached: false,
      },
      {
        id: one,
        text: {
          body: 'ONE',
          created_by: { email: 'owner@example.com' },
          last_modified_by: { email: 'user-1@example.com' },
          last_modified_at: '2026-01-01T00:01:00Z',
        },
      },
      { text: { body: 'new', created_by: { email: 'user-1@example.com' } } },
    ]);
    expect(await found(made.id, { key })).toEqual(after);
  });

  test.each([
    [[{ id: 999 }], bad('Invalid pk "999" - object does not exist.', 'tiles__0__id', 'does_not_exist')],
    [
      [
        { id: 1, deleted: true },
        { id: 1, color: 'x' },
      ],
      bad('Invalid pk "1" - object does not exist.', 'tiles__1__id', 'does_not_exist'),
    ],
    [
      [{ id: 1, text: { body: 'x'.repeat(4001) } }],
      bad('Text body cannot exceed 4000 characters', 'tiles__0__text__body', 'max_length'),
    ],
    [[{}], bad('A tile needs a text or an insight.', 'tiles__0', 'required')],
    ['x', bad('Expected a list of items but got type "str".', 'tiles', 'not_a_list')],
    [[1], bad('Invalid data. Expected a dictionary, but got int.', 'tiles__0')],
  ])('case %#: a fault in one changes none, and nothing else', async (tiles, expected) => {
    const { dashboard, call, found } = await dashboards();
    const made = await dashboard({ name: 'Weekly', tiles: [{ text: { body: 'one' } }] });
    expect(told(await call('PATCH', `/dashboards/${made.id}/`, { name: 'x', tiles }))).toEqual(expected);
    expect(await found(made.id)).toEqual(made);
  });

  test('of an insight take no text, which would be nowhere', async () => {
    const { dashboard, call, insight } = await dashboards();
    const made = await dashboard({ tiles: [{ insight: await insight() }] });
    const change = { id: made.tiles[0]?.id, color: 'red', text: null };
    const tiles = [{ ...change, text: { body: 'Hello' } }];
    expect(told(await call('PATCH', `/dashboards/${made.id}/`, { tiles }))).toEqual(
      bad('The tile shows an insight, and has no text. Make another one for it.', 'tiles__0__text'),
    );
    expect((await call('PATCH', `/dashboards/${made.id}/`, { tiles: [change] })).status).toBe(200);
  });

  test('of another dashboard are not reached', async () => {
    const { dashboard, call } = await dashboards();
    const other = await dashboard({ tiles: [{ text: { body: 'theirs' } }] });
    const mine = await dashboard();
    const { id } = other.tiles[0] as { id: number };
    for (const change of [{ color: 'red' }, { deleted: true }, { text: { body: 'mine' } }]) {
      expect(told(await call('PATCH', `/dashboards/${mine.id}/`, { tiles: [{ id, ...change }] }))).toEqual(
        bad(`Invalid pk "${id}" - object does not exist.`, 'tiles__0__id', 'does_not_exist'),
      );
    }
  });

  test('are 500 at most, also when many are added at once', async () => {
    const { dashboard, call, found } = await dashboards();
    const tiles = Array.from({ length: 495 }, () => ({ text: { body: 'x' } }));
    const { id } = await dashboard({ tiles });
    const more = await Promise.all(
      Array.from({ length: 10 }, () => call('PATCH', `/dashboards/${id}/`, { tiles: [{ text: { body: 'y' } }] })),
    );
    expect(more.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(more.filter(({ status }) => status === 400)).toHaveLength(5);
    expect(told(await call('PATCH', `/dashboards/${id}/`, { tiles: [{ text: { body: 'y' } }] }))).toEqual(
      bad('A dashboard may have at most 500 tiles.', 'tiles'),
    );
    const full = await found(id);
    expect(full.tiles).toHaveLength(500);
    const [first] = full.tiles;
    const swap = [{ id: first?.id, deleted: true }, { text: { body: 'z' } }];
    expect((await call('PATCH', `/dashboards/${id}/`, { tiles: swap })).status).toBe(200);
  });

  test.each(['before', 'after'])('that go make room for another of the same insight, named %s it', async (order) => {
    const { dashboard, insight, changed } = await dashboards();
    const { id: shown } = await insight();
    const { id, tiles } = await dashboard({ tiles: [{ insight: shown, color: 'red' }] });
    const swap = [
      { insight: shown, color: 'blue' },
      { id: tiles[0]?.id, deleted: true },
    ];
    const after = await changed(id, { tiles: order === 'after' ? swap : swap.toReversed() });
    expect(after.tiles).toMatchObject([{ insight: { id: shown }, color: 'blue' }]);
  });

  test('500 change in one request', async () => {
    const { dashboard, changed, found } = await dashboards();
    const made = await dashboard({ tiles: Array.from({ length: 500 }, () => ({ text: { body: 'x' } })) });
    const tiles = made.tiles.map(({ id }, at) => ({ id, layouts: { sm: { x: 0, y: 500 - at } } }));
    const after = await changed(made.id, { name: 'Moved', tiles });
    expect(after.tiles.map(({ id }) => id)).toEqual(made.tiles.map(({ id }) => id).toReversed());
    expect(await found(made.id)).toEqual(after);
  });
});

describe('who may', () => {
  test('a restricted dashboard is changed by its creator, admins and collaborators', async () => {
    const { dashboard, call, context, service } = await dashboards();
    const [creator, member, named, admin] = [
      await service.newUser(LEVELS.member),
      await service.newUser(LEVELS.member),
      await service.newUser(LEVELS.member),
      await service.newUser(LEVELS.admin),
    ];
    const { id } = await dashboard({ restriction_level: 37 }, { key: await service.newKey(creator) });
    await context.table.write([
      { change: keys.dashboard(service.project.id, id), set: { [collaboratorField(named.uuid)]: 37 } },
    ]);
    const patch = async (user: typeof member, body: unknown) =>
      told(await call('PATCH', `/dashboards/${id}/`, body, { key: await service.newKey(user) }));
    for (const user of [creator, named, admin]) expect(await patch(user, { name: 'x' })).toMatchObject({ status: 200 });
    const refusal = denied("You don't have edit permissions for this dashboard.");
    for (const body of [{ name: 'x' }, {}, '{', { deleted: true }]) expect(await patch(member, body)).toEqual(refusal);

    const rights = denied(
      "Only the dashboard owner and project admins have the restriction rights required to change the dashboard's " +
        'restriction level.',
    );
    expect(await patch(named, { name: 'y', restriction_level: 37 })).toEqual(rights);
    expect(await patch(creator, { restriction_level: 21 })).toMatchObject({
      status: 200,
      body: { restriction_level: 21 },
    });
    expect(await patch(member, { name: 'z' })).toMatchObject({ status: 200 });
    expect(await patch(member, { restriction_level: 21 })).toEqual(rights);
    expect(await patch(admin, { restriction_level: 37 })).toMatchObject({
      body: { name: 'z', effective_restriction_level: 37, effective_privilege_level: 37 },
    });
  });

  test('a rule makes a member a viewer, or closes the dashboard to them', async () => {
    const { dashboard, call, context, service } = await dashboards();
    const { id } = await dashboard();
    const key = await service.newKey(await service.newUser(LEVELS.member));
    const rule = (level: string) =>
      context.table.write([{ change: keys.dashboard(service.project.id, id), set: { [ruleField(EVERYONE)]: level } }]);
    await rule('viewer');
    expect((await call('GET', `/dashboards/${id}/`, undefined, { key })).body).toMatchObject({
      user_access_level: 'viewer',
    });
    expect(told(await call('PATCH', `/dashboards/${id}/`, { name: 'x' }, { key }))).toEqual(
      denied('You do not have editor access to this resource.'),
    );
    await rule('none');
    const closed = denied('You do not have viewer access to this resource.');
    expect(told(await call('GET', `/dashboards/${id}/`, undefined, { key }))).toEqual(closed);
    expect(told(await call('PATCH', `/dashboards/${id}/`, { name: 'x' }, { key }))).toEqual(closed);
  });
});

describe('versions', () => {
  test('count every change, of fields, filters and tiles', async () => {
    const { dashboard, call } = await dashboards();
    const { id } = await dashboard();
    const tagOf = async (body: object) => (await call('PATCH', `/dashboards/${id}/`, body)).headers.get('etag');
    expect(await tagOf({ name: 'x' })).toBe('"2"');
    expect(await tagOf({ filters: { a: 1 } })).toBe('"3"');
    expect(await tagOf({ tiles: [{ text: { body: 'x' } }] })).toBe('"4"');
    const { headers } = await call('GET', `/dashboards/${id}/`);
    expect(headers.get('etag')).toBe('"4"');
  });

  test('of changes that name the same version one is made, whatever they change', async () => {
    const { dashboard, call } = await dashboards();
    const { id } = await dashboard();
    const headers = { 'If-Match': '"1"' };
    const bodies = [{ name: 'x' }, { filters: { a: 1 } }, { tiles: [{ text: { body: 'x' } }] }, { deleted: true }];
    const replies = await Promise.all(bodies.map((body) => call('PATCH', `/dashboards/${id}/`, body, { headers })));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 412 || status === 404)).toHaveLength(3);
  });
});

test.each([
  ['fields', { name: 'x' }, 2],
  ['filters', { filters: { a: 1 } }, 2],
  ['a tile', { tiles: [{ id: 1, color: 'red' }] }, 2],
])('a change of %s is two round trips: the caller beside the dashboard, one write', async (_, body, trips) => {
  const { dashboard, changed, table } = await dashboards();
  const { id } = await dashboard({ tiles: [{ text: { body: 'x' } }] });
  await changed(id, {});
  table.counted();
  await changed(id, body);
  expect(table.counted()).toBe(trips);
});

test('where it shows insights it is one more', async () => {
  const { dashboard, changed, insight, table } = await dashboards();
  const { id } = await dashboard({ tiles: [{ insight: (await insight()).id }] });
  await changed(id, {});
  table.counted();
  await changed(id, { name: 'x' });
  expect(table.counted()).toBe(3);
});

test('tiles are copied on their dashboard, with their insights, to the place that is sent', async () => {
  const { dashboard, insight, changed, found, call } = await dashboards();
  const { id } = await insight({ name: 'Visitors', tags: ['web'], query: { kind: 'TrendsQuery' } });
  const sm = { x: 0, y: 0, w: 6, h: 5 };
  const made = await dashboard({
    tiles: [
      { insight: id, layouts: { sm }, color: 'blue' },
      { text: { body: 'Hello' }, layouts: { sm: { ...sm, y: 5 } } },
    ],
  });
  const [first, second] = made.tiles;
  // A client sends the whole tile.
  const duplicate_tiles = [{ ...first, layouts: { sm: { ...sm, x: 6 } } }, { id: second?.id }];
  const after = await changed(made.id, { duplicate_tiles });
  expect(after.tiles.map((tile) => tile.id)).toContain(first?.id);
  expect(after.tiles).toMatchObject([
    { insight: { id }, layouts: { sm } },
    {
      insight: { name: 'Visitors (Copy)', tags: ['web'], query: { kind: 'TrendsQuery' } },
      layouts: { sm: { ...sm, x: 6 } },
      color: 'blue',
    },
    { text: { body: 'Hello' }, layouts: { sm: { ...sm, y: 5 } } },
    { text: { body: 'Hello' }, layouts: {} },
  ]);
  const copy = after.tiles[1]?.insight?.id;
  expect(copy).not.toBe(id);
  expect((await call('GET', `/insights/${copy}/`)).body).toMatchObject({ dashboards: [made.id] });
  expect(await found(made.id)).toEqual(after);
  expect(told(await call('PATCH', `/dashboards/${made.id}/`, { duplicate_tiles: [{ id: 999 }] }))).toMatchObject({
    status: 400,
    body: { code: 'does_not_exist', attr: 'duplicate_tiles__0__id' },
  });
});

test('copies of tiles count like all others, and none is made beyond 500', async () => {
  const { changed, found, call } = await dashboards();
  const template = { template_name: 'x', dashboard_description: '', dashboard_filters: {} };
  const insights = Array.from({ length: 300 }, () => ({ type: 'INSIGHT', query: { a: 1 } }));
  const { body } = await call('POST', '/dashboards/create_from_template_json/', {
    template: { ...template, tiles: insights },
  });
  const made = body as DashboardJson;
  const tiles = made.tiles.map((tile) => ({ id: tile.id }));
  await changed(made.id, { duplicate_tiles: tiles.slice(0, 200) });
  expect(new Set((await found(made.id)).tiles.map((tile) => tile.insight?.id)).size).toBe(500);
  expect(told(await call('PATCH', `/dashboards/${made.id}/`, { duplicate_tiles: tiles.slice(0, 1) }))).toEqual(
    bad('A dashboard may have at most 500 tiles.', 'tiles'),
  );
  await changed(made.id, { tiles: [{ id: made.tiles[0]?.id, deleted: true }] });
  await changed(made.id, { duplicate_tiles: tiles.slice(1, 2) });
  expect((await found(made.id)).tiles).toHaveLength(500);
});

test('what a declared layout sends is read back as it was written, and sent again changes nothing', async () => {
  const { dashboard, insight, changed, found, call } = await dashboards();
  const made = await dashboard({ name: 'Declared' });
  const { id } = await insight({ name: 'Visitors', dashboards: [made.id] });
  const place = (x: number) => ({ h: 5, i: '4386313', w: 4, x, y: 0, minH: 1, minW: 1, moved: false, static: false });
  const layouts = { sm: place(0), xs: { x: 0, y: 0, w: 1, h: 5.5 } };
  const tile = (await found(made.id)).tiles[0]?.id;
  const body = { text: { body: '# Hello\n' }, color: '', layouts: { sm: place(4) } };
  const first = await changed(made.id, { tiles: [{ id: tile, layouts, color: 'white' }, body] });
  expect(first.tiles).toMatchObject([
    { id: tile, insight: { id }, layouts, color: 'white' },
    { text: { body: '# Hello\n' }, layouts: { sm: place(4) }, color: '' },
  ]);
  expect(first.tiles.map((one) => one.layouts)).toEqual([layouts, { sm: place(4) }]);
  const again = [
    { id: tile, layouts, color: 'white' },
    { id: first.tiles[1]?.id, ...body },
  ];
  const second = await changed(made.id, { tiles: again });
  const declared = ({ tiles }: typeof first) =>
    tiles.map((one) => ({ id: one.id, layouts: one.layouts, color: one.color, body: one.text?.body }));
  expect(declared(second)).toEqual(declared(first));
  // What is destroyed: text tiles go, insights lose their place and stay.
  const gone = [
    { id: tile, layouts: {} },
    { id: first.tiles[1]?.id, deleted: true },
  ];
  expect((await changed(made.id, { tiles: gone })).tiles).toMatchObject([{ id: tile, layouts: {} }]);
  expect((await call('GET', `/insights/${id}/`)).body).toMatchObject({ dashboards: [made.id], deleted: false });
});

test('an insight that is sent again changes its tile, and of two new ones the last stays', async () => {
  const world = await dashboards();
  const { id: insight } = await world.insight();
  const { id, tiles } = await world.dashboard({ tiles: [{ insight, color: 'blue' }] });
  const layouts = { sm: { x: 1, y: 1 } };
  const { tiles: placed } = await world.changed(id, { tiles: [{ insight: { id: insight }, layouts }] });
  expect(placed).toMatchObject([{ id: tiles[0]?.id, color: 'blue', layouts }]);
  expect(placed).toHaveLength(1);
  const anew = [{ id: tiles[0]?.id, deleted: true }, { insight }, { insight, color: 'green' }];
  expect((await world.changed(id, { tiles: anew })).tiles).toMatchObject([{ color: 'green' }]);
  expect((await world.found(id)).tiles).toHaveLength(1);
});
