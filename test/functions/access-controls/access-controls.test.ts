import { LEVELS } from '../../../lib/http/levels.ts';
import { bad, dashboards, denied, told } from '../../support/dashboards.ts';

const UNKNOWN = '019a0000-0000-7000-8000-00000000ffff';
const NO_RIGHT = denied('Must be manager to modify dashboard permissions.');
const HIDDEN = denied('You do not have viewer access to this resource.');
const READ_ONLY = denied('You do not have editor access to this resource.');

async function world() {
  const made = await dashboards();
  const { id } = await made.dashboard();
  const path = `/dashboards/${id}/access_controls/`;
  const member = await made.service.newUser(LEVELS.member);
  const key = await made.service.newKey(member);
  return {
    ...made,
    id,
    member,
    asMember: { key },
    put: (body: unknown, options = {}) => made.call('PUT', path, body, options),
    rules: (options = {}) => made.call('GET', path, undefined, options),
    look: (options = {}) => made.call('GET', `/dashboards/${id}/`, undefined, options),
    edit: (options = {}) => made.call('PATCH', `/dashboards/${id}/`, { description: 'x' }, options),
    listed: async (options = {}) => (await made.call('GET', '/dashboards/', undefined, options)).body?.['count'],
  };
}

test('without rules everybody edits, and the creator and admins manage', async () => {
  const { rules, asMember, table } = await world();
  await rules();
  table.counted();
  expect(told(await rules())).toEqual({
    status: 200,
    body: {
      access_controls: [],
      available_access_levels: ['none', 'viewer', 'editor', 'manager'],
      default_access_level: 'editor',
      user_access_level: 'manager',
      user_can_edit_access_levels: true,
    },
  });
  expect(table.counted()).toBe(1);
  expect((await rules(asMember)).body).toMatchObject({
    user_access_level: 'editor',
    user_can_edit_access_levels: false,
  });
});

test('a rule is found by whom it is for: written, overwritten, taken away', async () => {
  const { id, context, service, member, put, rules, table } = await world();
  const first = await put({ access_level: 'viewer' });
  const everybody = {
    access_level: 'viewer',
    resource: 'dashboard',
    resource_id: String(id),
    organization_member: null,
    role: null,
    created_by: expect.objectContaining({ uuid: service.owner.uuid }),
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
  };
  expect(told(first)).toEqual({ status: 200, body: everybody });
  context.clock.advance(1_000);
  const second = await put({ access_level: 'editor', organization_member: member.uuid, role: null });
  expect(second).toMatchObject({ status: 200, body: { access_level: 'editor', organization_member: member.uuid } });
  table.counted();
  const changed = await put({ access_level: 'none' });
  expect(table.counted()).toBe(2);
  expect(changed.body).toEqual({ ...everybody, access_level: 'none', updated_at: '2026-01-01T00:00:01Z' });
  expect((await rules()).body?.['access_controls']).toEqual([second.body, changed.body]);
  expect(told(await put({ access_level: null, organization_member: member.uuid }))).toEqual({
    status: 204,
    body: undefined,
  });
  expect((await put({ access_level: null, organization_member: member.uuid })).status).toBe(204);
  expect((await rules()).body?.['access_controls']).toEqual([changed.body]);
  expect((await put({ access_level: null })).status).toBe(204);
  expect((await rules()).body?.['access_controls']).toEqual([]);
});

test('viewers read, those with none see nothing at all, and what is hidden is neither listed nor counted', async () => {
  const { asMember, put, look, edit, listed, rules } = await world();
  await put({ access_level: 'viewer' });
  expect((await look(asMember)).body).toMatchObject({ user_access_level: 'viewer' });
  expect(told(await edit(asMember))).toEqual(READ_ONLY);
  expect(await listed(asMember)).toBe(1);
  await put({ access_level: 'none' });
  for (const reply of [await look(asMember), await edit(asMember), await rules(asMember)]) {
    expect(told(reply)).toEqual(HIDDEN);
  }
  expect([await listed(asMember), await listed()]).toEqual([0, 1]);
  await put({ access_level: null });
  expect([await listed(asMember), (await edit(asMember)).status]).toEqual([1, 200]);
});

test("a member's rule beats the one for everybody, in both directions", async () => {
  const { service, member, asMember, put, look, edit, listed } = await world();
  const other = { key: await service.newKey(await service.newUser(LEVELS.member)) };
  await put({ access_level: 'none' });
  await put({ access_level: 'editor', organization_member: member.uuid });
  expect([(await edit(asMember)).status, (await look(other)).status]).toEqual([200, 403]);
  await put({ access_level: 'editor' });
  await put({ access_level: 'none', organization_member: member.uuid });
  expect([(await look(asMember)).status, (await edit(other)).status]).toEqual([403, 200]);
  expect([await listed(asMember), await listed(other)]).toEqual([0, 1]);
});

test('nothing is closed to the creator, to admins and to owners', async () => {
  const { service, put, edit, listed, dashboard, call, member, asMember } = await world();
  const { uuid } = service.owner;
  const admin = await service.newUser(LEVELS.admin);
  const ofAdmin = { key: await service.newKey(admin) };
  for (const body of [{}, { organization_member: uuid }, { organization_member: admin.uuid }]) {
    await put({ ...body, access_level: 'none' });
  }
  expect([(await edit()).status, (await edit(ofAdmin)).status, await listed(), await listed(ofAdmin)]).toEqual([
    200, 200, 1, 1,
  ]);
  const own = await dashboard({ name: 'Mine' }, asMember);
  await call('PUT', `/dashboards/${own.id}/access_controls/`, {
    access_level: 'none',
    organization_member: member.uuid,
  });
  expect((await call('GET', `/dashboards/${own.id}/`, undefined, asMember)).body).toMatchObject({
    user_access_level: 'manager',
  });
});

test('rule and collaborator must both let somebody edit', async () => {
  const { id, member, asMember, put, edit, changed, call } = await world();
  await changed(id, { restriction_level: 37 });
  await put({ access_level: 'editor', organization_member: member.uuid });
  expect(told(await edit(asMember))).toEqual(denied("You don't have edit permissions for this dashboard."));
  await call('POST', `/dashboards/${id}/collaborators/`, { level: 37, user_uuid: member.uuid });
  expect((await edit(asMember)).status).toBe(200);
  await put({ access_level: 'viewer', organization_member: member.uuid });
  expect(told(await edit(asMember))).toEqual(READ_ONLY);
});

test('managers write rules, nobody else does, whatever they send', async () => {
  const { service, member, asMember, put } = await world();
  const other = await service.newUser(LEVELS.member);
  for (const body of ['{', {}, { access_level: 'manager', organization_member: member.uuid }]) {
    expect(told(await put(body, asMember))).toEqual(NO_RIGHT);
  }
  await put({ access_level: 'manager', organization_member: member.uuid });
  expect((await put({ access_level: 'viewer', organization_member: other.uuid }, asMember)).status).toBe(200);
  expect(told(await put({ access_level: 'manager' }, { key: await service.newKey(other) }))).toEqual(NO_RIGHT);
});

const invalidReference = (attr: string, id: string) =>
  bad(`Invalid pk "${id}" - object does not exist.`, attr, 'does_not_exist');

test.each([
  [{}, bad('This field is required.', 'access_level', 'required')],
  [
    { access_level: 'owner' },
    bad('Invalid access level. Must be one of: none, viewer, editor, manager', 'access_level'),
  ],
  [{ access_level: 'viewer', role: UNKNOWN }, invalidReference('role', UNKNOWN)],
  [{ access_level: null, role: UNKNOWN }, invalidReference('role', UNKNOWN)],
  [{ access_level: 'viewer', organization_member: UNKNOWN }, invalidReference('organization_member', UNKNOWN)],
  [{ access_level: 'viewer', organization_member: 'x' }, bad('“x” is not a valid UUID.', 'organization_member')],
  [
    { access_level: 'viewer', organization_member: UNKNOWN, role: UNKNOWN },
    bad('You can not scope an access control to both a member and a role.'),
  ],
])('%j is refused', async (body, refusal) => {
  const { put, rules } = await world();
  expect(told(await put(body))).toEqual(refusal);
  expect((await rules()).body?.['access_controls']).toEqual([]);
});

test('a member of another organization cannot be named, nor a rule be written for another project', async () => {
  const { service, put, call } = await world();
  const stranger = await service.newUser();
  expect(told(await put({ access_level: 'viewer', organization_member: stranger.uuid }))).toEqual(
    invalidReference('organization_member', stranger.uuid),
  );
  expect((await call('PUT', '/dashboards/999999/access_controls/', { access_level: 'viewer' })).status).toBe(404);
});

test('rules for many members at once all last, and every one acts', async () => {
  const { service, put, rules, listed } = await world();
  const users = await Promise.all(Array.from({ length: 8 }, () => service.newUser(LEVELS.member)));
  const replies = await Promise.all(users.map(({ uuid }) => put({ access_level: 'none', organization_member: uuid })));
  expect(replies.map(({ status }) => status)).toEqual(users.map(() => 200));
  const { access_controls } = (await rules()).body as { access_controls: { organization_member: string }[] };
  expect(access_controls.map(({ organization_member }) => organization_member).toSorted()).toEqual(
    users.map(({ uuid }) => uuid).toSorted(),
  );
  for (const user of users) expect(await listed({ key: await service.newKey(user) })).toBe(0);
});
