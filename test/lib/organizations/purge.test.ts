import { tellAsSystem } from '../../../lib/activity/tell.ts';
import { startBackfill } from '../../../lib/batch-exports/backfills.ts';
import { purge } from '../../../lib/organizations/purge.ts';
import { createOrganization, deleteOrganization } from '../../../lib/organizations/store.ts';
import { createKey, keysOf } from '../../../lib/personal-api-keys/store.ts';
import { keys } from '../../../lib/table/keys.ts';
import { HOUR, hourlyExport } from '../../support/export-steps.ts';

const AT_13 = Date.UTC(2026, 0, 7, 13);

async function deleted() {
  const world = await hourlyExport();
  const { context, owner, organization, project } = world;
  const { organization: other } = await createOrganization(context, { name: 'Other', owner });
  const make = (label: string, limits: object) => createKey(context, { user: owner, label, scopes: ['*'], ...limits });
  await make('unlimited', {});
  await make('its own', { scoped_organizations: [organization.id] });
  await make('its project', { scoped_teams: [project.id] });
  await make('both', { scoped_organizations: [organization.id, other.id] });
  await make('another', { scoped_organizations: [other.id] });
  const labels = async () => (await keysOf(context.table, owner.uuid)).map(({ label }) => label).toSorted();
  return { ...world, labels };
}

test('stops the exports of a deleted organization and revokes the keys that were only for it', async () => {
  const { context, begin, arrive, read, runs, labels, organization, job } = await deleted();
  await arrive(AT_13, 'a');
  context.clock.set(AT_13 + HOUR + 60_000);
  await begin();
  await context.workflow.start('export-run', 'holder', {});
  const { item } = await read();
  await startBackfill(context, item, { start_at: AT_13 - 24 * HOUR, end_at: AT_13 });
  await deleteOrganization(context, organization, tellAsSystem(context, organization.id));

  expect(await purge(context, { kind: 'organization', id: organization.id })).toEqual({ do: 'rest' });
  expect((await read()).item.deleted_at).not.toBeNull();
  expect(await runs()).toMatchObject([{ status: 'Cancelled' }]);
  expect(context.workflow.stopped.map(({ machine }) => machine).toSorted()).toEqual(['backfill', 'export-run']);
  expect(await job('export')).toBeUndefined();
  expect(await labels()).toEqual(['another', 'both', 'unlimited']);
  expect(await job('purge', organization.id)).toBeDefined();

  expect(await purge(context, { kind: 'organization', id: organization.id })).toEqual({ do: 'nothing' });
  expect(await job('purge', organization.id)).toBeUndefined();
});

test('touches nothing of an organization that is not deleted', async () => {
  const { context, read, labels, organization } = await deleted();
  const before = await labels();
  expect(await purge(context, { kind: 'organization', id: organization.id })).toEqual({ do: 'nothing' });
  expect((await read()).item.deleted_at).toBeNull();
  expect(await labels()).toEqual(before);
});

test('goes on in another walk when its time is over', async () => {
  const { context, organization, labels } = await deleted();
  await deleteOrganization(context, organization, tellAsSystem(context, organization.id));
  const clock = context.clock();
  let looks = 0;
  // A minute a look at the clock: two pieces of work fit into a walk's ten.
  const slow = { ...context, clock: () => clock + (looks++ > 3 ? 11 * 60_000 : 0) };
  const first = await purge(slow, { kind: 'organization', id: organization.id });
  expect(first).toEqual({ do: 'more' });
  expect(await purge(context, { kind: 'organization', id: organization.id })).toEqual({ do: 'rest' });
  expect(await labels()).toEqual(['another', 'both', 'unlimited']);
});

test('of a project stops what belongs to it', async () => {
  const { context, project, read, labels } = await deleted();
  await context.table.write([{ change: keys.project(project.id), set: { deleted_at: 1 } }]);
  expect(await purge(context, { kind: 'project', id: String(project.id) })).toEqual({ do: 'rest' });
  expect((await read()).item.deleted_at).not.toBeNull();
  expect(await labels()).toEqual(['another', 'both', 'its own', 'unlimited']);
});
