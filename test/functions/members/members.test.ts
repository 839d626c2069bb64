import { addMember, createOrganization, findOrganization } from '../../../lib/accounts/organizations/store.ts';
import type { UserItem } from '../../../lib/accounts/users/model.ts';
import { createUser } from '../../../lib/accounts/users/store.ts';
import { collaboratorField } from '../../../lib/dashboards/collaborators/model.ts';
import { LEVELS, type MembershipLevel } from '../../../lib/http/levels.ts';
import { keys, places, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import type { Op } from '../../../lib/ports/table/table.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type CallOptions, type Service, testService } from '../../support/service.ts';
import { actBefore } from '../../support/table-override.ts';

const { member, admin, owner } = LEVELS;

const path = ({ organization }: Service, user?: UserItem) =>
  `/api/organizations/${organization.id}/members/${user === undefined ? '' : `${user.uuid}/`}`;
const change = (service: Service, user: UserItem, level: MembershipLevel, options: CallOptions = {}) =>
  service.call('PATCH', path(service, user), { body: { level }, ...options });
const remove = (service: Service, user: UserItem, options: CallOptions = {}) =>
  service.call('DELETE', path(service, user), options);

/** Returns whether ops change or remove the membership of a user, or, without a user, remove one. */
const areAbout =
  ({ organization }: Service, user?: UserItem) =>
  (ops: readonly Op[]): boolean =>
    ops.some((op) => {
      const key = 'remove' in op ? op.remove : 'change' in op && user !== undefined ? op.change : undefined;
      const { pk, sk } = keys.membership(user?.uuid ?? '', organization.id);
      return key?.sk === sk && (user === undefined || key.pk === pk);
    });

async function world() {
  const context = testContext();
  const service = await testService(context);
  const join = async (level: MembershipLevel) => {
    context.clock.advance(1_000);
    const user = await service.newUser(level);
    return { user, key: await service.newKey(user) };
  };
  const levels = async () => {
    const { body = {} } = await service.call('GET', path(service));
    const results = body['results'] as { user: { email: string }; level: number }[];
    return Object.fromEntries(results.map(({ user, level }) => [user.email, level]));
  };
  return { context, service, join, levels };
}

test('members are listed with their users and levels, in the order in which they joined', async () => {
  const { service, join } = await world();
  const ada = await join(admin);
  await join(member);
  const reply = await service.call('GET', path(service), { key: ada.key });
  expect(reply).toMatchObject({
    status: 200,
    body: {
      count: 3,
      next: null,
      results: [
        { id: service.owner.uuid, level: 15, user: { email: 'owner@example.com', first_name: 'Olivia' } },
        {
          id: ada.user.uuid,
          level: 8,
          joined_at: '2026-01-01T00:00:01Z',
          updated_at: '2026-01-01T00:00:01Z',
          user: { id: ada.user.id, uuid: ada.user.uuid },
        },
        { level: 1 },
      ],
    },
  });
  const second = await service.call('GET', `${path(service)}?limit=1&offset=1`);
  expect(second.body).toMatchObject({ count: 3, results: [{ id: ada.user.uuid }] });
});

describe('a level', () => {
  test('is changed, and acts at once', async () => {
    const { service, join } = await world();
    const { user, key } = await join(member);
    const rename = () =>
      service.call('PATCH', `/api/organizations/${service.organization.id}/`, { key, body: { name: 'New' } });
    expect((await rename()).status).toBe(403);
    const reply = await change(service, user, admin);
    expect(reply).toMatchObject({ status: 200, body: { id: user.uuid, level: 8, user: { email: user.email } } });
    expect(reply.headers.get('etag')).toBe('"2"');
    expect((await rename()).status).toBe(200);
    expect((await change(service, user, member)).status).toBe(200);
    expect((await rename()).status).toBe(403);
  });

  test.each([
    ['by a member', member, member, admin, 'Your organization access level is insufficient.'],
    [
      'by an admin to owner',
      admin,
      member,
      owner,
      "You can only make another member owner if you're this organization's owner.",
    ],
    ['of an owner by an admin', admin, owner, member, 'You can only edit others with level lower or equal to you.'],
  ] as const)('is not changed %s', async (_, actorLevel, targetLevel, level, detail) => {
    const { service, join, levels } = await world();
    const [actor, target] = [await join(actorLevel), await join(targetLevel)];
    const before = await levels();
    expect(await change(service, target.user, level, { key: actor.key })).toMatchObject({
      status: 403,
      body: { code: 'permission_denied', detail },
    });
    expect(await levels()).toEqual(before);
  });

  test('is not changed by its own bearer, so the last owner stays', async () => {
    const { service, levels } = await world();
    expect(await change(service, service.owner, member)).toMatchObject({
      status: 403,
      body: { detail: "You can't change your own access level." },
    });
    expect(await levels()).toEqual({ 'owner@example.com': 15 });
  });

  test.each([
    [{ level: 2 }, '"2" is not a valid choice. Choose one of: 1, 8, 15.', 'invalid_choice'],
    [{ level: null }, 'This field may not be null.', 'null'],
  ])('is not %j', async (body, detail, code) => {
    const { service, join } = await world();
    const { user } = await join(member);
    expect(await service.call('PATCH', path(service, user), { body })).toMatchObject({
      status: 400,
      body: { detail, code, attr: 'level' },
    });
  });

  test('of two owners who depose each other at once one goes, and one stays', async () => {
    for (let round = 0; round < 5; round++) {
      const { service, join, levels } = await world();
      const { user, key } = await join(owner);
      const replies = await Promise.all([change(service, user, admin), change(service, service.owner, admin, { key })]);
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(replies.filter(({ status }) => status === 409 || status === 403)).toHaveLength(1);
      expect(Object.values(await levels()).toSorted((a, b) => a - b)).toEqual([8, 15]);
    }
  });
});

describe('a removed member', () => {
  test('is out with their next request, and is not counted', async () => {
    const { context, service, join, levels } = await world();
    const { user, key } = await join(admin);
    const read = () => service.call('GET', `/api/organizations/${service.organization.id}/`, { key });
    const inside = () => service.call('GET', `/api/projects/${service.project.id}/batch_exports/`, { key });
    expect([(await read()).status, (await inside()).status]).toEqual([200, 200]);
    expect(await remove(service, user)).toMatchObject({ status: 204, body: undefined });
    expect([(await read()).status, (await inside()).status]).toEqual([404, 403]);
    expect(await levels()).toEqual({ 'owner@example.com': 15 });
    expect(await findOrganization(context.table, service.organization.id)).toMatchObject({ members: 1 });
    expect((await remove(service, user)).status).toBe(404);
  });

  test('is no collaborator any more of the dashboards here, and still is elsewhere', async () => {
    const { context, service, join } = await world();
    const { user } = await join(member);
    const other = await createOrganization(context, { name: 'Other', owner: service.owner });
    await addMember(context, { organization: other.organization, user, level: member });
    const name = (pid: number, did: number) => [
      { put: { ...keys.dashboard(pid, did), id: did, name: 'kept', [collaboratorField(user.uuid)]: 37 } },
      { put: { ...keys.collaborator(pid, did, user.uuid), ...places.mentionOf(user.uuid, pid, did) } },
    ];
    const here = Array.from({ length: 100 }, (_, at) => at + 1);
    for (const did of here) await context.table.write(name(service.project.id, did));
    await context.table.write(name(other.project.id, 1));
    // A naming whose dashboard is half gone.
    await context.table.write([{ remove: keys.dashboard(service.project.id, 7) }]);

    expect((await remove(service, user)).status).toBe(204);
    const left = (pid: number, did: number) =>
      context.table.many([keys.collaborator(pid, did, user.uuid), keys.dashboard(pid, did)]);
    for (const did of here) {
      const [naming, head] = await left(service.project.id, did);
      expect(naming).toBeUndefined();
      expect(head?.[collaboratorField(user.uuid)]).toBeUndefined();
      expect(head?.['name']).toBe(did === 7 ? undefined : 'kept');
    }
    const [naming, head] = await left(other.project.id, 1);
    expect(naming).toBeDefined();
    expect(head?.[collaboratorField(user.uuid)]).toBe(37);
  });
});

describe('a removal of a member who is named by 100 dashboards', () => {
  async function named() {
    const { context, service, join } = await world();
    const { user } = await join(member);
    const { id } = service.project;
    for (let did = 1; did <= 100; did += 1)
      await context.table.write([
        { put: { ...keys.dashboard(id, did), id: did, [collaboratorField(user.uuid)]: 37 } },
        { put: { ...keys.collaborator(id, did, user.uuid), ...places.mentionOf(user.uuid, id, did) } },
      ]);
    const mentions = async () => (await listAll(context.table, ranges.mentionsOf(user.uuid))).length;
    /** Does something just before the removal's n-th write of several ops. */
    const beforeWrite = (nth: number, act: () => Promise<unknown>) => {
      const write = context.table.write.bind(context.table);
      let writes = 0;
      return jest.spyOn(context.table, 'write').mockImplementation(async (ops, options) => {
        if (ops.length > 1) writes += 1;
        if (ops.length > 1 && writes === nth) await act();
        return write(ops, options);
      });
    };
    const isMember = async () =>
      (await context.table.get(keys.membership(user.uuid, service.organization.id))) !== undefined;
    return { context, service, user, mentions, beforeWrite, isMember };
  }

  test('ends nothing when the member has got another level meanwhile', async () => {
    const { context, service, user, mentions, beforeWrite, isMember } = await named();
    const key = keys.membership(user.uuid, service.organization.id);
    const spy = beforeWrite(1, () => context.table.write([{ change: key, set: { level: owner }, add: { ver: 1 } }]));
    expect((await remove(service, user)).status).toBeGreaterThanOrEqual(400);
    spy.mockRestore();
    expect([await mentions(), await isMember()]).toEqual([100, true]);
  });

  test.each([1, 2, 3, 4])('that is cut off at the %i. write is finished by who repeats it', async (nth) => {
    const { service, user, mentions, beforeWrite, isMember } = await named();
    const spy = beforeWrite(nth, () => Promise.reject(new Error('the process dies here')));
    expect((await remove(service, user)).status).toBe(500);
    spy.mockRestore();
    expect((await remove(service, user)).status).toBe(204);
    expect([await mentions(), await isMember()]).toEqual([0, false]);
  });
});

describe('a dashboard that names a member while they are removed', () => {
  const rule = { as: 'an access rule', method: 'PUT', place: 'access_controls' };
  const collaborator = { as: 'a collaborator', method: 'POST', place: 'collaborators' };
  const namings = [
    { ...rule, status: 200, bodyOf: (uid: string) => ({ access_level: 'none', organization_member: uid }) },
    { ...collaborator, status: 201, bodyOf: (uid: string) => ({ user_uuid: uid, level: 37 }) },
  ];
  /** A member, whom a dashboard may name, and what is left of that. */
  async function naming({ method, place, bodyOf }: (typeof namings)[number]) {
    const { context, service, join } = await world();
    const { user } = await join(member);
    const dashboardsAt = `/api/projects/${service.project.id}/dashboards/`;
    const made = await service.call('POST', dashboardsAt, { body: { name: 'Plans', restriction_level: 37 } });
    const id = Number(made.body?.['id']);
    const names = () => service.call(method, `${dashboardsAt}${id}/${place}/`, { body: bodyOf(user.uuid) });
    const left = async () => {
      const summary = await context.table.get(keys.dashboard(service.project.id, id));
      const fields = Object.keys(summary ?? {}).filter((field) => field.endsWith(user.uuid));
      return [...fields, ...(await listAll(context.table, ranges.mentionsOf(user.uuid)))];
    };
    return { context, service, user, names, left };
  }

  test.each(namings)('$as that comes just before the last write does not outlast the membership', async (kind) => {
    const { context, service, user, names, left } = await naming(kind);
    const write = context.table.write.bind(context.table);
    const membership = keys.membership(user.uuid, service.organization.id);
    const statuses: number[] = [];
    const spy = jest.spyOn(context.table, 'write').mockImplementation(async (ops, options) => {
      if (statuses.length === 0 && ops.some((op) => 'remove' in op && op.remove.sk === membership.sk)) {
        statuses.push(0);
        statuses[0] = (await names()).status;
      }
      return write(ops, options);
    });
    expect((await remove(service, user)).status).toBe(204);
    spy.mockRestore();
    expect(statuses).toEqual([kind.status]);
    expect(await left()).toEqual([]);
  });

  test.each(namings)('$as that comes between its reads does not outlast the membership', async (kind) => {
    const { context, service, user, names, left } = await naming(kind);
    const get = context.table.get.bind(context.table);
    const list = context.table.list.bind(context.table);
    const membership = keys.membership(user.uuid, service.organization.id);
    const listed = Promise.withResolvers<void>();
    let isNamed = false;
    const spies = [
      jest.spyOn(context.table, 'list').mockImplementation(async (range, page) => {
        const found = await list(range, page);
        if (range.partition === ranges.mentionsOf(user.uuid).partition) listed.resolve();
        return found;
      }),
      jest.spyOn(context.table, 'get').mockImplementation(async (key) => {
        if (!isNamed && key.pk === membership.pk && key.sk === membership.sk) {
          isNamed = true;
          await listed.promise;
          await names();
        }
        return get(key);
      }),
    ];
    expect((await remove(service, user)).status).toBe(204);
    for (const spy of spies) spy.mockRestore();
    expect([isNamed, await left()]).toEqual([true, []]);
  });
});

test.each(['bea@example.com', 'Bea@Example.com'])(
  '%s, removed, does not come back by an invitation from before',
  async (email) => {
    const { service, join, context } = await world();
    const other = await join(member);
    const invite = async (target_email: string) => {
      const path = `/api/organizations/${service.organization.id}/invites/`;
      return String((await service.call('POST', path, { body: { target_email, level: admin } })).body?.['id']);
    };
    const user = await createUser(context, { email });
    const key = await service.newKey(user);
    const accept = (id: string) => service.call('POST', `/api/invites/${id}/accept/`, { key });
    const [open, elsewhere] = [await invite('bea@example.com'), await invite('eve@example.com')];
    // As an operator does.
    await addMember(context, { organization: service.organization, user, level: member });
    expect((await remove(service, other.user)).status).toBe(204);
    expect(await accept(open)).toMatchObject({ status: 400 });
    expect((await remove(service, user)).status).toBe(204);
    expect(await accept(open)).toMatchObject({ status: 404 });
    expect(await context.table.get(keys.invitation(elsewhere))).toBeDefined();
  },
);

test('everybody may leave, except the last owner', async () => {
  const { service, join } = await world();
  const [ada, bob] = [await join(member), await join(owner)];
  expect((await remove(service, ada.user, { key: ada.key })).status).toBe(204);
  expect((await remove(service, service.owner)).status).toBe(204);
  expect(await remove(service, bob.user, { key: bob.key })).toMatchObject({
    status: 400,
    body: {
      code: 'invalid_input',
      detail: 'The last owner cannot leave the organization. Make another member owner first.',
      attr: null,
    },
  });
  expect((await service.call('GET', path(service), { key: bob.key })).body).toMatchObject({ count: 1 });
});

test('of two last owners who leave at once one stays', async () => {
  for (let round = 0; round < 5; round++) {
    const { context, service, join } = await world();
    const { user, key } = await join(owner);
    const replies = await Promise.all([remove(service, service.owner), remove(service, user, { key })]);
    expect(replies.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(await findOrganization(context.table, service.organization.id)).toMatchObject({ members: 1 });
  }
});

test('of two last owners who leave at once one stays, however their writes fall', async () => {
  const { context, service, join } = await world();
  const { user, key } = await join(owner);
  let first: Promise<unknown> | undefined;
  actBefore(context.table, areAbout(service), () => (first = remove(service, user, { key })));
  expect((await remove(service, service.owner)).status).toBe(404);
  expect(await first).toMatchObject({ status: 204 });
  expect(await findOrganization(context.table, service.organization.id)).toMatchObject({ members: 1 });
});

test('a member who has got another level meanwhile is not removed', async () => {
  const { context, service, join, levels } = await world();
  const [{ user }, { user: other }] = [await join(member), await join(admin)];
  const otherKey = await service.newKey(other);
  actBefore(context.table, areAbout(service), () => change(service, user, owner));
  expect((await remove(service, user, { key: otherKey })).status).toBe(409);
  expect(await levels()).toMatchObject({ [user.email]: owner });
});

test.each([
  ['changes', (service: Service, user: UserItem, key: string) => change(service, user, admin, { key })],
  ['removes', (service: Service, user: UserItem, key: string) => remove(service, user, { key })],
])('who is no admin any more just before the write %s nobody', async (_, act) => {
  const { context, service, join, levels } = await world();
  const [{ user }, actor] = [await join(member), await join(admin)];
  actBefore(context.table, areAbout(service, user), () => change(service, actor.user, member));
  expect((await act(service, user, actor.key)).status).toBe(409);
  expect(await levels()).toMatchObject({ [user.email]: member, [actor.user.email]: member });
});

test.each([
  ['a member', member, member, 'You can only edit others if you are an admin.'],
  ['an admin an owner', admin, owner, 'You can only edit others with level lower or equal to you.'],
] as const)('%s removes nobody', async (_, actorLevel, targetLevel, detail) => {
  const { service, join } = await world();
  const [actor, target] = [await join(actorLevel), await join(targetLevel)];
  expect(await remove(service, target.user, { key: actor.key })).toMatchObject({ status: 403, body: { detail } });
});

test('a removal of another version is refused, and takes nothing away', async () => {
  const { service, join, levels } = await world();
  const { user } = await join(member);
  expect((await remove(service, user, { headers: { 'If-Match': '"2"' } })).status).toBe(412);
  expect(await levels()).toMatchObject({ [user.email]: 1 });
});

test('a list is one round trip when its users are remembered, a change two, a removal two', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  const { key } = service;
  const [one, two] = [await service.newUser(member), await service.newUser(member)];
  const trips = async (run: () => Promise<unknown>) => {
    table.counted();
    await run();
    return table.counted();
  };
  await service.call('GET', path(service), { key });
  await change(service, one, admin);
  await remove(service, one);
  expect(await trips(() => service.call('GET', path(service)))).toBe(1);
  expect(await trips(() => change(service, two, admin))).toBe(2);
  expect(await trips(() => remove(service, two))).toBe(2);
});
