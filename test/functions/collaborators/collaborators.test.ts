import { LEVELS } from '../../../lib/http/levels.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { bad, dashboards, denied, NOT_FOUND, told } from '../../support/dashboards.ts';

const UNKNOWN = '019a0000-0000-7000-8000-00000000ffff';
const NO_EDIT = denied("You don't have edit permissions for this dashboard.");
const GONE = { ...NOT_FOUND, body: { ...NOT_FOUND.body, detail: 'Dashboard not found.' } };

async function world() {
  const made = await dashboards();
  const { id } = await made.dashboard();
  const path = `/dashboards/${id}/collaborators/`;
  const add = (user_uuid: unknown, level: unknown = 37, options = {}) =>
    made.call('POST', path, { level, user_uuid }, options);
  return {
    ...made,
    id,
    add,
    list: (options = {}) => made.call('GET', path, undefined, options),
    remove: (uuid: string, options = {}) => made.call('DELETE', `${path}${uuid}/`, undefined, options),
    edit: (options = {}) => made.call('PATCH', `/dashboards/${id}/`, { description: 'x' }, options),
  };
}

test('whoever is added is in the list, a plain array in the order of adding', async () => {
  const { id, context, service, add, list, table } = await world();
  const users = [await service.newUser(LEVELS.member), await service.newUser(LEVELS.admin)];
  expect(told(await list())).toEqual({ status: 200, body: [] });
  context.clock.advance(1_000);
  const first = await add(users[0]?.uuid);
  expect(told(first)).toEqual({
    status: 201,
    body: {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      dashboard_id: id,
      user: {
        id: users[0]?.id,
        uuid: users[0]?.uuid,
        distinct_id: users[0]?.distinct_id,
        first_name: '',
        last_name: '',
        email: users[0]?.email,
        is_email_verified: false,
        hedgehog_config: {},
        role_at_organization: '',
      },
      level: 37,
      added_at: '2026-01-01T00:00:01Z',
      updated_at: '2026-01-01T00:00:01Z',
      user_uuid: users[0]?.uuid,
    },
  });
  context.clock.advance(1_000);
  table.counted();
  const second = await add(users[1]?.uuid, '21');
  expect(table.counted()).toBe(3);
  expect(second).toMatchObject({ status: 201, body: { level: 21 } });
  table.counted();
  expect(told(await list())).toEqual({ status: 200, body: [first.body, second.body] });
  expect(table.counted()).toBe(2);
});

test('anybody who is a member may be added, the creator and admins too, at any restriction level', async () => {
  const { id, service, add, list, changed } = await world();
  expect((await add(service.owner.uuid)).status).toBe(201);
  await changed(id, { restriction_level: 37 });
  expect((await add((await service.newUser(LEVELS.admin)).uuid, 21)).status).toBe(201);
  expect((await list()).body).toHaveLength(2);
});

test.each([
  [{ user_uuid: UNKNOWN }, bad('This field is required.', 'level', 'required')],
  [{ level: 37 }, bad('This field is required.', 'user_uuid', 'required')],
  [
    { level: 30, user_uuid: UNKNOWN },
    bad('"30" is not a valid choice. Choose one of: 21, 37.', 'level', 'invalid_choice'),
  ],
  [{ level: 37, user_uuid: 'x' }, bad('Must be a valid UUID.', 'user_uuid')],
  [{ level: 37, user_uuid: null }, bad('This field may not be null.', 'user_uuid', 'null')],
  [{ level: 37, user_uuid: UNKNOWN }, bad('User does not exist.')],
])('%j is refused', async (body, refusal) => {
  const { id, call, list } = await world();
  expect(told(await call('POST', `/dashboards/${id}/collaborators/`, body))).toEqual(refusal);
  expect((await list()).body).toEqual([]);
});

test('a stranger cannot be added, nor anybody twice, not even at once', async () => {
  const { service, add, list } = await world();
  const stranger = await service.newUser();
  expect(told(await add(stranger.uuid))).toEqual(bad('Cannot add collaborators that have no access to the project.'));
  const { uuid } = await service.newUser(LEVELS.member);
  const twice = bad('User already is a collaborator.');
  const replies = await Promise.all([add(uuid), add(uuid), add(uuid.toUpperCase())]);
  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 400, 400]);
  expect(told(replies.find(({ status }) => status === 400) ?? replies[0])).toEqual(twice);
  expect(told(await add(uuid, 21))).toEqual(twice);
  expect((await list()).body).toHaveLength(1);
});

test('on a restricted dashboard only those at level 37 edit, add and remove; all may look', async () => {
  const { id, service, add, list, remove, edit, changed } = await world();
  const [editor, viewer, other] = [
    await service.newUser(LEVELS.member),
    await service.newUser(LEVELS.member),
    await service.newUser(LEVELS.member),
  ];
  const [ofEditor, ofViewer, ofOther] = [
    { key: await service.newKey(editor) },
    { key: await service.newKey(viewer) },
    { key: await service.newKey(other) },
  ];
  await add(editor.uuid, 37);
  await add(viewer.uuid, 21);
  expect((await edit(ofOther)).status).toBe(200);
  await changed(id, { restriction_level: 37 });

  expect((await edit(ofEditor)).body).toMatchObject({ effective_privilege_level: 37 });
  for (const key of [ofViewer, ofOther]) {
    expect((await list(key)).status).toBe(200);
    for (const reply of [await edit(key), await add(other.uuid, 37, key), await remove(viewer.uuid, key)]) {
      expect(told(reply)).toEqual(NO_EDIT);
    }
    expect(told(await add('nonsense', 0, key))).toEqual(NO_EDIT);
  }

  expect((await add(other.uuid, 37, ofEditor)).status).toBe(201);
  expect((await edit(ofOther)).status).toBe(200);
  expect(told(await remove(other.uuid, ofOther))).toEqual({ status: 204, body: undefined });
  expect(told(await edit(ofOther))).toEqual(NO_EDIT);
  await changed(id, { restriction_level: 21 });
  expect((await edit(ofOther)).status).toBe(200);
  expect((await list()).body).toHaveLength(2);
});

test('whoever is removed is gone at once and can be added again; nobody is removed twice', async () => {
  const { service, add, list, remove, table } = await world();
  const { uuid } = await service.newUser(LEVELS.member);
  await add(uuid);
  expect((await remove(uuid)).status).toBe(204);
  expect((await list()).body).toEqual([]);
  for (const id of [uuid, UNKNOWN, service.owner.uuid]) expect(told(await remove(id))).toEqual(NOT_FOUND);
  expect((await add(uuid, 21)).status).toBe(201);
  table.counted();
  expect((await remove(uuid)).status).toBe(204);
  expect(table.counted()).toBe(2);
});

test('changes of everything at once all last', async () => {
  const { id, service, add, list, changed, found, remove } = await world();
  const users = await Promise.all(Array.from({ length: 6 }, () => service.newUser(LEVELS.member)));
  const [gone, ...kept] = users.map(({ uuid }) => uuid);
  await add(gone);
  const replies = await Promise.all([
    ...kept.map((uuid) => add(uuid)),
    remove(String(gone)),
    ...['a', 'b'].map((name) => changed(id, { name })),
    changed(id, { tags: ['tag'] }),
    changed(id, { tiles: [{ text: { body: 'one' } }] }),
    changed(id, { restriction_level: 37 }),
  ]);
  expect(replies.filter((reply) => 'status' in reply && Number(reply.status) >= 400)).toEqual([]);
  expect(
    ((await list()).body as unknown as { user_uuid: string }[]).map(({ user_uuid }) => user_uuid).toSorted(),
  ).toEqual(kept.toSorted());
  expect(await found(id)).toMatchObject({ tags: ['tag'], restriction_level: 37, tiles: [{ text: { body: 'one' } }] });
});

test('a user whose account is gone is not listed', async () => {
  const { context, service, add, list } = await world();
  const { uuid } = await service.newUser(LEVELS.member);
  await add(uuid);
  await context.table.write([{ remove: keys.user(uuid) }]);
  context.clock.advance(61_000);
  expect((await list()).body).toEqual([]);
});

test('a dashboard that is deleted, of another project, or hidden from the caller has none for them', async () => {
  const { id, service, add, list, remove, changed, call } = await world();
  const { uuid } = await service.newUser(LEVELS.member);
  const key = await service.newKey(await service.newUser(LEVELS.member));
  await call('PUT', `/dashboards/${id}/access_controls/`, { access_level: 'none' });
  for (const reply of [await list({ key }), await add(uuid, 37, { key }), await remove(uuid, { key })]) {
    expect(told(reply)).toEqual(denied('You do not have viewer access to this resource.'));
  }
  await changed(id, { deleted: true });
  for (const reply of [await list(), await add(uuid), await remove(uuid)]) expect(told(reply)).toEqual(GONE);
  expect(told(await call('GET', '/dashboards/999999/collaborators/'))).toEqual(GONE);
});
