import { DAY_MS } from '../../../basics/units.ts';
import { LEVELS, type MembershipLevel } from '../../../http/levels.ts';
import { opens } from '../../../http/scopes.ts';
import { fail } from '../../../ports/errors.ts';
import type { MembershipItem } from '../model.ts';
import type { Caller } from '../tenant.ts';
import type { InviteItem } from './model.ts';

/** How long an invitation is open: 3 days, as with PostHog. */
export const OPEN_MS = 3 * DAY_MS;

const UUID_7 = /^([\da-f]{8})-([\da-f]{4})-7/i;

/** Whoever comes so much too late is told that they do. */
const TOLD_MS = 30 * DAY_MS;

/** Whether an invitation of this id, which tells when it was made, was open till lately. Nothing else is left of one. */
export function isPast(id: string, now: number): boolean {
  const [, high, low] = UUID_7.exec(id) ?? [];
  if (high === undefined) return false;
  const age = now - Number.parseInt(`${high}${low}`, 16);
  return age >= OPEN_MS && age < OPEN_MS + TOLD_MS;
}

/** Returns the levels of members who may give this one. */
export const giversOf = (level: MembershipLevel): MembershipLevel[] =>
  Object.values(LEVELS).filter((held) => held >= level);

/** Returns whether somebody with this membership, if they have one, may give the level. */
export const mayGive = (membership: Pick<MembershipItem, 'level'> | undefined, level: MembershipLevel): boolean =>
  membership !== undefined && giversOf(level).includes(membership.level);

/** Throws a 404 for whoever was not invited, as if there were none, a 403 for a key limited to other organizations. */
export function refuseOthers(
  invite: Pick<InviteItem, 'target_email' | 'organization_id'>,
  { user, scopedOrganizations }: Pick<Caller, 'scopedOrganizations'> & { readonly user: { readonly email: string } },
): void {
  if (user.email.toLowerCase() !== invite.target_email) fail('not_found');
  if (!opens(scopedOrganizations, invite.organization_id)) {
    fail('permission_denied', 'API keys with scoped organizations cannot join other organizations.');
  }
}
