import { checkVersion, type IfMatch } from '../../../http/etag.ts';
import type { MembershipLevel } from '../../../http/levels.ts';
import type { Context } from '../../../ports/context.ts';
import { fail } from '../../../ports/errors.ts';
import { keys, ranges } from '../../../ports/table/keys.ts';
import { listAll } from '../../../ports/table/list-all.ts';
import type { Op, Table } from '../../../ports/table/table.ts';
import { untilWrittenFrom } from '../../../ports/table/until-written.ts';
import type { ActivityOps } from '../../activity/model.ts';
import { changesOf } from '../../activity/rules.ts';
import type { UserItem } from '../../users/model.ts';
import type { MembershipItem, MemberWithLevel, OrganizationItem } from '../model.ts';
import { isAlive } from '../store.ts';
import type { Tenant } from '../tenant.ts';
import { refuseChange, refuseRemoval, witnessOf } from './rules.ts';

/** The parameters by which a path names a member. */
interface MemberPath {
  readonly organization_id: string;
  readonly user__uuid: string;
}

/** Returns the membership that a path names. Throws a 404 when there is none. */
export async function readMember(table: Table, { organization_id, user__uuid }: MemberPath): Promise<MembershipItem> {
  const found = await table.get(keys.membership(user__uuid, organization_id));
  return found ?? fail('not_found');
}

/** A member whom somebody changes or removes, and their user. */
interface MemberWithUser {
  readonly target: MembershipItem;
  readonly user: UserItem;
}

/** Returns how an entry of the activity log names a membership. */
const aboutMember = ({ uuid: id, email: name }: UserItem) => ({ scope: 'OrganizationMembership', id, name }) as const;

/** Returns the op by which a transaction holds only if a member's level is still the same. */
export function levelCheck({ user_uuid, level }: MemberWithLevel, { id }: OrganizationItem): Op {
  return { check: keys.membership(user_uuid, id), if: { is: { user_uuid, level } } };
}

/**
 * Gives a member another level, if the caller may. Throws a 412 when the version is none of `ifMatch`, and `Refused`
 * when the level of one of the two changed meanwhile.
 */
export async function changeLevel(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { organization, membership: actor }: Tenant,
  { target, user }: MemberWithUser,
  activityOps: ActivityOps,
  { level = target.level, ifMatch }: { readonly level: MembershipLevel | undefined; readonly ifMatch: IfMatch },
): Promise<MembershipItem> {
  refuseChange(actor, target, level);
  checkVersion(target, ifMatch);
  const set = { level, updated_at: clock() };
  const key = keys.membership(target.user_uuid, organization.id);
  await table.write([
    { change: key, set, add: { ver: 1 }, if: { is: { level: target.level, ver: target.ver } } },
    levelCheck(actor, organization),
    ...activityOps({ ...aboutMember(user), activity: 'updated', changes: changesOf(target, set, { level: 'plain' }) }),
  ]);
  return { ...target, ...set, ver: target.ver + 1 };
}

/**
 * Returns the op by which a transaction names a member: it is refused with this reason when they are none, and whoever removes
 * them at this moment finds what names them.
 */
export const namingOp = (uid: string, organization: Pick<OrganizationItem, 'id'>, reason: string): Op => ({
  change: keys.membership(uid, organization.id),
  add: { named: 1 },
  if: 'present',
  else: reason,
});

/** Why a removal is refused when the membership is not as it was read. */
const MEMBER_CHANGED = 'member_changed';

/** So many of what ends with a membership, of three ops each, are in its transaction, which has 100 ops. */
const MAX_ENDS = 30;

/** A member who is removed, and the ops by which what names them ends: at most three for each. */
interface MemberRemoval extends MemberWithUser {
  readonly ends: (member: MembershipItem) => Promise<Op[][]>;
}

/**
 * Ends a membership and, with it, all that names the member in the organization. More than fits into one transaction ends
 * before it, each part only while the membership may be ended: whoever repeats a removal that was cut off finishes it. What is
 * let name them meanwhile (`namingOp`) ends, too. Throws a 400 for the last owner, a 412 when the version is none of `ifMatch`,
 * and a 409 or `Refused` when a level changed meanwhile.
 */
export async function removeMember(
  { table }: Pick<Context, 'table'>,
  { organization, membership: actor }: Tenant,
  { target, user, ends }: MemberRemoval,
  activityOps: ActivityOps,
  ifMatch: IfMatch,
): Promise<void> {
  refuseRemoval(actor, target);
  const isLeaving = actor.user_uuid === target.user_uuid;
  const members = isLeaving ? await listAll(table, ranges.membersOf(organization.id)) : [];
  const witness = witnessOf(actor, target, members);
  const key = keys.membership(target.user_uuid, organization.id);
  const witnessed = witness === undefined ? [] : [levelCheck(witness, organization)];
  const remove = async (member: MembershipItem) => {
    checkVersion(member, ifMatch);
    if (member.level !== target.level || member.ver !== target.ver) fail('conflict');
    const also = await ends(member);
    const { level, ver, named = null } = member;
    const unchanged = { if: { is: { level, ver, named } }, else: MEMBER_CHANGED };
    while (also.length > MAX_ENDS)
      await table.write([{ check: key, ...unchanged }, ...witnessed, ...also.splice(-MAX_ENDS).flat()]);
    await table.write([
      { remove: key, ...unchanged },
      { change: keys.organization(organization.id), add: { members: -1 }, if: { is: isAlive(organization.id) } },
      ...witnessed,
      ...activityOps({ ...aboutMember(user), activity: 'deleted' }),
      ...also.flat(),
    ]);
  };
  await untilWrittenFrom(target, () => table.get(key), remove, MEMBER_CHANGED);
}
