import { systemActivityOps } from '../../../lib/accounts/activity/ops.ts';
import { addMember, createOrganization, deleteOrganization } from '../../../lib/accounts/organizations/store.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type Reply, testService } from '../../support/service.ts';

const namesIn = ({ body = {} }: Reply) => (body['results'] as { name: string }[]).map(({ name }) => name);

/** Ada belongs to Acme (made first), Birch and Cedar; Birch she joined last, Dune is none of hers. */
async function world() {
  const context = testContext();
  const service = await testService(context);
  const ada = await service.newUser(LEVELS.member);
  const made = [];
  for (const name of ['Birch', 'Cedar', 'Dune']) {
    context.clock.advance(1_000);
    made.push((await createOrganization(context, { name, owner: service.owner })).organization);
  }
  const [birch, cedar] = made;
  if (birch === undefined || cedar === undefined) throw new Error('not made');
  await addMember(context, { organization: cedar, user: ada, level: LEVELS.owner });
  await addMember(context, { organization: birch, user: ada, level: LEVELS.admin });
  return { context, service, ada, birch, cedar, key: await service.newKey(ada) };
}

test("the caller's organizations are listed oldest first, each with their own level in it", async () => {
  const { service, key } = await world();
  const reply = await service.call('GET', '/api/organizations/', { key });
  expect(namesIn(reply)).toEqual(['Acme', 'Birch', 'Cedar']);
  expect(reply.body).toMatchObject({
    count: 3,
    next: null,
    previous: null,
    results: [
      { membership_level: 1, member_count: '2' },
      { membership_level: 8, member_count: '2' },
      { membership_level: 15, member_count: '2' },
    ],
  });
});

test('pages follow one another by limit and offset', async () => {
  const { service, key } = await world();
  const first = await service.call('GET', '/api/organizations/?limit=2', { key });
  expect(namesIn(first)).toEqual(['Acme', 'Birch']);
  expect(first.body).toMatchObject({
    count: 3,
    next: `${service.address}/api/organizations/?limit=2&offset=2`,
    previous: null,
  });
  const second = await service.call('GET', '/api/organizations/?limit=2&offset=2', { key });
  expect(namesIn(second)).toEqual(['Cedar']);
  expect(second.body).toMatchObject({
    count: 3,
    next: null,
    previous: `${service.address}/api/organizations/?limit=2`,
  });
});

test('deleted organizations are neither listed nor counted', async () => {
  const { context, service, key, birch } = await world();
  await deleteOrganization(context, birch, systemActivityOps(context, birch.id), undefined);
  const reply = await service.call('GET', '/api/organizations/', { key });
  expect(namesIn(reply)).toEqual(['Acme', 'Cedar']);
  expect(reply.body).toMatchObject({ count: 2 });
});

test('a key that is limited to organizations sees only those', async () => {
  const { service, ada, cedar } = await world();
  const key = await service.newKey(ada, { scoped_organizations: [cedar.id] });
  const reply = await service.call('GET', '/api/organizations/', { key });
  expect(namesIn(reply)).toEqual(['Cedar']);
  expect(reply.body).toMatchObject({ count: 1 });
});

test('a key that is limited to projects is refused', async () => {
  const { service } = await world();
  const key = await service.newKey(service.owner, { scoped_teams: [service.project.id] });
  expect(await service.call('GET', '/api/organizations/', { key })).toMatchObject({
    status: 403,
    body: { detail: 'API keys with scoped projects are only supported on project-based endpoints.' },
  });
});

test('somebody without an organization has an empty list', async () => {
  const { service } = await world();
  const key = await service.newKey(await service.newUser());
  const reply = await service.call('GET', '/api/organizations/', { key });
  expect(reply.body).toEqual({ count: 0, next: null, previous: null, results: [] });
});

test('a list is two round trips, however many organizations there are', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  for (let n = 0; n < 5; n++) await createOrganization(context, { name: `Number ${n}`, owner: service.owner });
  await service.call('GET', '/api/organizations/');
  table.counted();
  expect((await service.call('GET', '/api/organizations/')).body).toMatchObject({ count: 6 });
  expect(table.counted()).toBe(2);
});
