import { collaboratorField, ruleField } from '../../../dashboards/model.ts';
import type { Tenant } from '../../../http/request.ts';
import type { Context } from '../../../ports/context.ts';
import { fail } from '../../../ports/errors.ts';
import { idsIn, keys, ranges } from '../../../ports/table/keys.ts';
import { listAll } from '../../../ports/table/list-all.ts';
import type { Key, Op, Table } from '../../../ports/table/table.ts';
import type { Tell } from '../../activity/model.ts';
import { changesOf } from '../../activity/rules.ts';
import type { UserItem } from '../../users/model.ts';
import type { Level, MembershipItem, OrganizationItem, ProjectBrief } from '../model.ts';
import { isAlive } from '../store.ts';
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

/** A member whom somebody changes or removes, and his user. */
export interface Target {
  readonly target: MembershipItem;
  readonly user: UserItem;
}

/** How an entry of the activity log names a membership. */
const aboutMember = ({ uuid: id, email: name }: UserItem) => ({ scope: 'OrganizationMembership', id, name }) as const;

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
  { target, user }: Target,
  tell: Tell,
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
    ...tell({ ...aboutMember(user), activity: 'updated', changes: changesOf(target, set, { level: 'plain' }) }),
  ]);
  return { ...target, ...set, ver: target.ver + 1 };
}

/** Dashboards from which a member is removed together with the membership, three ops each: a transaction has 100. */
const TOGETHER = 30;

/** Where a user is named, in whatever organization, as a collaborator or in an access rule: keys of these namings. */
export async function namingsOf(table: Table, uid: string): Promise<Key[]> {
  return listAll(table, ranges.namingsOf(uid));
}

/**
 * Ends a membership and, with it, the member's collaborations in the organization's projects and the access rules that
 * name him. 400 for the last owner; 409 when somebody became something else meanwhile. Refused when the version is
 * none of `ifMatch`.
 */
export async function removeMember(
  { table }: Pick<Context, 'table'>,
  { organization, membership: actor }: Tenant,
  { target, user, namings }: Target & { readonly namings: readonly Key[] },
  tell: Tell,
  ifMatch: readonly number[] = [target.ver],
): Promise<void> {
  refuseRemoval(actor, target);
  if (!ifMatch.includes(target.ver)) fail('precondition_failed');
  const isLeaving = actor.user_uuid === target.user_uuid;
  const members = isLeaving ? ((await listAll(table, ranges.membersOf(organization.id))) as MembershipItem[]) : [];
  const witness = witnessOf(actor, target, members);
  const ends = await endsOf(table, organization, target, namings);
  while (ends.length > TOGETHER) await table.write(ends.splice(-TOGETHER).flat());
  await table.write([
    {
      remove: keys.membership(target.user_uuid, organization.id),
      if: { is: { level: target.level, ver: target.ver } },
    },
    { change: keys.organization(organization.id), add: { members: -1 }, if: { is: isAlive(organization.id) } },
    ...(witness === undefined ? [] : [stillIs(witness, organization)]),
    ...tell({ ...aboutMember(user), activity: 'deleted' }),
    ...ends.flat(),
  ]);
}

/** What removes the member from each dashboard of the organization: the namings, and what the head says of them. */
async function endsOf(
  table: Table,
  organization: OrganizationItem,
  { user_uuid }: MembershipItem,
  namings: readonly Key[],
): Promise<Op[][]> {
  const projects = new Set((JSON.parse(organization.projects) as ProjectBrief[]).map(({ id }) => id));
  const own = namings.filter((key) => projects.has(idsIn.ofProject(key).project));
  const found = [...Map.groupBy(own, ({ pk }) => pk).values()];
  if (found.length === 0) return [];
  const heads = found.map((names) => {
    const { project, id } = idsIn.ofProject(names[0] as Key);
    return keys.dashboard(project, id);
  });
  const items = await table.many(heads);
  const unset = [collaboratorField(user_uuid), ruleField(user_uuid)];
  return found.map((names, at) => [
    ...names.map(({ pk, sk }): Op => ({ remove: { pk, sk } })),
    ...(items[at] === undefined ? [] : [{ change: heads[at] as Key, unset, if: 'present' } satisfies Op]),
  ]);
}
