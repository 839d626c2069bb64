import { addMember } from '../../../lib/accounts/organizations/store.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type CallOptions, type Service, testService } from '../../support/service.ts';

const itself = ({ organization }: Service) => `/api/organizations/${organization.id}/`;
const destroy = (service: Service, options: CallOptions = {}) => service.call('DELETE', itself(service), options);

test('an organization is gone at once for everybody, and a job is left that purges it', async () => {
  const context = testContext();
  const service = await testService(context);
  const member = await service.newKey(await service.newUser(LEVELS.member));
  expect(await destroy(service)).toMatchObject({ status: 204, body: undefined });
  for (const key of [service.key, member]) {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const reply = await service.call(method, itself(service), { key, ...(method === 'PATCH' ? { body: {} } : {}) });
      expect(reply).toMatchObject({ status: 404, body: { detail: 'Not found.' } });
    }
  }
  expect((await service.call('GET', '/api/organizations/')).body).toMatchObject({ count: 0 });
  expect(await service.call('GET', '/api/organizations/@current/')).toMatchObject({ status: 404 });
  const nested = await service.call('GET', `${itself(service)}batch_exports/`);
  expect(nested.status).toBe(403);

  const id = service.organization.id;
  expect(await context.table.get(keys.job('purge', id))).toMatchObject({ kind: 'purge', id, due: context.clock() });
  const { items } = await context.table.list(ranges.dueJobs(context.clock()), { limit: 10 });
  expect(items).toHaveLength(1);
});

test.each([
  ['a member', LEVELS.member],
  ['an admin', LEVELS.admin],
])('%s may not delete it', async (_, level) => {
  const service = await testService(testContext());
  const key = await service.newKey(await service.newUser(level));
  expect(await destroy(service, { key })).toMatchObject({
    status: 403,
    body: { code: 'permission_denied', detail: 'Your organization access level is insufficient.' },
  });
  expect((await service.call('GET', itself(service))).status).toBe(200);
});

test('somebody else learns nothing', async () => {
  const service = await testService(testContext());
  const key = await service.newKey(await service.newUser());
  expect(await destroy(service, { key })).toMatchObject({ status: 404, body: { detail: 'Not found.' } });
});

test('as many versions as If-Match may name are looked for, and more are refused', async () => {
  const service = await testService(testContext());
  const naming = (count: number) => ({ 'If-Match': Array.from({ length: count }, (_, n) => `"${n + 1000}"`).join() });
  expect(await destroy(service, { headers: naming(100) })).toMatchObject({ status: 412 });
  expect(await destroy(service, { headers: naming(101) })).toMatchObject({
    status: 400,
    body: { attr: null, detail: 'If-Match names more than 100 versions.' },
  });
  // One that is named again counts once.
  const same = { 'If-Match': Array.from({ length: 101 }, () => '"1000"').join() };
  expect(await destroy(service, { headers: same })).toMatchObject({ status: 412 });
});

test('the version that If-Match names must be the one that is there', async () => {
  const service = await testService(testContext());
  await service.call('PATCH', itself(service), { body: { name: 'Zenith' } });
  expect(await destroy(service, { headers: { 'If-Match': '"1"' } })).toMatchObject({ status: 412 });
  expect(await destroy(service, { headers: { 'If-Match': '"2"' } })).toMatchObject({ status: 204 });
});

test('of two deletions at the same time one does it, the other finds nothing', async () => {
  const service = await testService(testContext());
  const replies = await Promise.all([destroy(service), destroy(service)]);
  expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(['204', '404']);
});

test('its slug and its members stay until the purge, and nobody can join any more', async () => {
  const context = testContext();
  const service = await testService(context);
  await destroy(service);
  const again = await service.call('POST', '/api/organizations/', { body: { name: 'Acme' } });
  expect(again.body?.['slug']).toMatch(/^acme-[a-z]{4}$/);
  const user = await service.newUser();
  const { organization } = service;
  await expect(addMember(context, { organization, user, level: LEVELS.member })).rejects.toMatchObject({
    body: { code: 'not_found', detail: 'Organization not found.' },
  });
});

test('a deletion is two round trips: the caller, one transaction', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  const other = await service.call('POST', '/api/organizations/', { body: { name: 'Other' } });
  await destroy(service);
  table.counted();
  expect((await service.call('DELETE', `/api/organizations/${String(other.body?.['id'])}/`)).status).toBe(204);
  expect(table.counted()).toBe(2);
});
