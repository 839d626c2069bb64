/** Who may make whom what in an organization: the one place that decides it. */

import { LEVELS, type MembershipLevel } from '../../../http/levels.ts';
import { fail, invalid } from '../../../ports/errors.ts';
import type { MembershipItem } from '../model.ts';

type MemberWithLevel = Pick<MembershipItem, 'user_uuid' | 'level'>;

/** Refuses that `actor` gives somebody else this level: nobody gives more than he has. */
export function refuseLevel(actor: MemberWithLevel, level: MembershipLevel): void {
  if (level <= actor.level) return;
  fail(
    'permission_denied',
    level === LEVELS.owner
      ? "You can only make another member owner if you're this organization's owner."
      : 'You can only change access level of others to lower or equal to your current one.',
  );
}

/** Refuses that `actor` gives `target` this level. As nobody changes his own, an owner who does so stays one. */
export function refuseChange(actor: MemberWithLevel, target: MemberWithLevel, level: MembershipLevel): void {
  if (target.user_uuid === actor.user_uuid) fail('permission_denied', "You can't change your own access level.");
  refuseTouching(actor, target);
  refuseLevel(actor, level);
}

/** Refuses that `actor` removes `target`. Everybody may leave, except the last owner (`witnessOf`). */
export function refuseRemoval(actor: MemberWithLevel, target: MemberWithLevel): void {
  if (target.user_uuid !== actor.user_uuid) refuseTouching(actor, target);
}

function refuseTouching(actor: MemberWithLevel, target: MemberWithLevel): void {
  if (actor.level < LEVELS.admin) fail('permission_denied', 'You can only edit others if you are an admin.');
  if (target.level > actor.level) {
    fail('permission_denied', 'You can only edit others with level lower or equal to you.');
  }
}

/**
 * Who must still be what he is when `target` is removed, so that an owner stays: the one who removes him, or, when an
 * owner leaves, another owner. Undefined: nobody. An owner who is the last one cannot leave.
 */
export function witnessOf(
  actor: MemberWithLevel,
  target: MemberWithLevel,
  members: readonly MemberWithLevel[],
): MemberWithLevel | undefined {
  if (target.user_uuid !== actor.user_uuid) return actor;
  if (target.level < LEVELS.owner) return undefined;
  const other = members.find((member) => member.level === LEVELS.owner && member.user_uuid !== target.user_uuid);
  if (other === undefined) {
    invalid(null, 'The last owner cannot leave the organization. Make another member owner first.');
  }
  return other;
}
