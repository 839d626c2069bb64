import { LEVELS } from '../../../lib/http/levels.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type CallOptions, type Service, testService } from '../../support/service.ts';

const patch = (service: Service, body: unknown, options: CallOptions = {}) =>
  service.call('PATCH', `/api/organizations/${service.organization.id}/`, { body, ...options });

test('fields that are sent change, the others and the slug stay', async () => {
  const context = testContext();
  const service = await testService(context);
  context.clock.advance(1_000);
  const reply = await patch(service, { name: 'Zenith', enforce_2fa: true, slug: 'zenith', member_count: '9' });
  expect(reply).toMatchObject({
    status: 200,
    body: {
      name: 'Zenith',
      slug: 'acme',
      enforce_2fa: true,
      is_member_join_email_enabled: true,
      member_count: '1',
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:01Z',
    },
  });
  expect(reply.headers.get('etag')).toBe('"2"');
  expect(await patch(service, { enforce_2fa: null })).toMatchObject({ body: { name: 'Zenith', enforce_2fa: false } });
});

test('a logo is set and taken away', async () => {
  const service = await testService(testContext());
  const logo_media_id = '019a0000-0000-7000-8000-00000000000a';
  expect(await patch(service, { logo_media_id })).toMatchObject({ body: { logo_media_id } });
  expect(await patch(service, { logo_media_id: null })).toMatchObject({ body: { logo_media_id: null } });
});

test('admins may, members may not, whatever they send', async () => {
  const service = await testService(testContext());
  const admin = await service.newKey(await service.newUser(LEVELS.admin));
  const member = await service.newKey(await service.newUser(LEVELS.member));
  expect(await patch(service, { name: 'Zenith' }, { key: admin })).toMatchObject({
    status: 200,
    body: { name: 'Zenith', membership_level: 8 },
  });
  for (const body of [{ name: 'Mine' }, {}, '{']) {
    expect(await patch(service, body, { key: member })).toMatchObject({
      status: 403,
      body: { code: 'permission_denied', detail: 'Your organization access level is insufficient.', attr: null },
    });
  }
  expect((await patch(service, {})).body).toMatchObject({ name: 'Zenith' });
});

test('a bad field changes nothing', async () => {
  const service = await testService(testContext());
  expect(await patch(service, { enforce_2fa: true, name: '' })).toMatchObject({
    status: 400,
    body: { code: 'blank', attr: 'name' },
  });
  expect((await service.call('GET', '/api/organizations/@current/')).body).toMatchObject({
    name: 'Acme',
    enforce_2fa: false,
  });
});

test('changes of different fields at the same time both last', async () => {
  const service = await testService(testContext());
  await Promise.all([patch(service, { name: 'Zenith' }), patch(service, { enforce_2fa: true })]);
  const { body, headers } = await service.call('GET', '/api/organizations/@current/');
  expect(body).toMatchObject({ name: 'Zenith', enforce_2fa: true });
  expect(headers.get('etag')).toBe('"3"');
});

test('of changes that name the same version one is made', async () => {
  const service = await testService(testContext());
  const headers = { 'If-Match': '"1"' };
  const replies = await Promise.all(['A', 'B', 'C'].map((name) => patch(service, { name }, { headers })));
  expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(['200', '412', '412']);
});

test('removal of a member acts at once, although their key is still remembered', async () => {
  const context = testContext();
  const service = await testService(context);
  const user = await service.newUser(LEVELS.admin);
  const key = await service.newKey(user);
  expect(await patch(service, { name: 'Zenith' }, { key })).toMatchObject({ status: 200 });
  await context.table.write([{ remove: keys.membership(user.uuid, service.organization.id) }]);
  expect(await patch(service, { name: 'Mine' }, { key })).toMatchObject({ status: 404 });
});

test('a change is two round trips: the caller, one write', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  await patch(service, {});
  table.counted();
  expect((await patch(service, { name: 'Zenith' })).status).toBe(200);
  expect(table.counted()).toBe(2);
});
