import type { Context } from '../context.ts';
import { collaboratorField } from '../dashboards/model.ts';
import { fail } from '../errors.ts';
import type { Tenant } from '../http/request.ts';
import type { Level, MembershipItem, OrganizationItem, ProjectBrief } from '../organizations/model.ts';
import { isAlive } from '../organizations/store.ts';
import { idsIn, keys, ranges } from '../table/keys.ts';
import { listAll } from '../table/list-all.ts';
import type { Key, Op, Table } from '../table/table.ts';
import { refuseChange, refuseRemoval, witnessOf } from './rules.ts';

/** How a path names a member. */
export interface MemberPath {
  readonly organization_id: string;
  readonly user__uuid: string;
}

/** The membership that a path names; 404 when there is none. */
export async function readMember(table: Table, { organization_id, user__uuid }: MemberPath): Promise<MembershipItem> {
  const found = (await table.get(keys.membership(user__uuid, organization_id))) as MembershipItem | undefined;
  return found ?? fail('not_found');
}

type Named = Pick<MembershipItem, 'user_uuid' | 'level'>;

/** The transaction holds only if somebody is still what he was seen to be. */
export function stillIs({ user_uuid, level }: Named, { id }: OrganizationItem): Op {
  return { check: keys.membership(user_uuid, id), if: { is: { user_uuid, level } } };
}

/**
 * Gives a member another level, if the caller may; 409 when one of the two became something else meanwhile. Refused
 * when the version is none of `ifMatch`.
 */
export async function changeLevel(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { organization, membership: actor }: Tenant,
  target: MembershipItem,
  level: Level = target.level,
  ifMatch: readonly number[] = [target.ver],
): Promise<MembershipItem> {
  refuseChange(actor, target, level);
  if (!ifMatch.includes(target.ver)) fail('precondition_failed');
  const set = { level, updated_at: clock() };
  const key = keys.membership(target.user_uuid, organization.id);
  await table.write([
    { change: key, set, add: { ver: 1 }, if: { is: { level: target.level, ver: target.ver } } },
    stillIs(actor, organization),
  ]);
  return { ...target, ...set, ver: target.ver + 1 };
}

/** Collaborations that are removed together with the membership, two ops each: a transaction has 100. */
const TOGETHER = 45;

/** The dashboards that a user was named a collaborator of, in whatever organization: keys of these namings. */
export async function collaborationsOf(table: Table, uid: string): Promise<Key[]> {
  return listAll(table, ranges.collaborationsOf(uid));
}

/**
 * Ends a membership and, with it, the member's collaborations in the organization's projects. 400 for the last owner;
 * 409 when somebody became something else meanwhile. Refused when the version is none of `ifMatch`.
 */
export async function removeMember(
  { table }: Pick<Context, 'table'>,
  { organization, membership: actor }: Tenant,
  { target, collaborations }: { target: MembershipItem; collaborations: readonly Key[] },
  ifMatch: readonly number[] = [target.ver],
): Promise<void> {
  refuseRemoval(actor, target);
  if (!ifMatch.includes(target.ver)) fail('precondition_failed');
  const isLeaving = actor.user_uuid === target.user_uuid;
  const members = isLeaving ? ((await listAll(table, ranges.membersOf(organization.id))) as MembershipItem[]) : [];
  const witness = witnessOf(actor, target, members);
  const ends = await endsOf(table, organization, target, collaborations);
  while (ends.length > TOGETHER) await table.write(ends.splice(-TOGETHER).flat());
  await table.write([
    {
      remove: keys.membership(target.user_uuid, organization.id),
      if: { is: { level: target.level, ver: target.ver } },
    },
    { change: keys.organization(organization.id), add: { members: -1 }, if: { is: isAlive(organization.id) } },
    ...(witness === undefined ? [] : [stillIs(witness, organization)]),
    ...ends.flat(),
  ]);
}

/** What ends each collaboration in the organization: the naming itself, and what the dashboard's head says of it. */
async function endsOf(
  table: Table,
  organization: OrganizationItem,
  { user_uuid }: MembershipItem,
  collaborations: readonly Key[],
): Promise<Op[][]> {
  const projects = new Set((JSON.parse(organization.projects) as ProjectBrief[]).map(({ id }) => id));
  const places = collaborations.map(idsIn.ofProject).filter(({ project }) => projects.has(project));
  if (places.length === 0) return [];
  const heads = await table.many(places.map(({ project, id }) => keys.dashboard(project, id)));
  return places.map(({ project, id }, at) => [
    { remove: keys.collaborator(project, id, user_uuid) },
    ...(heads[at] === undefined
      ? []
      : [{ change: keys.dashboard(project, id), unset: [collaboratorField(user_uuid)], if: 'present' } satisfies Op]),
  ]);
}
