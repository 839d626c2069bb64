import { systemActivityOps } from '../../../../lib/accounts/activity/ops.ts';
import {
  addMember,
  createOrganization,
  deleteOrganization,
  findOrganization,
  organizationsOf,
  userWithMemberships,
} from '../../../../lib/accounts/organizations/store.ts';
import { createUser } from '../../../../lib/accounts/users/store.ts';
import { LEVELS } from '../../../../lib/http/levels.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
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

test('a user makes a hundred organizations and no more, however many are asked for at once; one that is deleted does not count', async () => {
  const { context, owner, organization } = await seeded();
  const create = (name: string) => createOrganization(context, { name, owner });
  for (let n = 2; n <= 99; n++) await create(`Number ${n}`);
  const other = await createUser(context, { email: 'other@example.com' });
  const { organization: theirs } = await createOrganization(context, { name: 'Theirs', owner: other });
  await addMember(context, { organization: theirs, user: owner, level: LEVELS.admin });
  const made = await Promise.allSettled(['A', 'B', 'C'].map(create));
  expect(made.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
  const refusal = { kind: 'validation', body: { detail: 'A user can make at most 100 organizations.', attr: null } };
  await expect(create('D')).rejects.toMatchObject(refusal);
  expect(await organizationsOf(context.table, owner.uuid)).toHaveLength(101);
  await deleteOrganization(context, organization, systemActivityOps(context, organization.id), undefined);
  await create('E');
  await expect(create('F')).rejects.toMatchObject(refusal);
});

test('a user makes as many as the deployment lets them: on AWS what is set apart for all is not for one', async () => {
  const settings = { ...LOCAL_SETTINGS, organizationsPerUser: 2 };
  const context = testContext({ settings });
  const owner = await createUser(context, { email: 'owner@example.com' });
  const create = (name: string) => createOrganization(context, { name, owner });
  await create('A');
  await create('B');
  await expect(create('C')).rejects.toMatchObject({
    body: { detail: 'A user can make at most 2 organizations.', attr: null },
  });
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
  expect(await userWithMemberships(context.table, user.uuid)).toEqual({ user, memberships: [membership] });
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
