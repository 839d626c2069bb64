import { createOrganization, findMembership, findOrganization } from '../../../lib/accounts/organizations/store.ts';
import { createUser } from '../../../lib/accounts/users/store.ts';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { LEVELS, type MembershipLevel } from '../../../lib/http/levels.ts';
import { keys, places, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import type { Op } from '../../../lib/ports/table/table.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type CallOptions, type Reply, type Service, testService } from '../../support/service.ts';
import { actBefore } from '../../support/table-override.ts';

const { member, admin, owner } = LEVELS;
const EMAIL = 'New.Person@Example.com';

const path = ({ organization }: Service) => `/api/organizations/${organization.id}/invites/`;
const invite = (service: Service, body: object = {}, options: CallOptions = {}) =>
  service.call('POST', path(service), { body: { target_email: EMAIL, ...body }, ...options });
const accepting = (reply: Reply) => `/api/invites/${String(reply.body?.['id'])}/accept/`;

async function world() {
  const context = testContext();
  const service = await testService(context);
  const user = await createUser(context, { email: EMAIL });
  const key = await service.newKey(user, { scopes: ['organization_member:write'] });
  const join = async (level: MembershipLevel) => {
    const held = await service.newUser(level);
    return { user: held, key: await service.newKey(held) };
  };
  const levelNow = async () => (await findMembership(context.table, user.uuid, service.organization.id))?.level;
  return { context, service, user, key, join, levelNow };
}

test('an invitation has a link, under which the invited user becomes a member', async () => {
  const { context, service, user, key, levelNow } = await world();
  const made = await invite(service, { level: admin });
  expect(made).toMatchObject({
    status: 201,
    body: {
      id: expect.any(String),
      target_email: 'new.person@example.com',
      level: 8,
      created_by: { uuid: service.owner.uuid },
      created_at: '2026-01-01T00:00:00Z',
      expires_at: '2026-01-04T00:00:00Z',
      link: `${service.address}/#/invites/${String(made.body?.['id'])}`,
    },
  });
  expect((await service.call('GET', path(service))).body).toMatchObject({ count: 1, results: [made.body] });

  // The link opens the console, which accepts for who is signed in.
  const accepted = await fetch(`${service.address}${accepting(made)}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(accepted.status).toBe(201);
  expect(await accepted.json()).toMatchObject({ id: user.uuid, level: 8, user: { email: EMAIL } });
  expect(await levelNow()).toBe(8);
  expect(await findOrganization(context.table, service.organization.id)).toMatchObject({ members: 2 });
  expect((await service.call('GET', path(service))).body).toMatchObject({ count: 0 });
  expect((await service.call('POST', accepting(made), { key })).status).toBe(404);
});

test('an invitation is to be a member if nothing else is said, and `email` names the address too', async () => {
  const { service } = await world();
  const reply = await service.call('POST', path(service), { body: { email: 'a@example.com' } });
  expect(reply).toMatchObject({ status: 201, body: { target_email: 'a@example.com', level: 1 } });
});

test('it opens nothing to anybody else', async () => {
  const { service, join } = await world();
  const made = await invite(service);
  const eve = await service.newKey(await service.newUser());
  const { key: insider } = await join(admin);
  for (const key of [eve, insider, service.key]) {
    expect(await service.call('POST', accepting(made), { key })).toMatchObject({
      status: 404,
      body: { detail: 'Not found.' },
    });
  }
  expect((await service.call('GET', path(service))).body).toMatchObject({ count: 1 });
});

test('it is open for three days', async () => {
  const { context, service, key, levelNow } = await world();
  const made = await invite(service);
  context.clock.advance(3 * DAY_MS);
  expect((await service.call('POST', accepting(made), { key })).status).toBe(404);
  expect((await service.call('GET', path(service))).body).toMatchObject({ count: 0 });
  expect(await levelNow()).toBeUndefined();
});

test('whoever has the link reads where it leads, without a key and without the whole address', async () => {
  const { service, join } = await world();
  const { user: host, key } = await join(admin);
  const made = await invite(service, { level: admin }, { key });
  const preview = `/api/signup/${String(made.body?.['id'])}/`;
  expect(await service.call('GET', preview, { key: null })).toMatchObject({
    status: 200,
    body: {
      id: made.body?.['id'],
      target_email: 'n********n@example.com',
      first_name: '',
      organization_name: service.organization.name,
      invited_by: 'u****1@example.com',
      level: admin,
      expires_at: '2026-01-04T00:00:00Z',
    },
  });
  // What accepting it would refuse is not shown either.
  const members = `/api/organizations/${service.organization.id}/members/${host.uuid}/`;
  await service.call('PATCH', members, { body: { level: member } });
  expect((await service.call('GET', preview, { key: null })).status).toBe(404);
});

test('of an invitation that is accepted or taken back there is nothing to read, and of one past its days that it was', async () => {
  const { context, service, key } = await world();
  const preview = (made: Reply) => service.call('GET', `/api/signup/${String(made.body?.['id'])}/`, { key: null });
  const nothing = { status: 404, body: { code: 'not_found', detail: 'Not found.' } };
  const [accepted, taken] = [await invite(service), await invite(service)];
  await service.call('POST', accepting(accepted), { key });
  await service.call('DELETE', `${path(service)}${String(taken.body?.['id'])}/`);
  for (const made of [accepted, taken]) expect(await preview(made)).toMatchObject(nothing);
  // An id of the first of December 2025.
  const old = { ...accepted, body: { id: '019ad735-8400-7000-8000-000000000000' } };
  context.clock.set(Date.parse('2025-12-03T23:59:00Z'));
  expect(await preview(old)).toMatchObject(nothing);
  context.clock.set(Date.parse('2026-01-03T00:00:00Z'));
  expect(await preview(old)).toMatchObject(nothing);
  context.clock.set(Date.parse('2025-12-04T00:00:00Z'));
  expect(await preview(old)).toMatchObject({
    status: 404,
    body: { code: 'expired', detail: 'This invite has expired. Please ask your admin for a new one.' },
  });
});

test('one that is taken back opens nothing', async () => {
  const { service, key, levelNow } = await world();
  const made = await invite(service);
  const one = `${path(service)}${String(made.body?.['id'])}/`;
  expect((await service.call('DELETE', one)).status).toBe(204);
  expect((await service.call('DELETE', one)).status).toBe(404);
  expect((await service.call('POST', accepting(made), { key })).status).toBe(404);
  expect(await levelNow()).toBeUndefined();
});

test('it does not outlive the right of the member who gave it', async () => {
  const { service, key, join, levelNow } = await world();
  const { user: host, key: hostKey } = await join(admin);
  const made = [await invite(service, { level: admin }, { key: hostKey }), await invite(service, {}, { key: hostKey })];
  const members = `/api/organizations/${service.organization.id}/members/${host.uuid}/`;
  await service.call('PATCH', members, { body: { level: member } });
  const [asAdmin, asMember] = made as [Reply, Reply];
  expect((await service.call('POST', accepting(asAdmin), { key })).status).toBe(404);
  expect(await levelNow()).toBeUndefined();
  expect((await service.call('POST', accepting(asMember), { key })).status).toBe(201);
  expect(await levelNow()).toBe(member);
});

test('one to an organization that is deleted meanwhile is void', async () => {
  const { service, key } = await world();
  const made = await invite(service);
  await service.call('DELETE', `/api/organizations/${service.organization.id}/`);
  expect((await service.call('POST', accepting(made), { key })).status).toBe(404);
});

test('of two accepted at once one makes the member', async () => {
  const { context, service, key } = await world();
  const made = [await invite(service), await invite(service)];
  const replies = await Promise.all(made.map((one) => service.call('POST', accepting(one), { key })));
  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 400]);
  expect(await findOrganization(context.table, service.organization.id)).toMatchObject({ members: 2 });
});

test('with one that is accepted all others to the same address end, so that who is removed is out', async () => {
  const { service, user, key, levelNow } = await world();
  const [first, second] = [await invite(service), await invite(service, { level: admin })];
  const another = await invite(service, { target_email: 'another@example.com' });
  expect((await service.call('POST', accepting(first), { key })).status).toBe(201);
  // Before the removal, which ends those that are open, too.
  expect((await service.call('GET', path(service))).body).toMatchObject({ count: 1, results: [another.body] });
  const removed = await service.call('DELETE', `/api/organizations/${service.organization.id}/members/${user.uuid}/`);
  expect(removed.status).toBe(204);
  expect((await service.call('POST', accepting(second), { key })).status).toBe(404);
  expect(await levelNow()).toBeUndefined();
  expect((await service.call('GET', path(service))).body).toMatchObject({ count: 1, results: [another.body] });
});

describe('the right to invite that is lost just before the write', () => {
  async function losing() {
    const all = await world();
    const { context, service, join } = all;
    const actor = await join(admin);
    const membership = keys.membership(actor.user.uuid, service.organization.id);
    const loseRight = (isSuch: (ops: readonly Op[]) => boolean) =>
      actBefore(context.table, isSuch, () => context.table.write([{ change: membership, set: { level: member } }]));
    return { ...all, actor, loseRight };
  }

  test('invites nobody', async () => {
    const { service, actor, loseRight } = await losing();
    loseRight((ops) => ops.some((op) => 'put' in op && 'target_email' in op.put));
    expect((await invite(service, {}, { key: actor.key })).status).toBe(409);
    expect((await service.call('GET', path(service))).body).toMatchObject({ count: 0 });
  });

  test('makes nobody a member', async () => {
    const { service, actor, key, loseRight, levelNow } = await losing();
    const made = await invite(service, { level: admin }, { key: actor.key });
    loseRight((ops) => ops.some((op) => 'remove' in op));
    expect((await service.call('POST', accepting(made), { key })).status).toBe(409);
    expect(await levelNow()).toBeUndefined();
  });
});

test('a key that is limited to other organizations does not join', async () => {
  const { context, service, user } = await world();
  const other = await createOrganization(context, { name: 'Other', owner: user });
  const key = await service.newKey(user, { scoped_organizations: [other.organization.id] });
  expect(await service.call('POST', accepting(await invite(service)), { key })).toMatchObject({
    status: 403,
    body: { detail: 'API keys with scoped organizations cannot join other organizations.' },
  });
});

test.each([
  [member, member, 'Your organization access level is insufficient.'],
  [admin, owner, "You can only make another member owner if you're this organization's owner."],
] as const)('level %i does not invite to %i', async (held, level, detail) => {
  const { service, join } = await world();
  const { key } = await join(held);
  expect(await invite(service, { level }, { key })).toMatchObject({ status: 403, body: { detail } });
  expect((await service.call('GET', path(service), { key })).body).toMatchObject({ count: 0 });
});

test.each([
  [{ target_email: undefined }, 'target_email', 'required', 'This field is required.'],
  [{ target_email: 'nobody' }, 'target_email', 'invalid_input', 'Enter a valid email address.'],
  [{ target_email: null }, 'target_email', 'null', 'This field may not be null.'],
  [{ level: 5 }, 'level', 'invalid_choice', '"5" is not a valid choice. Choose one of: 1, 8, 15.'],
  [
    { target_email: 'OWNER@example.com' },
    'target_email',
    'invalid_input',
    'A user with this email address already belongs to the organization.',
  ],
])('%j is refused', async (body, attr, code, detail) => {
  const { service } = await world();
  expect(await invite(service, body)).toMatchObject({ status: 400, body: { attr, code, detail } });
});

test('who has an account elsewhere is invited as who has none: nobody can tell', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  await createOrganization(context, { name: 'Else', owner: await createUser(context, { email: EMAIL }) });
  const trips = async (target_email: string) => {
    table.counted();
    const { status, body } = await invite(service, { target_email });
    return [status, Object.keys(body ?? {}), table.counted()];
  };
  await trips('first@example.com');
  expect(await trips(EMAIL)).toEqual(await trips('unknown@example.com'));
});

test('an organization has at most 500 open invitations, also when several are made at once', async () => {
  const { context, service } = await world();
  await invite(service);
  const { id: organization } = service.organization;
  const [like] = await listAll(context.table, ranges.invitationsOf(organization));
  if (like === undefined) throw new Error('there is none');
  const others = Array.from({ length: 498 }, (_, n) => `other-${n}`).map((id) => ({
    put: { ...like, ...keys.invitation(id), ...places.invitationOf(organization, like.created_at, id), id },
  }));
  await context.table.write(others, { apart: true });
  const made = await Promise.all([1, 2, 3, 4].map((n) => invite(service, { target_email: `${n}@example.com` })));
  expect(made.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(made.filter(({ status }) => status === 400)).toHaveLength(3);
  expect(made.find(({ status }) => status === 400)?.body).toEqual({
    type: 'validation_error',
    code: 'invalid_input',
    detail: 'An organization may have at most 500 open invitations.',
    attr: null,
  });
  // Those that have run out count no more.
  context.clock.advance(3 * DAY_MS);
  expect((await invite(service, { target_email: 'later@example.com' })).status).toBe(201);
});
