import { createHash } from 'node:crypto';
import { systemActivityOps } from '../../../../lib/accounts/activity/ops.ts';
import {
  createOrganization,
  deleteOrganization,
  userWithMemberships,
} from '../../../../lib/accounts/organizations/store.ts';
import { findKey, noteUse, sha256 } from '../../../../lib/accounts/personal-api-keys/lookup.ts';
import {
  changeKey,
  createKey,
  keysOfUser,
  revokeKey,
  rollKey,
} from '../../../../lib/accounts/personal-api-keys/store.ts';
import type { UserItem } from '../../../../lib/accounts/users/model.ts';
import { createUser } from '../../../../lib/accounts/users/store.ts';
import { HOUR_MS } from '../../../../lib/basics/units.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { keys, ranges } from '../../../../lib/ports/table/keys.ts';
import { testContext } from '../../../support/context.ts';

async function seeded() {
  const context = testContext();
  const user = await createUser(context, { email: 'ada@example.com' });
  const { organization, project } = await createOrganization(context, { name: 'Acme', owner: user });
  return { context, user, organization, project };
}

const NOBODY = { activityOps: () => [], memberships: [] };

const stored = async ({ table }: Pick<Context, 'table'>, { uuid }: UserItem) =>
  (await table.get(keys.user(uuid))) as UserItem;

test('a key is stored by the hash of its value, with a mask, never with the value', async () => {
  const { context, user } = await seeded();
  const { item, value } = await createKey(context, { user, label: ' CI ', scopes: ['dashboard:read'] });
  expect(value).toMatch(/^phx_[0-9a-zA-Z]{40,48}$/);
  const stored = await context.table.get(keys.personalApiKey(createHash('sha256').update(value).digest('hex')));
  expect(stored).toEqual(item);
  expect(JSON.stringify(stored)).not.toContain(value.slice(4, -4));
  expect(item).toMatchObject({
    label: 'CI',
    mask: `phx_...${value.slice(-4)}`,
    scopes: '["dashboard:read"]',
    scoped_teams: '[]',
    scoped_organizations: '[]',
    last_used_at: null,
    expires_at: null,
  });
  expect(await findKey(context.table, sha256(value))).toEqual(item);
});

test('keys of a user are listed newest first, and a revoked one is gone', async () => {
  const { context, user } = await seeded();
  const first = await createKey(context, { user, label: 'first', scopes: [] });
  context.clock.advance(1);
  const second = await createKey(context, { user, label: 'second', scopes: ['*'] });
  expect(await keysOfUser(context.table, user.uuid)).toEqual([second.item, first.item]);
  await revokeKey(context, second.item, { ifMatch: undefined });
  expect(await keysOfUser(context.table, user.uuid)).toEqual([first.item]);
  expect(await findKey(context.table, sha256(second.value))).toBeUndefined();
});

test('the use of a key is noted once an hour, and a revoked key does not come back by it', async () => {
  const { context, user } = await seeded();
  const { value } = await createKey(context, { user, label: 'CI', scopes: ['*'] });
  const used = async () => {
    const item = await findKey(context.table, sha256(value));
    if (item === undefined) throw new Error('no key');
    await noteUse(context.table, item, context.clock());
    return (await findKey(context.table, sha256(value)))?.last_used_at;
  };
  const start = context.clock();
  expect(await used()).toBe(start);
  context.clock.advance(3_599_999);
  expect(await used()).toBe(start);
  context.clock.advance(1);
  expect(await used()).toBe(start + HOUR_MS);

  const item = await findKey(context.table, sha256(value));
  if (item === undefined) throw new Error('no key');
  await revokeKey(context, item, { ifMatch: undefined });
  await expect(noteUse(context.table, item, start + 1e9)).rejects.toThrow('condition');
  expect(await findKey(context.table, sha256(value))).toBeUndefined();
});

test.each([
  [{ scopes: ['invalid'] }, 'scopes', 'Invalid scope: invalid'],
  [{ scopes: ['dashboard:delete'] }, 'scopes', 'Invalid scope: dashboard:delete'],
  [{ scopes: ['__proto__:read'] }, 'scopes', 'Invalid scope: __proto__:read'],
  [{ label: '  ' }, 'label', 'This field may not be blank.'],
  [{ label: 'x'.repeat(41) }, 'label', 'Ensure this field has no more than 40 characters.'],
  [{ scoped_organizations: ['acme'] }, 'scoped_organizations', 'Invalid organization UUID'],
  [
    { scoped_organizations: ['0198c0de-0000-7000-8000-000000000000'] },
    'scoped_organizations',
    'You must be a member of all organizations that you are scoping the key to.',
  ],
  [{ scoped_teams: [99] }, 'scoped_teams', 'You must be a member of all teams that you are scoping the key to.'],
])('a key with %j is refused', async (wrong, attr, detail) => {
  const { context, user } = await seeded();
  await expect(createKey(context, { user, label: 'CI', scopes: ['*'], ...wrong })).rejects.toMatchObject({
    body: { attr, detail },
  });
});

test('a key may be limited to what its user is a member of', async () => {
  const { context, user, organization, project } = await seeded();
  const limits = { scoped_teams: [project.id], scoped_organizations: [organization.id] };
  const { item } = await createKey(context, { user, label: 'CI', scopes: ['*'], ...limits });
  expect(JSON.parse(item.scoped_teams)).toEqual([project.id]);
  expect(JSON.parse(item.scoped_organizations)).toEqual([organization.id]);

  const stranger = await createUser(context, { email: 'eve@example.com' });
  await expect(
    createKey(context, { user: stranger, label: 'CI', scopes: ['*'], scoped_teams: [project.id] }),
  ).rejects.toMatchObject({ body: { attr: 'scoped_teams' } });
});

test('a change of limits is told to as many organizations as one write can hold', async () => {
  const { context, user } = await seeded();
  const made: string[] = [];
  for (let n = 0; n < 99; n++) {
    context.clock.advance(1);
    made.push((await createOrganization(context, { name: `Acme ${n}`, owner: user })).organization.id);
  }
  const { memberships } = await userWithMemberships(context.table, user.uuid);
  const { item } = await createKey(context, { user, label: 'CI', scopes: ['*'] });
  const activity = { activityOps: systemActivityOps(context), memberships };
  const limits = { scoped_organizations: made.slice(-10) };
  const changed = await changeKey(context, { user, maker: item, item }, limits, activity, undefined);
  expect(JSON.parse(changed.scoped_organizations)).toEqual(limits.scoped_organizations);
});

test('a key that is rolled while it is revoked is revoked all the same', async () => {
  const { context, user } = await seeded();
  const { item } = await createKey(context, { user, label: 'CI', scopes: ['*'] });
  const { value } = await rollKey(context, { user: await stored(context, user), maker: item, item }, NOBODY, undefined);
  await revokeKey(context, item, { user: await stored(context, user), ifMatch: undefined });
  expect(await findKey(context.table, sha256(value))).toBeUndefined();
  expect(await keysOfUser(context.table, user.uuid)).toEqual([]);
});

test('a key that is revoked twice at once is told of once', async () => {
  const { context, user, organization } = await seeded();
  const { item } = await createKey(context, { user, label: 'CI', scopes: ['*'] });
  const ends = await Promise.allSettled([
    revokeKey(context, item, { ifMatch: undefined }),
    revokeKey(context, item, { ifMatch: undefined }),
  ]);
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const { items } = await context.table.list(ranges.activityOf(organization.id), { limit: 100 });
  expect(items.filter(({ activity }) => activity === 'deleted')).toHaveLength(1);
});

test('no key is limited to an organization that was deleted, though its members are still known', async () => {
  const { context, user, organization, project } = await seeded();
  await deleteOrganization(context, organization, () => [], undefined);
  const limited = (limits: object) => createKey(context, { user, label: 'CI', scopes: ['*'], ...limits });
  await expect(limited({ scoped_organizations: [organization.id] })).rejects.toThrow('a member of all organizations');
  await expect(limited({ scoped_teams: [project.id] })).rejects.toThrow('a member of all teams');
});
