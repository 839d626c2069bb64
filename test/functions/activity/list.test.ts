import { systemActivityOps } from '../../../lib/accounts/activity/ops.ts';
import { deleteProject } from '../../../lib/accounts/organizations/projects/store.ts';
import { addMember, createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { createKey, revokeKey } from '../../../lib/accounts/personal-api-keys/store.ts';
import { createUser } from '../../../lib/accounts/users/store.ts';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { ranges } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { BUCKET, byProject } from '../../support/exports.ts';
import { seeded } from '../../support/random.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type CallOptions, type Service, testService } from '../../support/service.ts';
import { unreliable } from '../../support/unreliable-table.ts';

type Entry = Record<string, unknown> & { detail: { name: unknown; changes: Record<string, unknown>[] } };

const dashboardsOf = ({ project }: Service) => `/api/projects/${project.id}/dashboards/`;

async function world(context = testContext()) {
  const service = await testService(context);
  const path = `/api/organizations/${service.organization.id}/activity/`;
  const list = (query = '', options: CallOptions = {}) => service.call('GET', `${path}${query}`, options);
  const entries = async (query = '') => (await list(query)).body?.['results'] as Entry[];
  const changes = async (query = '') => (await entries(query))[0]?.detail.changes;
  return { context, service, path, list, entries, changes };
}

test('an entry says who did what to which object, when, with what key and in which request', async () => {
  const { context, service, entries } = await world();
  const { body } = await service.call('POST', dashboardsOf(service), { body: { name: 'Weekly', pinned: true } });
  context.clock.advance(1_500);
  const reply = await service.call('PATCH', `${dashboardsOf(service)}${String(body?.['id'])}/`, {
    body: { name: 'Daily', tags: ['a'], pinned: true, filters: { date_from: '-7d' } },
  });
  const [newest, older] = await entries();
  expect(newest).toEqual({
    id: expect.any(String),
    organization_id: service.organization.id,
    team_id: service.project.id,
    user: expect.objectContaining({ uuid: service.owner.uuid, email: 'owner@example.com' }),
    is_system: false,
    activity: 'updated',
    scope: 'Dashboard',
    item_id: String(body?.['id']),
    detail: {
      name: 'Daily',
      changes: [
        { type: 'Dashboard', action: 'changed', field: 'name', before: 'Weekly', after: 'Daily' },
        { type: 'Dashboard', action: 'changed', field: 'tags', before: [], after: ['a'] },
        { type: 'Dashboard', action: 'changed', field: 'filters', before: {}, after: { date_from: '-7d' } },
      ],
    },
    key_mask: `phx_...${service.key.slice(-4)}`,
    request_id: reply.headers.get('x-request-id'),
    created_at: '2026-01-01T00:00:01.500000Z',
  });
  expect(older).toMatchObject({ activity: 'created', detail: { name: 'Weekly', changes: [] } });
});

test('what the service or an operator did has no user and no key', async () => {
  const { service, entries } = await world();
  const own = await entries();
  expect(own.map(({ activity, scope, is_system }) => [activity, scope, is_system])).toEqual([
    ['created', 'PersonalAPIKey', true],
    ['created', 'Organization', true],
  ]);
  expect(own[1]).toMatchObject({ user: null, key_mask: null, request_id: null, item_id: service.organization.id });
});

test('a change that changes nothing is not told', async () => {
  const { service, entries } = await world();
  const before = await entries();
  const { body } = await service.call('PATCH', `/api/organizations/${service.organization.id}/`, {
    body: { name: 'Acme' },
  });
  expect(body).toMatchObject({ name: 'Acme' });
  expect(await entries()).toEqual(before);
});

test('what was never deleted is not told as restored, though `deleted: false` is sent, as Terraform does', async () => {
  const { service, entries } = await world();
  const project = `/api/projects/${service.project.id}/`;
  const query = { kind: 'HogQLQuery', query: 'SELECT 1' };
  const { body: insight } = await service.call('POST', `${project}insights/`, { body: { name: 'I', query } });
  const mail = { target_type: 'webhook', target_value: 'https://example.com/x', frequency: 'daily', interval: 1 };
  const subscription = { title: 'S', insight: insight?.['id'], start_date: '2026-01-01T00:00:00Z', ...mail };
  for (const [scope, kind, made, change] of [
    ['Dashboard', 'dashboards', { name: 'D' }, { name: 'E' }],
    ['Insight', 'insights', { name: 'I', query }, { name: 'J' }],
    ['Subscription', 'subscriptions', subscription, { title: 'T' }],
  ] as const) {
    const { body } = await service.call('POST', `${project}${kind}/`, { body: made });
    const path = `${project}${kind}/${String(body?.['id'])}/`;
    for (const sent of [{}, change, { deleted: true }, { deleted: false }]) {
      expect((await service.call('PATCH', path, { body: { deleted: false, ...sent } })).status).toBe(200);
    }
    const told = (await entries(`?scope=${scope}&item_id=${String(body?.['id'])}`)).map(({ activity }) => activity);
    expect([kind, told]).toEqual([kind, ['restored', 'deleted', 'updated', 'created']]);
  }
});

test('admins read it, members do not, as it names what rules may hide from them', async () => {
  const { service, list } = await world();
  const [admin, member] = [await service.newUser(LEVELS.admin), await service.newUser(LEVELS.member)];
  const scopes = ['activity_log:read'];
  expect((await list('', { key: await service.newKey(admin, { scopes }) })).status).toBe(200);
  expect(await list('', { key: await service.newKey(member, { scopes }) })).toMatchObject({
    status: 403,
    body: { detail: 'Your organization access level is insufficient.' },
  });
});

test('it is paged newest first, back and forth, and each entry is seen once', async () => {
  const { context, service, list } = await world();
  for (let n = 0; n < 5; n++) {
    context.clock.advance(1);
    await service.call('POST', dashboardsOf(service), { body: { name: `D${n}` } });
  }
  const names = (reply: Awaited<ReturnType<typeof list>>) =>
    (reply.body?.['results'] as Entry[] | undefined)?.map(({ detail }) => detail.name);
  const follow = (reply: Awaited<ReturnType<typeof list>>, way: 'next' | 'previous') =>
    service.call('GET', String(reply.body?.[way]).replace(service.address, ''));
  const first = await list('?limit=2&scope=Dashboard');
  const second = await follow(first, 'next');
  const third = await follow(second, 'next');
  expect([first, second, third].map(names)).toEqual([['D4', 'D3'], ['D2', 'D1'], ['D0']]);
  expect(third.body).toMatchObject({ next: null });
  expect(names(await follow(third, 'previous'))).toEqual(['D2', 'D1']);
  const plain = await list('?limit=2');
  expect(names(await follow(plain, 'next'))).toEqual(['D2', 'D1']);
  expect(await list('?cursor=nonsense')).toMatchObject({ status: 400 });
});

test('it is read by kind of object, by object and by user', async () => {
  const { service, entries, list } = await world();
  const user = await service.newUser(LEVELS.member);
  const key = await service.newKey(user);
  const { body } = await service.call('POST', dashboardsOf(service), { body: { name: 'His' }, key });
  await service.call('POST', dashboardsOf(service), { body: { name: 'Hers' } });
  const names = async (query: string) => (await entries(query)).map(({ detail }) => detail.name);
  expect(await names(`?user=${user.uuid}`)).toEqual(['His']);
  expect(await names('?scope=Dashboard')).toEqual(['Hers', 'His']);
  expect(await names(`?scope=Dashboard&item_id=${String(body?.['id'])}`)).toEqual(['His']);
  expect(await names('?scope=Insight')).toEqual([]);
  for (const query of ['?scope=Nonsense', '?user=nonsense']) expect((await list(query)).status).toBe(400);
});

test('of a long log a filter that finds little looks at a part, and goes on from there', async () => {
  const { context, service, list } = await world();
  const { id } = service.organization;
  const tell = systemActivityOps(context, id);
  await service.call('POST', dashboardsOf(service), { body: { name: 'Oldest' } });
  context.clock.advance(1_000);
  const many = Array.from({ length: 10_050 }, (_, n) =>
    tell({ scope: 'Insight', id: n, activity: 'created', name: null }),
  ).flat();
  await context.table.write(
    many.flatMap((op) => ('put' in op ? [{ put: op.put }] : [])),
    { apart: true },
  );
  const first = await list('?scope=Dashboard');
  expect(first.body).toMatchObject({ results: [], next: expect.any(String) });
  const second = await service.call('GET', String(first.body?.['next']).replace(service.address, ''));
  expect(second.body).toMatchObject({ results: [{ detail: { name: 'Oldest' } }], next: null });
});

test('entries end after 400 days', async () => {
  const { context, entries } = await world();
  context.clock.advance(400 * DAY_MS - 1_000);
  expect(await entries()).not.toEqual([]);
  context.clock.advance(2_000);
  expect(await entries()).toEqual([]);
});

test('a page is one round trip beside the caller, and one for users that were not seen before', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const { list } = await world({ ...context, table });
  await list();
  table.counted();
  expect((await list()).status).toBe(200);
  expect(table.counted()).toBe(1);
});

test('of secrets it says that they were sent, of a rolled key the masks, of sharing no token', async () => {
  const { service, entries, changes } = await world();
  const secret = BUCKET.config.aws_secret_access_key;
  const made = await service.call('POST', byProject(service), {
    body: { name: 'Hourly', interval: 'hour', destination: BUCKET },
  });
  await service.call('PATCH', `${byProject(service)}/${String(made.body?.['id'])}/`, {
    body: { destination: { type: 'S3', config: { prefix: 'q', aws_secret_access_key: 'another-secret' } } },
  });
  expect(await changes('?scope=BatchExport')).toEqual([
    { type: 'BatchExport', action: 'changed', field: 'destination_config.prefix', before: 'p', after: 'q' },
    {
      type: 'BatchExport',
      action: 'changed',
      field: 'destination_config.aws_secret_access_key',
      before: null,
      after: null,
    },
  ]);
  const key = await service.call('POST', '/api/personal_api_keys/', { body: { label: 'CI', scopes: ['*'] } });
  const rolled = await service.call('POST', `/api/personal_api_keys/${String(key.body?.['id'])}/roll/`);
  const masks = [key, rolled].map(({ body }) => body?.['mask_value']);
  expect(await changes('?scope=PersonalAPIKey')).toEqual([
    { type: 'PersonalAPIKey', action: 'changed', field: 'mask', before: masks[0], after: masks[1] },
  ]);
  const dashboard = await service.call('POST', dashboardsOf(service), { body: { name: 'Weekly' } });
  const sharing = `${dashboardsOf(service)}${String(dashboard.body?.['id'])}/sharing/`;
  const shared = await service.call('PATCH', sharing, { body: { enabled: true } });
  const text = JSON.stringify(await entries());
  const values = [
    key.body?.['value'],
    rolled.body?.['value'],
    shared.body?.['access_token'],
    service.project.api_token,
  ];
  for (const value of [secret, 'another-secret', service.key, ...values]) expect(text).not.toContain(value);
});

test('a key is told of where it opens something: its organizations, or those of its projects, else all', async () => {
  const { context, service, entries } = await world();
  const other = await createOrganization(context, { name: 'Other', owner: service.owner });
  const inOther = async () => {
    const reply = await service.call(
      'GET',
      `/api/organizations/${other.organization.id}/activity/?scope=PersonalAPIKey`,
    );
    return (reply.body?.['results'] as Entry[] | undefined)?.map(({ detail }) => detail.name);
  };
  const inOwn = async () => (await entries('?scope=PersonalAPIKey')).map(({ detail }) => detail.name);
  const make = (label: string, limits: object = {}) =>
    service.call('POST', '/api/personal_api_keys/', { body: { label, scopes: ['*'], ...limits } });
  await make('all');
  await make('by organization', { scoped_organizations: [other.organization.id] });
  const limited = await make('by project', { scoped_teams: [service.project.id] });
  expect(await inOther()).toEqual(['by organization', 'all']);
  expect(await inOwn()).toEqual(['by project', 'all', 'Everything']);
  // Both the place that it leaves and the one that it now opens are told.
  const path = `/api/personal_api_keys/${String(limited.body?.['id'])}/`;
  await service.call('PATCH', path, { body: { scoped_teams: [other.project.id] } });
  expect(await inOther()).toEqual(['by project', 'by organization', 'all']);
  expect((await inOwn()).slice(0, 2)).toEqual(['by project', 'by project']);
});

test('of what a key is limited to, an organization is told its own part', async () => {
  const { context, service, list } = await world();
  const other = await createOrganization(context, { name: 'Other', owner: service.owner });
  const [own, foreign] = [service.organization.id, other.organization.id];
  const both = {
    scoped_teams: [service.project.id, other.project.id],
    scoped_organizations: [own, foreign],
  };
  const body = { label: 'CI', scopes: ['*'], ...both };
  const made = await service.call('POST', '/api/personal_api_keys/', { body });
  const path = `/api/personal_api_keys/${String(made.body?.['id'])}/`;
  await service.call('PATCH', path, {
    body: { scoped_teams: [other.project.id], scoped_organizations: [foreign] },
  });
  const { text, body: log } = await list('?scope=PersonalAPIKey');
  expect(text).not.toContain(foreign);
  const limits = ((log?.['results'] ?? []) as Entry[]).slice(0, 2).map(({ activity, detail }) => ({
    activity,
    changes: detail.changes.flatMap(({ field, before, after }) =>
      String(field).startsWith('scoped_') ? [[field, before, after]] : [],
    ),
  }));
  expect(limits).toEqual([
    {
      activity: 'updated',
      changes: [
        ['scoped_teams', [service.project.id, null], [null]],
        ['scoped_organizations', [own, null], [null]],
      ],
    },
    {
      activity: 'created',
      changes: [
        ['scoped_teams', null, [service.project.id, null]],
        ['scoped_organizations', null, [own, null]],
      ],
    },
  ]);
});

test('of a project that was deleted the log stays', async () => {
  const { context, service, entries } = await world();
  const { organization, project } = service;
  await service.call('POST', dashboardsOf(service), { body: { name: 'Weekly' } });
  await deleteProject(context, { organization, project }, systemActivityOps(context, organization.id), undefined);
  expect((await entries()).slice(0, 2)).toMatchObject([
    { scope: 'Project', activity: 'deleted', team_id: project.id, detail: { name: project.name } },
    { scope: 'Dashboard', activity: 'created', team_id: project.id },
  ]);
});

test('however often a change is tried, it is told once, and never when it was not made', async () => {
  const random = seeded(7);
  const context = testContext();
  const table = unreliable(context.table, { random, clock: context.clock, busy: 0.3, lost: 0.3 });
  const owner = await createUser(context, { email: 'owner@example.com' });
  const { organization } = await createOrganization(context, { name: 'Acme', owner });
  const shaky = { ...context, table };
  const joined: string[] = [];
  for (let n = 0; n < 40; n++) {
    const user = await createUser(context, { email: `user-${n}@example.com` });
    // A caller who gets no answer tries again.
    for (let left = 10; left > 0; left--) {
      try {
        await addMember(shaky, { organization, user, level: LEVELS.member });
        break;
      } catch (error) {
        if (String(error).includes('already')) break;
      }
    }
    joined.push(user.uuid);
  }
  const { items } = await context.table.list(ranges.activityOf(organization.id), { limit: 1_000 });
  const told = items.filter((item) => item['scope'] === 'OrganizationMembership').map((item) => item['item_id']);
  expect(told).toHaveLength(joined.length);
  expect(new Set(told)).toEqual(new Set(joined));
});

test('changes of one dashboard at the same time are told one by one', async () => {
  const { service, entries } = await world();
  const { body } = await service.call('POST', dashboardsOf(service), { body: { name: 'Weekly' } });
  const path = `${dashboardsOf(service)}${String(body?.['id'])}/`;
  const tags = ['a', 'b', 'c', 'd', 'e', 'f'];
  await Promise.all(tags.map((tag) => service.call('PATCH', path, { body: { tags: [tag] } })));
  const told = (await entries('?scope=Dashboard')).filter(({ activity }) => activity === 'updated');
  expect(told).toHaveLength(tags.length);
  expect(new Set(told.flatMap(({ detail }) => detail.changes[0]?.['after']))).toEqual(new Set(tags));
});

test('an operator who revokes a key is told of too', async () => {
  const { context, service, entries } = await world();
  const { item } = await createKey(context, { user: service.owner, label: 'CI', scopes: [] });
  await revokeKey(context, item, { ifMatch: undefined });
  expect(await entries('?scope=PersonalAPIKey')).toMatchObject([
    { activity: 'deleted', is_system: true, item_id: item.id },
    { activity: 'created', is_system: true, item_id: item.id },
    {},
  ]);
});
