import { LEVELS } from '../../../lib/http/levels.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { testService } from '../../support/service.ts';

test('every member reads the organization, with their own level', async () => {
  const service = await testService(testContext());
  for (const level of [LEVELS.member, LEVELS.admin, LEVELS.owner]) {
    const key = await service.newKey(await service.newUser(level), { scopes: ['organization:read'] });
    const reply = await service.call('GET', `/api/organizations/${service.organization.id}/`, { key });
    expect(reply).toMatchObject({ status: 200, body: { name: 'Acme', slug: 'acme', membership_level: level } });
  }
});

test('somebody else is told that there is none', async () => {
  const service = await testService(testContext());
  const key = await service.newKey(await service.newUser());
  const there = await service.call('GET', `/api/organizations/${service.organization.id}/`, { key });
  const nowhere = await service.call('GET', '/api/organizations/019a0000-0000-7000-8000-000000000000/', { key });
  expect(there).toMatchObject({ status: 404, body: { detail: 'Not found.', code: 'not_found' } });
  expect(nowhere.body).toEqual(there.body);
});

test('@current is the first organization that the caller joined; without one there is none', async () => {
  const service = await testService(testContext());
  const current = (key: string) => service.call('GET', '/api/organizations/@current/', { key });
  expect(await current(service.key)).toMatchObject({ status: 200, body: { id: service.organization.id } });
  const key = await service.newKey(await service.newUser());
  expect(await current(key)).toMatchObject({ status: 404, body: { detail: 'Current organization not found.' } });
});

test('the version that a caller has hides neither projects nor members that have changed since', async () => {
  const service = await testService(testContext());
  const organization = `/api/organizations/${service.organization.id}/`;
  const project = `/api/projects/${service.project.id}/`;
  const again = () => service.call('GET', organization, { headers: { 'If-None-Match': '"1"' } });
  await service.call('PATCH', project, { body: { name: 'Renamed' } });
  expect(await again()).toMatchObject({ status: 200, body: { projects: [{ name: 'Renamed' }] } });
  const { body } = await service.call('POST', `${project}reset_token/`, { body: {} });
  expect(await again()).toMatchObject({ status: 200, body: { teams: [{ api_token: body?.['api_token'] }] } });
  await service.newUser(LEVELS.member);
  expect(await again()).toMatchObject({ status: 200, body: { member_count: '2' } });
  const changed = await service.call('PATCH', organization, {
    body: { name: 'Acme 2' },
    headers: { 'If-Match': '"1"' },
  });
  expect(changed.status).toBe(200);
});

test('a retrieve is one round trip', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  const path = `/api/organizations/${service.organization.id}/`;
  await service.call('GET', path);
  table.counted();
  expect((await service.call('GET', path)).status).toBe(200);
  expect(table.counted()).toBe(1);
});
