import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { findKey, sha256 } from '../../../lib/accounts/personal-api-keys/lookup.ts';
import { keysOfUser, revokeKey } from '../../../lib/accounts/personal-api-keys/store.ts';
import { HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import type { Op } from '../../../lib/ports/table/table.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type CallOptions, type Reply, type Service, testService } from '../../support/service.ts';
import { actBefore, watchWrites } from '../../support/table-override.ts';

const PATH = '/api/personal_api_keys/';

const create = (service: Service, body: object, options: CallOptions = {}) =>
  service.call('POST', PATH, { body: { label: 'CI', scopes: ['dashboard:read'], ...body }, ...options });

const one = (reply: Reply, action = '') => `${PATH}${String(reply.body?.['id'])}/${action}`;
const list = async (service: Service) => (await service.call('GET', PATH)).body as unknown as Record<string, unknown>[];
const current = (service: Service, key: unknown) => service.call('GET', `${PATH}@current/`, { key: String(key) });

async function world() {
  const context = testContext();
  return { context, service: await testService(context) };
}

const denied = (detail: string) => ({ status: 403, body: { code: 'permission_denied', detail, attr: null } });

test('a key is shown once with its value, which opens what its scopes say', async () => {
  const { context, service } = await world();
  context.clock.advance(1_000);
  const reply = await create(service, {
    label: ' CI ',
    scopes: ['organization:read'],
    scoped_organizations: [service.organization.id],
    expires_at: '2027-01-01T00:00:00Z',
  });
  expect(reply).toMatchObject({
    status: 201,
    body: {
      id: expect.any(String),
      label: 'CI',
      value: expect.stringMatching(/^phx_[0-9a-zA-Z]{40,48}$/),
      created_at: '2026-01-01T00:00:01Z',
      last_used_at: null,
      last_rolled_at: null,
      expires_at: '2027-01-01T00:00:00Z',
      user_id: service.owner.id,
      scopes: ['organization:read'],
      scoped_teams: [],
      scoped_organizations: [service.organization.id],
    },
  });
  const value = String(reply.body?.['value']);
  expect(reply.body?.['mask_value']).toBe(`phx_...${value.slice(-4)}`);
  expect((await service.call('GET', '/api/organizations/', { key: value })).status).toBe(200);
  expect((await service.call('GET', PATH, { key: value })).status).toBe(403);
  expect(await list(service)).toMatchObject([
    { label: 'CI', value: null },
    { label: 'Everything', value: null },
  ]);
  expect(JSON.stringify(await list(service))).not.toContain(value.slice(4, -4));
});

test('the list is the own one, newest first', async () => {
  const { context, service } = await world();
  await service.newKey(await service.newUser(LEVELS.admin));
  for (const label of ['a', 'b', 'c']) {
    context.clock.advance(1);
    await create(service, { label });
  }
  expect((await list(service)).map(({ label }) => label)).toEqual(['c', 'b', 'a', 'Everything']);
});

test.each([
  [{ label: '' }, 'label', 'blank', 'This field may not be blank.'],
  [{ label: 'x'.repeat(41) }, 'label', 'max_length', 'Ensure this field has no more than 40 characters.'],
  [{ scopes: undefined }, 'scopes', 'required', 'This field is required.'],
  [{ scopes: ['invalid'] }, 'scopes', 'invalid_input', 'Invalid scope: invalid'],
  [{ scopes: 'dashboard:read' }, 'scopes', 'not_a_list', 'Expected a list of items but got type "str".'],
  [{ scoped_organizations: ['acme'] }, 'scoped_organizations', 'invalid_input', 'Invalid organization UUID'],
  [
    { scoped_teams: [99] },
    'scoped_teams',
    'invalid_input',
    'You must be a member of all teams that you are scoping the key to.',
  ],
  [{ expires_at: '2025-12-31' }, 'expires_at', 'invalid_input', 'The expiry must be in the future.'],
])('%j is refused and makes nothing', async (body, attr, code, detail) => {
  const { service } = await world();
  expect(await create(service, body)).toMatchObject({ status: 400, body: { code, detail, attr } });
  expect(await list(service)).toHaveLength(1);
});

test('limits are named in any spelling of an id, and null limits nothing', async () => {
  const { service } = await world();
  const { id } = service.organization;
  const made = await create(service, { scoped_organizations: [id.toUpperCase(), id], scoped_teams: null });
  expect(made).toMatchObject({ status: 201, body: { scoped_organizations: [id], scoped_teams: [] } });
  const changed = await service.call('PATCH', one(made), { body: { scoped_organizations: null } });
  expect(changed).toMatchObject({ status: 200, body: { scoped_organizations: [] } });
});

test("a key of somebody else's is not there", async () => {
  const { service } = await world();
  const made = await create(service, {});
  const key = await service.newKey(await service.newUser(LEVELS.owner));
  const replies = [
    await service.call('PATCH', one(made), { key, body: { label: 'Mine' } }),
    await service.call('POST', one(made, 'roll/'), { key }),
    await service.call('DELETE', one(made), { key }),
  ];
  expect(replies.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect((await current(service, made.body?.['value'])).body).toMatchObject({ label: 'CI' });
});

describe('of ten keys', () => {
  test('the eleventh is refused, until one is deleted', async () => {
    const { service } = await world();
    const made = [];
    for (let n = 0; n < 9; n++) made.push(await create(service, {}));
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
    const tooMany = 'You can only have 10 personal API keys. Remove an existing key before creating a new one.';
    expect(await create(service, {})).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', detail: tooMany, attr: null },
    });
    const [first] = made;
    if (first === undefined) throw new Error('not made');
    expect((await service.call('DELETE', one(first))).status).toBe(204);
    expect((await create(service, {})).status).toBe(201);
  });

  test('no more are made by many who ask at once', async () => {
    const { context, service } = await world();
    const replies = await Promise.all(Array.from({ length: 16 }, () => create(service, {})));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(9);
    expect(replies.filter(({ status }) => status === 400)).toHaveLength(7);
    expect(await keysOfUser(context.table, service.owner.uuid)).toHaveLength(10);
  });
});

describe('a key that asks', () => {
  test('tells what it is, whatever its scopes and limits', async () => {
    const { service } = await world();
    for (const limits of [
      {},
      { scoped_teams: [service.project.id] },
      { scoped_organizations: [service.organization.id] },
    ]) {
      const { body } = await create(service, { scopes: [], ...limits });
      const reply = await current(service, body?.['value']);
      expect(reply).toMatchObject({
        status: 200,
        body: { ...body, value: null, last_used_at: '2026-01-01T00:00:00Z' },
      });
    }
  });

  test('is told of its later uses, whatever version it has', async () => {
    const { context, service } = await world();
    const key = String((await create(service, {})).body?.['value']);
    const tag = String((await current(service, key)).headers.get('etag'));
    context.clock.advance(2 * HOUR_MS);
    const again = await service.call('GET', `${PATH}@current/`, { key, headers: { 'If-None-Match': tag } });
    expect(again).toMatchObject({ status: 200, body: { last_used_at: '2026-01-01T02:00:00Z' } });
  });

  test('is told at once that it is none any more, though the gateway remembers it', async () => {
    const { service } = await world();
    const made = await create(service, {});
    const value = made.body?.['value'];
    expect((await current(service, value)).status).toBe(200);
    await service.call('DELETE', one(made));
    expect(await current(service, value)).toMatchObject({ status: 401, body: { code: 'not_authenticated' } });
  });

  test('is void from its expiry on, though the gateway remembers it', async () => {
    const { context, service } = await world();
    const key = await service.newKey(service.owner, { expires_at: context.clock() + MINUTE_MS / 2 });
    const status = async () => (await service.call('GET', '/api/organizations/', { key })).status;
    expect(await status()).toBe(200);
    context.clock.advance(MINUTE_MS / 2 - 1);
    expect(await status()).toBe(200);
    context.clock.advance(1);
    expect(await service.call('GET', '/api/organizations/', { key })).toMatchObject({
      status: 401,
      body: { type: 'authentication_error', code: 'not_authenticated', attr: null },
    });
  });

  test('cannot make, rename, widen, roll, empty or delete a key that may more', async () => {
    const { service } = await world();
    const { owner } = service;
    const key = await service.newKey(owner, { scopes: ['personal_api_key:write', 'dashboard:read'] });
    const strong = await create(service, { scopes: ['dashboard:write'] });
    const weak = await create(service, { scopes: ['dashboard:read'] }, { key });
    expect(weak.status).toBe(201);
    const missing = denied("API key missing required scope 'dashboard:write'");
    expect(await create(service, { scopes: ['dashboard:write'] }, { key })).toMatchObject(missing);
    expect(await create(service, { scopes: ['*'] }, { key })).toMatchObject(
      denied("API key missing required scope '*'"),
    );
    expect(await service.call('PATCH', one(weak), { key, body: { scopes: ['dashboard:write'] } })).toMatchObject(
      missing,
    );
    expect(await service.call('POST', one(strong, 'roll/'), { key })).toMatchObject(missing);
    expect(await service.call('PATCH', one(strong), { key, body: { expires_at: null } })).toMatchObject(missing);
    expect(await service.call('PATCH', one(strong), { key, body: { label: 'Renamed' } })).toMatchObject(missing);
    expect(await service.call('PATCH', one(strong), { key, body: { scopes: [] } })).toMatchObject(missing);
    expect(await service.call('DELETE', one(strong), { key })).toMatchObject(missing);
    const limited = await service.newKey(owner, { scoped_organizations: [service.organization.id] });
    const unlimited = denied(
      'An API key that is limited to some organizations can only make, change or delete keys that are limited to them.',
    );
    expect(await service.call('DELETE', one(strong), { key: limited })).toMatchObject(unlimited);
    expect((await current(service, strong.body?.['value'])).body).toMatchObject({ scopes: ['dashboard:write'] });
    expect((await service.call('DELETE', one(weak), { key })).status).toBe(204);
    const itself = await current(service, key);
    expect(
      (await service.call('PATCH', one(itself), { key, body: { scopes: ['personal_api_key:write'] } })).status,
    ).toBe(200);
    expect((await service.call('DELETE', one(itself), { key })).status).toBe(204);
  });

  test('and is limited to organizations makes keys for these only', async () => {
    const { context, service } = await world();
    const { owner, organization } = service;
    const other = await createOrganization(context, { name: 'Other', owner });
    const key = await service.newKey(owner, { scoped_organizations: [organization.id] });
    expect(await create(service, {}, { key })).toMatchObject({ status: 403 });
    expect(await create(service, { scoped_organizations: [other.organization.id] }, { key })).toMatchObject(
      denied(`API key does not have access to the requested organization: ID ${other.organization.id}.`),
    );
    expect((await create(service, { scoped_organizations: [organization.id] }, { key })).status).toBe(201);
  });

  test('and lost a scope a moment ago makes no key with it, though the gateway remembers it', async () => {
    const { service } = await world();
    const made = await create(service, { scopes: ['personal_api_key:write', 'query:read'] });
    const key = String(made.body?.['value']);
    expect((await create(service, { scopes: ['query:read'] }, { key })).status).toBe(201);
    await service.call('PATCH', one(made), { body: { scopes: ['personal_api_key:write'] } });
    expect(await create(service, { scopes: ['query:read'] }, { key })).toMatchObject(
      denied("API key missing required scope 'query:read'"),
    );
  });
});

describe('a change', () => {
  test('by the key itself takes nothing back that was taken from it meanwhile', async () => {
    const context = testContext();
    const taking = { now: false };
    const table = watchWrites(context.table, async (ops) => {
      if (!taking.now || !ops.some((op) => 'change' in op && 'scopes' in (op.set ?? {}))) return;
      taking.now = false;
      const [item] = (await keysOfUser(context.table, service.owner.uuid)).filter(({ label }) => label === 'CI');
      if (item === undefined) throw new Error('no key');
      const set = { scopes: '["personal_api_key:write"]' };
      await context.table.write([{ change: { pk: item.pk, sk: item.sk }, set, add: { ver: 1 } }]);
    });
    const service = await testService({ ...context, table });
    const made = await create(service, { scopes: ['*'] });
    const key = String(made.body?.['value']);
    taking.now = true;
    expect(await service.call('PATCH', one(made), { body: { scopes: ['*'] }, key })).toMatchObject(
      denied("API key missing required scope '*'"),
    );
    expect((await current(service, key)).body).toMatchObject({ scopes: ['personal_api_key:write'] });
  });

  test('moves label, scopes, limits and expiry, and acts within a minute', async () => {
    const { context, service } = await world();
    const made = await create(service, { scopes: ['organization:read'] });
    const value = String(made.body?.['value']);
    expect((await service.call('GET', '/api/organizations/', { key: value })).status).toBe(200);
    const body = {
      label: 'New',
      scopes: ['batch_export:write'],
      scoped_teams: [service.project.id],
      expires_at: '2026-06-01T00:00:00Z',
    };
    const changed = await service.call('PATCH', one(made), { body });
    expect(changed).toMatchObject({
      status: 200,
      body: { ...made.body, ...body, value: null, last_used_at: '2026-01-01T00:00:00Z' },
    });
    expect(changed.headers.get('etag')).toBe('"2"');
    context.clock.advance(MINUTE_MS);
    expect((await service.call('GET', '/api/organizations/', { key: value })).status).toBe(403);
    expect((await current(service, value)).body).toMatchObject(body);
    context.clock.set(Date.parse(body.expires_at));
    expect((await current(service, value)).status).toBe(401);
  });

  test('of different fields at once leaves both', async () => {
    const { service } = await world();
    const made = await create(service, {});
    await Promise.all([
      service.call('PATCH', one(made), { body: { label: 'New' } }),
      service.call('PATCH', one(made), { body: { scopes: ['query:read'] } }),
    ]);
    const [changed] = (await list(service)).filter(({ id }) => id === made.body?.['id']);
    expect(changed).toMatchObject({ label: 'New', scopes: ['query:read'] });
  });
});

test('a key that is rolled has another value and is else what it was; it may roll itself', async () => {
  const { context, service } = await world();
  const made = await create(service, { scopes: ['personal_api_key:write'] });
  const before = String(made.body?.['value']);
  context.clock.advance(1_000);
  const rolled = await service.call('POST', one(made, 'roll/'), { key: before });
  const after = String(rolled.body?.['value']);
  expect(rolled).toMatchObject({
    status: 200,
    body: {
      ...made.body,
      value: after,
      mask_value: `phx_...${after.slice(-4)}`,
      last_rolled_at: '2026-01-01T00:00:01Z',
    },
  });
  expect(after).not.toBe(before);
  expect(await findKey(context.table, sha256(before))).toBeUndefined();
  expect((await current(service, after)).status).toBe(200);
  context.clock.advance(MINUTE_MS);
  expect((await current(service, before)).status).toBe(401);
  expect(await list(service)).toHaveLength(2);
});

test('a value that was rolled while the gateway remembers it makes, changes and shows no key, and takes none back', async () => {
  const { service } = await world();
  const made = await create(service, { scopes: ['*'] });
  const other = await create(service, {});
  const key = String(made.body?.['value']);
  const all = (reply: Reply, headers = {}) => [
    () => create(service, {}, { key, headers }),
    () => current(service, key),
    () => service.call('PATCH', one(reply), { key, headers, body: { label: 'Mine' } }),
    () => service.call('POST', one(reply, 'roll/'), { key, headers }),
    () => service.call('DELETE', one(reply), { key, headers }),
  ];
  const statuses = async (calls: (() => Promise<Reply>)[]) => {
    const found = [];
    for (const call of calls) found.push((await call()).status);
    return found;
  };
  // The gateway remembers the value for each of them, and nothing changes.
  const untouched = await statuses(all(other, { 'If-Match': '"9"' }));
  expect(untouched.slice(1)).toEqual([200, 412, 412, 412]);
  const rolled = await service.call('POST', one(made, 'roll/'));
  const before = await list(service);
  for (const reply of [made, other])
    for (const call of all(reply))
      expect(await call()).toMatchObject({ status: 401, body: { code: 'not_authenticated' } });
  expect(await list(service)).toEqual(before);
  expect((await current(service, rolled.body?.['value'])).status).toBe(200);
});

test('a key that has changed since the version of If-Match is not rolled', async () => {
  const { context, service } = await world();
  const made = await create(service, {});
  const headers = { 'If-Match': String(made.headers.get('etag')) };
  await service.call('PATCH', one(made), { body: { label: 'New' } });
  expect(await service.call('POST', one(made, 'roll/'), { headers })).toMatchObject({
    status: 412,
    body: { code: 'precondition_failed' },
  });
  expect(await findKey(context.table, sha256(String(made.body?.['value'])))).toBeDefined();
  expect((await service.call('POST', one(made, 'roll/'), { headers: { 'If-Match': '"2"' } })).status).toBe(200);
});

test('each costs two round trips to know who asks, and one to write', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  const trips = async (run: () => Promise<Reply>): Promise<number> => {
    await run();
    table.counted();
    await run();
    return table.counted();
  };
  const made = await create(service, {});
  expect(await trips(() => service.call('GET', PATH))).toBe(2);
  expect(await trips(() => current(service, service.key))).toBe(2);
  expect(await trips(() => create(service, {}))).toBe(3);
  expect(await trips(() => service.call('PATCH', one(made), { body: { label: 'New' } }))).toBe(3);
  expect(await trips(() => service.call('POST', one(made, 'roll/')))).toBe(3);
});

test.each([
  ['makes', 'POST', '', { label: 'New', scopes: ['dashboard:read'] }],
  ['changes', 'PATCH', '', { label: 'Another' }],
  ['rolls', 'POST', 'roll/', undefined],
  ['deletes', 'DELETE', '', undefined],
])('who asks by a key that is revoked just before the write %s no key', async (_, method, action, body) => {
  const { context, service } = await world();
  const asking = String((await create(service, { label: 'Asking', scopes: ['*'] })).body?.['value']);
  const other = await create(service, { label: 'Other' });
  const item = await findKey(context.table, sha256(asking));
  if (item === undefined) throw new Error('no key');
  const before = (await list(service)).filter(({ label }) => label !== 'Asking');
  const isAct = (ops: readonly Op[]) => ops.length > 1;
  actBefore(context.table, isAct, () => revokeKey(context, item, { ifMatch: undefined }));
  const path = body !== undefined && method === 'POST' ? PATH : one(other, action);
  expect((await service.call(method, path, { key: asking, body })).status).toBe(404);
  expect(await list(service)).toEqual(before);
});
