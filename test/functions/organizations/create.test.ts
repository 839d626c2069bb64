import { startGateway } from '../../../infra/local/gateway/gateway.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { seeded } from '../../support/random.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type Service, testService } from '../../support/service.ts';
import { unreliable } from '../../support/unreliable-table.ts';

const create = (service: Service, body: unknown, options = {}) =>
  service.call('POST', '/api/organizations/', { body, ...options });

test('an organization comes with its owner and one project, whose number is that of its team', async () => {
  const context = testContext();
  const service = await testService(context);
  context.clock.advance(250);
  const reply = await create(service, { name: '  Größe & Co  ' });
  expect(reply.status).toBe(201);
  expect(reply.headers.get('etag')).toBe('"1"');
  const id = reply.body?.['id'];
  expect(reply.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
    name: 'Größe & Co',
    slug: 'groe-co',
    logo_media_id: null,
    created_at: '2026-01-01T00:00:00.250000Z',
    updated_at: '2026-01-01T00:00:00.250000Z',
    membership_level: 15,
    plugins_access_level: 3,
    teams: [
      {
        id: 2,
        uuid: expect.any(String),
        organization: id,
        project_id: 2,
        api_token: expect.stringMatching(/^phc_[0-9a-zA-Z]{40,44}$/),
        name: 'Default project',
        completed_snippet_onboarding: false,
        has_completed_onboarding_for: null,
        ingested_event: false,
        is_demo: false,
        timezone: 'UTC',
        access_control: false,
      },
    ],
    projects: [{ id: 2, organization_id: id, name: 'Default project' }],
    available_product_features: [
      { key: 'tagging', name: expect.any(String) },
      { key: 'advanced_permissions', name: expect.any(String) },
      { key: 'organizations_projects', name: expect.any(String) },
    ],
    is_member_join_email_enabled: true,
    metadata: '{"instance_tag":"none"}',
    customer_id: null,
    enforce_2fa: false,
    allow_publicly_shared_resources: true,
    member_count: '1',
  });
  expect((await service.call('GET', `/api/organizations/${String(id)}/`)).body).toEqual(reply.body);
  expect(await context.table.get(keys.project(2))).toMatchObject({ organization_id: id, name: 'Default project' });
});

test('what may be written is written, in all its spellings; what is read-only is passed over', async () => {
  const service = await testService(testContext());
  const reply = await create(service, {
    name: 5,
    logo_media_id: '019A0000-0000-7000-8000-00000000000A',
    is_member_join_email_enabled: 'off',
    enforce_2fa: 'Yes',
    id: 'mine',
    slug: 'mine',
    membership_level: 1,
    unknown: true,
  });
  expect(reply).toMatchObject({
    status: 201,
    body: {
      name: '5',
      slug: '5',
      logo_media_id: '019a0000-0000-7000-8000-00000000000a',
      is_member_join_email_enabled: false,
      enforce_2fa: true,
      allow_publicly_shared_resources: true,
      membership_level: 15,
    },
  });
  expect(reply.body?.['id']).not.toBe('mine');
});

test.each([
  [{}, 'name', 'required', 'This field is required.'],
  [{ name: null }, 'name', 'null', 'This field may not be null.'],
  [{ name: '  ' }, 'name', 'blank', 'This field may not be blank.'],
  [{ name: true }, 'name', 'invalid_input', 'Not a valid string.'],
  [{ name: 'x'.repeat(65) }, 'name', 'max_length', 'Ensure this field has no more than 64 characters.'],
  [{ name: 'a\0b' }, 'name', 'null_characters_not_allowed', 'Null characters are not allowed.'],
  [{ name: 'x', logo_media_id: 'abc' }, 'logo_media_id', 'invalid_input', '“abc” is not a valid UUID.'],
  [
    { name: 'x', logo_media_id: true },
    'logo_media_id',
    'incorrect_type',
    'Incorrect type. Expected pk value, received bool.',
  ],
  [
    { name: 'x', is_member_join_email_enabled: null },
    'is_member_join_email_enabled',
    'null',
    'This field may not be null.',
  ],
  [{ name: 'x', enforce_2fa: 'maybe' }, 'enforce_2fa', 'invalid_input', 'Must be a valid boolean.'],
])('%j is refused and makes nothing', async (body, attr, code, detail) => {
  const service = await testService(testContext());
  const reply = await create(service, body);
  expect(reply).toMatchObject({ status: 400, body: { type: 'validation_error', code, detail, attr } });
  expect((await service.call('GET', '/api/organizations/')).body).toMatchObject({ count: 1 });
});

test('a name of 64 code points is fine, whatever they are made of', async () => {
  const service = await testService(testContext());
  const name = '🦔'.repeat(64);
  expect(await create(service, { name })).toMatchObject({ status: 201, body: { name, slug: 'organization' } });
});

test('organizations of one name get slugs of their own', async () => {
  const service = await testService(testContext());
  const slugs = [];
  for (let n = 0; n < 5; n++) slugs.push((await create(service, { name: 'Same name' })).body?.['slug']);
  const [first, ...others] = slugs;
  expect(first).toBe('same-name');
  for (const slug of others) expect(slug).toMatch(/^same-name-[a-z]{4}$/);
  expect(new Set(slugs).size).toBe(5);
});

test('a key that is limited may not create, whatever it sends', async () => {
  const service = await testService(testContext());
  const { organization, project, owner } = service;
  for (const limits of [{ scoped_organizations: [organization.id] }, { scoped_teams: [project.id] }]) {
    const key = await service.newKey(owner, limits);
    expect(await create(service, '{', { key })).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
  }
});

describe('with an Idempotency-Key', () => {
  const headers = { 'Idempotency-Key': 'one' };

  test('a repeat shows the organization as it is now', async () => {
    const service = await testService(testContext());
    const { body: first } = await create(service, { name: 'Once' }, { headers });
    await service.call('PATCH', `/api/organizations/${String(first?.['id'])}/`, { body: { name: 'Renamed' } });
    const again = await create(service, { name: 'Once' }, { headers });
    expect(again).toMatchObject({ status: 201, body: { id: first?.['id'], name: 'Renamed' } });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('etag')).toBe('"2"');
  });

  test('of many at the same time one makes an organization, and all show it', async () => {
    const service = await testService(testContext());
    const replies = await Promise.all(Array.from({ length: 6 }, () => create(service, { name: 'Once' }, { headers })));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201));
    expect(new Set(replies.map(({ body }) => body?.['id'])).size).toBe(1);
    expect((await service.call('GET', '/api/organizations/')).body).toMatchObject({ count: 2 });
  });

  test('a repeat after the organization is gone is a 404', async () => {
    const service = await testService(testContext());
    const { body } = await create(service, { name: 'Once' }, { headers });
    await service.call('DELETE', `/api/organizations/${String(body?.['id'])}/`);
    expect(await create(service, { name: 'Once' }, { headers })).toMatchObject({ status: 404 });
  });
});

test('repeats with one key make one organization, although the table is busy and loses answers', async () => {
  const context = testContext();
  const table = unreliable(context.table, { random: seeded(7), clock: context.clock, busy: 0.3, lost: 0.3 });
  const service = await testService(context);
  const flaky = await startGateway({ context: { ...context, table }, host: '127.0.0.1', port: 0, rateLimit: null });
  const ids: unknown[] = [];
  const statuses = new Set<number>();
  for (const name of ['A', 'B', 'C', 'D', 'E', 'F']) {
    for (let successes = 0; successes < 2; ) {
      const reply = await fetch(`${flaky.address}/api/organizations/`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${service.key}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': name,
        },
        body: JSON.stringify({ name }),
      });
      const { id } = (await reply.json()) as { id?: string };
      statuses.add(reply.status);
      if (reply.status !== 201) continue;
      ids.push(id);
      successes += 1;
    }
  }
  await flaky.close();
  expect(statuses).toEqual(new Set([201, 429]));
  expect(new Set(ids).size).toBe(6);
  expect((await service.call('GET', '/api/organizations/')).body).toMatchObject({ count: 7 });
});

test('a create is three round trips: the caller, the number of the project, one transaction', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  await create(service, { name: 'First' });
  table.counted();
  expect((await create(service, { name: 'Second' })).status).toBe(201);
  expect(table.counted()).toBe(3);
});
