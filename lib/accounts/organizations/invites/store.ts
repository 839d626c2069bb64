import type * as z from 'zod';
import type { MembershipLevel } from '../../../http/levels.ts';
import type { Context } from '../../../ports/context.ts';
import { fail, invalid } from '../../../ports/errors.ts';
import { keys, places, ranges } from '../../../ports/table/keys.ts';
import { listAll } from '../../../ports/table/list-all.ts';
import type { Op, Table } from '../../../ports/table/table.ts';
import { ttlAt } from '../../../ports/table/ttl.ts';
import { countedOp, untilCounted } from '../../../ports/table/until-written.ts';
import type { ActivityOps } from '../../activity/model.ts';
import { systemActivityOps } from '../../activity/ops.ts';
import type { UserItem } from '../../users/model.ts';
import { refuseLevel } from '../members/rules.ts';
import { levelCheck } from '../members/store.ts';
import type { MembershipItem, OrganizationItem } from '../model.ts';
import { addMember, findMembership, findOrganization, isAlive } from '../store.ts';
import type { Tenant } from '../tenant.ts';
import { type InviteInput, type InviteItem, MAX_OPEN_INVITES } from './model.ts';
import { giversOf, isPast, mayGive, OPEN_MS } from './rules.ts';

/** Stands for the uuid of a user who is not there, so that a membership is looked for all the same. */
const NOBODY = 'nobody';

/**
 * Invites somebody, with or without an account, in one transaction with `idempotencyOps`. Throws a 400 when they are a
 * member already or too many are open, and a 403 when the level is above the caller's own.
 */
export async function createInvite(
  { table, newId, clock }: Pick<Context, 'table' | 'newId' | 'clock'>,
  { organization, membership }: Tenant,
  { target_email, level }: z.output<typeof InviteInput>,
  idempotencyOps: (inviteId: string) => readonly Op[],
  activityOps: ActivityOps,
): Promise<InviteItem> {
  refuseLevel(membership, level);
  const account = await table.get(keys.email(target_email));
  const uid = account?.user_uuid ?? NOBODY;
  if ((await table.get(keys.membership(uid, organization.id))) !== undefined) {
    invalid('target_email', 'A user with this email address already belongs to the organization.');
  }
  const id = newId();
  const now = clock();
  const item: InviteItem = {
    ...keys.invitation(id),
    ...places.invitationOf(organization.id, now, id),
    id,
    organization_id: organization.id,
    target_email,
    level,
    created_by: membership.user_uuid,
    created_at: now,
    expires_at: now + OPEN_MS,
    ttl: ttlAt(now + OPEN_MS),
  };
  const ownerAgain = async () =>
    (await findOrganization(table, organization.id)) ?? fail('not_found', 'Organization not found.');
  return untilCounted(organization, ownerAgain, async ({ invites_made }) => {
    const { count = 0 } = await table.list(ranges.invitationsOf(organization.id), { limit: 1, count: true });
    if (count >= MAX_OPEN_INVITES) {
      invalid(null, `An organization may have at most ${MAX_OPEN_INVITES} open invitations.`);
    }
    await table.write([
      { put: item, if: 'absent' },
      levelCheck(membership, organization),
      ...idempotencyOps(id),
      ...activityOps({ ...aboutInvite(item), activity: 'created' }),
      countedOp(keys.organization(organization.id), isAlive(organization.id), ['invites_made', invites_made]),
    ]);
    return item;
  });
}

/** Returns how an entry of the activity log names an invitation. */
const aboutInvite = ({ id, target_email: name }: InviteItem) => ({ scope: 'OrganizationInvite', id, name }) as const;

/** Returns an open invitation. Throws a 404 when there is none. */
export async function readInvite(table: Table, id: string): Promise<InviteItem> {
  return (await table.get(keys.invitation(id))) ?? fail('not_found');
}

/**
 * Returns an open invitation with its organization and who invites. Throws a 404 when there is none, or it is void: its
 * organization is gone, or who invited may not give this level any more.
 */
export async function readInvitePreview({ table, clock }: Pick<Context, 'table' | 'clock'>, id: string) {
  const invite = await table.get(keys.invitation(id));
  if (invite === undefined) {
    if (!isPast(id, clock())) fail('not_found');
    fail('not_found', { code: 'expired', detail: 'This invite has expired. Please ask your admin for a new one.' });
  }
  const { organization_id, created_by, level } = invite;
  const [organization, inviter, membership] = await Promise.all([
    findOrganization(table, organization_id),
    table.get(keys.user(created_by)),
    findMembership(table, created_by, organization_id),
  ]);
  if (organization === undefined || inviter === undefined || !mayGive(membership, level)) fail('not_found');
  return { invite, organization, inviter };
}

/** Takes an invitation back. Throws `Refused` when it is gone. */
export async function removeInvite(table: Table, item: InviteItem, activityOps: ActivityOps): Promise<void> {
  const { id } = item;
  await table.write([
    { remove: keys.invitation(id), if: { is: { id } } },
    ...activityOps({ ...aboutInvite(item), activity: 'deleted' }),
  ]);
}

/** So many others end in the transaction of the membership, which has 100 ops. */
const MAX_OTHERS = 90;

/** Returns the open invitations of an organization. */
export const openInvites = (table: Table, organization: string): Promise<InviteItem[]> =>
  listAll(table, ranges.invitationsOf(organization));

/** Returns the ops, by invitation, that end those of the invitations that are to this address, in whatever case. */
export const inviteEnds = (invites: readonly InviteItem[], email: string): Op[][] =>
  invites.filter((one) => one.target_email === email.toLowerCase()).map(({ id }) => [{ remove: keys.invitation(id) }]);

/** Makes the user a member without an invitation, and ends all to them. Throws as `addMember`. */
export async function addUninvited(
  context: Pick<Context, 'table' | 'clock' | 'newId'>,
  member: { organization: OrganizationItem; user: UserItem; level: MembershipLevel },
): Promise<MembershipItem> {
  const open = await openInvites(context.table, member.organization.id);
  return addMember(context, member, inviteEnds(open, member.user.email).slice(0, MAX_OTHERS).flat());
}

/**
 * Makes the user a member as the invitation says, and ends it and all others to them: else whoever is removed again
 * could come back by one of these. Throws a 400 when they are a member already; a 404 when the organization is gone, the
 * invitation was taken back or accepted, or who invited may not give this level any more.
 */
export async function acceptInvite(
  context: Pick<Context, 'table' | 'clock' | 'newId'>,
  invite: InviteItem,
  user: UserItem,
  idempotencyOps: readonly Op[] = [],
  activityOps: ActivityOps = systemActivityOps(context, invite.organization_id),
): Promise<MembershipItem> {
  const { id, organization_id, level, created_by } = invite;
  const [organization, inviter, open] = await Promise.all([
    findOrganization(context.table, organization_id),
    findMembership(context.table, created_by, organization_id),
    openInvites(context.table, organization_id),
  ]);
  if (organization === undefined || !mayGive(inviter, level)) fail('not_found');
  const others = open.filter((one) => one.id !== id);
  const also: Op[] = [
    { remove: keys.invitation(id), if: { is: { id } } },
    ...inviteEnds(others, invite.target_email).slice(0, MAX_OTHERS).flat(),
    { check: keys.membership(created_by, organization_id), if: { is: { level: giversOf(level) } } },
    ...idempotencyOps,
  ];
  return addMember(context, { organization, user, level }, also, activityOps);
}
