import { ruleField } from '../../../lib/dashboards/access-controls/model.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { bad, type DashboardJson, type Dashboards, dashboards, told } from '../../support/dashboards.ts';

async function names({ call }: Dashboards, query = '', options = {}): Promise<string[]> {
  const { status, body } = await call('GET', `/dashboards/${query}`, undefined, options);
  expect(status).toBe(200);
  const results = (body?.['results'] ?? []) as DashboardJson[];
  expect(body?.['count']).toBe(results.length);
  return results.map(({ name }) => name);
}

test('a list shows the fields of the document, in its order, and no tiles', async () => {
  const { dashboard, call } = await dashboards();
  const { use_template, use_dashboard, delete_insights, filters, variables, tiles, ...shown } = await dashboard({
    tags: ['a'],
    tiles: [{ text: { body: 'x' } }],
  });
  const { body } = await call('GET', '/dashboards/');
  expect(body).toEqual({ count: 1, next: null, previous: null, results: [shown] });
  const [result] = (body?.['results'] ?? []) as object[];
  expect(Object.keys(result ?? {}).join(' ')).toBe(
    'id name description pinned created_at created_by is_shared deleted creation_mode tags restriction_level ' +
      'effective_restriction_level effective_privilege_level user_access_level',
  );
  expect([use_template, use_dashboard, delete_insights, filters, variables, tiles]).toHaveLength(6);
});

test('pinned ones come first, then names by the code points of their lower case, then numbers', async () => {
  const world = await dashboards();
  const all = ['b', 'A', 'ab!', 'ab', '', 'Ä', '😀', '\uffee', 'ab#', 'a\nb', 'a'];
  for (const name of all) await world.dashboard({ name });
  await world.dashboard({ name: 'z', pinned: true });
  const expected = ['z', '', 'A', 'a', 'a\nb', 'ab', 'ab!', 'ab#', 'b', 'Ä', '\uffee', '😀'];
  expect(await names(world)).toEqual(expected);
});

test('those that are deleted are listed when they are asked for, the last one first, until they are brought back', async () => {
  const world = await dashboards();
  const ids: number[] = [];
  for (const name of ['kept', 'first', 'second']) {
    const { id } = await world.dashboard({ name });
    ids.push(id);
    world.context.clock.advance(1_000);
    if (name !== 'kept') await world.call('PATCH', `/dashboards/${id}/`, { deleted: true });
  }
  expect(await names(world, '?deleted=true')).toEqual(['second', 'first']);
  expect(await names(world, '?deleted=true&search=fir')).toEqual(['first']);
  expect(await names(world, '?deleted=false')).toEqual(['kept']);
  await world.call('PATCH', `/dashboards/${ids[1]}/`, { deleted: false });
  expect(await names(world, '?deleted=true')).toEqual(['second']);
  expect(await names(world)).toEqual(['first', 'kept']);
});

describe('asked for', () => {
  async function three(): Promise<Dashboards & { readonly uuid: string }> {
    const world = await dashboards();
    const user = await world.service.newUser(LEVELS.member);
    await world.dashboard({ name: 'Sales', description: 'Of the week', tags: ['money', 'eu'], pinned: true });
    world.context.clock.advance(1_000);
    await world.dashboard(
      { name: 'errors', tags: ['ops'], use_template: 'DEFAULT_APP' },
      { key: await world.service.newKey(user) },
    );
    world.context.clock.advance(1_000);
    await world.dashboard({ name: 'Costs', tags: ['money'] });
    return { ...world, uuid: user.uuid };
  }

  test.each([
    ['?search=SAL', ['Sales']],
    ['?search=of the WEEK', ['Sales']],
    ['?search=', ['Sales', 'Costs', 'errors']],
    ['?search=nothing', []],
    ['?search=%25', []],
    ['?tags=money', ['Sales', 'Costs']],
    ['?tags=eu&tags=ghost', ['Sales']],
    ['?tags=MONEY', ['Sales', 'Costs']],
    ['?tags=mon', []],
    ['?creation_mode=default', ['Sales', 'Costs']],
    ['?creation_mode=template', ['errors']],
    ['?creation_mode=duplicate', []],
    ['?pinned=true', ['Sales']],
    ['?pinned=0', ['Costs', 'errors']],
    ['?ordering=name', ['Costs', 'errors', 'Sales']],
    ['?ordering=-name', ['Sales', 'errors', 'Costs']],
    ['?ordering=created_at', ['Sales', 'errors', 'Costs']],
    ['?ordering=-created_at', ['Costs', 'errors', 'Sales']],
    ['?ordering=pinned', ['Costs', 'errors', 'Sales']],
    ['?ordering=-pinned', ['Sales', 'Costs', 'errors']],
    ['?tags=money&ordering=-created_at&search=s', ['Costs', 'Sales']],
  ])('%s', async (query, expected) => {
    expect(await names(await three(), query)).toEqual(expected);
  });

  test('by creator', async () => {
    const world = await three();
    expect(await names(world, `?created_by=${world.uuid}`)).toEqual(['errors']);
    expect(await names(world, `?created_by=${world.service.owner.uuid.toUpperCase()}`)).toEqual(['Sales', 'Costs']);
  });

  test.each([
    [
      '?ordering=id',
      bad(
        '"id" is not a valid choice. Choose one of: name, -name, created_at, -created_at, pinned, -pinned.',
        'ordering',
        'invalid_choice',
      ),
    ],
    [
      '?ordering=',
      bad(
        '"" is not a valid choice. Choose one of: name, -name, created_at, -created_at, pinned, -pinned.',
        'ordering',
        'invalid_choice',
      ),
    ],
    [
      '?creation_mode=x',
      bad('"x" is not a valid choice. Choose one of: default, template, duplicate.', 'creation_mode', 'invalid_choice'),
    ],
    ['?pinned=maybe', bad('Must be a valid boolean.', 'pinned')],
    ['?created_by=me', bad('Must be a valid UUID.', 'created_by')],
  ])('%s is refused', async (query, expected) => {
    const { call } = await dashboards();
    expect(told(await call('GET', `/dashboards/${query}`))).toEqual(expected);
  });

  test('pages of what is found are cut and linked like others', async () => {
    const world = await three();
    const { body } = await world.call('GET', '/dashboards/?tags=money&limit=1');
    expect(body).toMatchObject({ count: 2, results: [{ name: 'Sales' }], previous: null });
    const next = new URL(String(body?.['next']));
    expect(next.searchParams.get('tags')).toBe('money');
    const second = await world.service.call('GET', `${next.pathname}${next.search}`);
    expect(second.body).toMatchObject({ count: 2, results: [{ name: 'Costs' }], next: null });
  });
});

describe('where a rule hides some', () => {
  async function hidden(): Promise<Dashboards & { readonly key: string; readonly admin: string }> {
    const world = await dashboards();
    const { service, context } = world;
    const member = await service.newUser(LEVELS.member);
    const key = await service.newKey(member);
    const made = [];
    for (const name of ['a', 'b', 'c', 'd']) made.push(await world.dashboard({ name }));
    await world.dashboard({ name: 'own' }, { key });
    const [a, , c] = made.map(({ id }) => keys.dashboard(service.project.id, id));
    await context.table.write([
      { change: keys.project(service.project.id), set: { hides_dashboards: true } },
      { change: a ?? c ?? keys.project(0), set: { [ruleField('everyone')]: 'none' } },
      { change: c ?? keys.project(0), set: { [ruleField(member.uuid)]: 'none' } },
      { change: keys.dashboard(service.project.id, 5), set: { [ruleField('everyone')]: 'none' } },
    ]);
    return { ...world, key, admin: await service.newKey(await service.newUser(LEVELS.admin)) };
  }

  test('they are neither listed nor counted, on any page, asked for or not', async () => {
    const world = await hidden();
    const { key, admin, call } = world;
    expect(await names(world, '', { key })).toEqual(['b', 'd', 'own']);
    expect(await names(world, '?search=a', { key })).toEqual([]);
    expect(await names(world, '', { key: admin })).toEqual(['a', 'b', 'c', 'd', 'own']);
    const page = await call('GET', '/dashboards/?limit=1&offset=1', undefined, { key });
    expect(page.body).toMatchObject({ count: 3, results: [{ name: 'd' }], previous: expect.anything() });
  });
});

test('the privilege of each is the caller’s own', async () => {
  const { dashboard, call, service } = await dashboards();
  await dashboard({ name: 'open' });
  await dashboard({ name: 'restricted', restriction_level: 37 });
  const key = await service.newKey(await service.newUser(LEVELS.member));
  expect((await call('GET', '/dashboards/', undefined, { key })).body?.['results']).toMatchObject([
    { name: 'open', effective_restriction_level: 21, effective_privilege_level: 37, user_access_level: 'editor' },
    { name: 'restricted', effective_restriction_level: 37, effective_privilege_level: 21, user_access_level: 'editor' },
  ]);
});

test('a page is one round trip, following `next` too; one of what is searched for is one more', async () => {
  const { dashboard, call, table, service } = await dashboards();
  for (const name of ['a', 'b', 'c']) await dashboard({ name });
  await call('GET', '/dashboards/');
  table.counted();
  const { body } = await call('GET', '/dashboards/?limit=2');
  expect(table.counted()).toBe(1);
  await call('GET', '/dashboards/?search=a');
  expect(table.counted()).toBe(2);
  const next = new URL(String(body?.['next']));
  expect((await service.call('GET', `${next.pathname}${next.search}`)).body).toMatchObject({
    results: [{ name: 'c' }],
  });
  expect(table.counted()).toBe(1);
});
