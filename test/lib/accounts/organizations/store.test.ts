import {
  addMember,
  createOrganization,
  findOrganization,
  membershipsOf,
  organizationsOf,
} from '../../../../lib/accounts/organizations/store.ts';
import { createUser } from '../../../../lib/accounts/users/store.ts';
import { LEVELS } from '../../../../lib/http/levels.ts';
import { ranges } from '../../../../lib/ports/table/keys.ts';
import { testContext } from '../../../support/context.ts';

async function seeded() {
  const context = testContext();
  const owner = await createUser(context, { email: 'owner@example.com' });
  const made = await createOrganization(context, { name: 'Acme', owner });
  return { context, owner, ...made };
}

test('a slug that is taken gets a tail, and when all tails are taken nothing is made', async () => {
  const context = testContext();
  // Tails have four letters; tokens are longer.
  const random = (bytes: number) => (bytes === 4 ? Buffer.alloc(bytes) : context.random(bytes));
  const owner = await createUser(context, { email: 'owner@example.com' });
  const create = () => createOrganization({ ...context, random }, { name: 'Acme', owner });
  expect((await create()).organization.slug).toBe('acme');
  expect((await create()).organization.slug).toBe('acme-aaaa');
  await expect(create()).rejects.toThrow('condition');
  expect(await organizationsOf(context.table, owner.uuid)).toHaveLength(2);
});

test('a name is checked here too, for callers that are not HTTP', async () => {
  const { context, owner } = await seeded();
  for (const name of ['', ' ', 'x'.repeat(65)]) {
    await expect(createOrganization(context, { name, owner })).rejects.toMatchObject({ body: { attr: 'name' } });
  }
});

test('a member is counted, listed by the organization and finds it', async () => {
  const { context, organization } = await seeded();
  const user = await createUser(context, { email: 'ada@example.com' });
  context.clock.advance(1);
  const membership = await addMember(context, { organization, user, level: LEVELS.admin });
  expect(membership).toMatchObject({ level: 8, joined_at: context.clock() });
  expect(await membershipsOf(context.table, user.uuid)).toEqual([membership]);
  expect(await findOrganization(context.table, organization.id)).toMatchObject({ members: 2, ver: 1 });
  const { items } = await context.table.list(ranges.membersOf(organization.id), { limit: 10 });
  expect(items.map((item) => item['level'])).toEqual([15, 8]);
});

test('nobody is a member twice, and the count stays right', async () => {
  const { context, organization } = await seeded();
  const user = await createUser(context, { email: 'ada@example.com' });
  const add = () => addMember(context, { organization, user, level: LEVELS.member });
  const added = await Promise.allSettled([add(), add(), add()]);
  expect(added.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
  await expect(add()).rejects.toMatchObject({ body: { detail: 'The user is already a member of the organization.' } });
  expect(await findOrganization(context.table, organization.id)).toMatchObject({ members: 2 });
});
