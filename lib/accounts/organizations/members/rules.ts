/** The one place that decides who may give which level to whom in an organization, and remove whom. */
import { LEVELS, type MembershipLevel } from '../../../http/levels.ts';
import { fail, invalid } from '../../../ports/errors.ts';
import type { MemberWithLevel } from '../model.ts';

/** Throws a 403 when `actor` may not give this level: nobody gives more than they have. */
export function refuseLevel(actor: MemberWithLevel, level: MembershipLevel): void {
  if (level <= actor.level) return;
  fail(
    'permission_denied',
    level === LEVELS.owner
      ? "You can only make another member owner if you're this organization's owner."
      : 'You can only change access level of others to lower or equal to your current one.',
  );
}

/** Throws a 403 when `actor` may not give `target` this level. Nobody changes their own, so an owner always stays. */
export function refuseChange(actor: MemberWithLevel, target: MemberWithLevel, level: MembershipLevel): void {
  if (target.user_uuid === actor.user_uuid) fail('permission_denied', "You can't change your own access level.");
  refuseTouching(actor, target);
  refuseLevel(actor, level);
}

/** Throws a 403 when `actor` may not remove `target`. Everybody may leave, except the last owner (`witnessOf`). */
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
 * Returns the member whose level must still be the same when `target` is removed, so that an owner stays: the one who
 * removes them, or, when an owner leaves, another owner; undefined: nobody. Throws a 400 when the last owner leaves.
 */
export function witnessOf(actor: MemberWithLevel, target: MemberWithLevel, members: readonly MemberWithLevel[]) {
  if (target.user_uuid !== actor.user_uuid) return actor;
  if (target.level < LEVELS.owner) return undefined;
  const other = members.find((member) => member.level === LEVELS.owner && member.user_uuid !== target.user_uuid);
  if (other === undefined) {
    invalid(null, 'The last owner cannot leave the organization. Make another member owner first.');
  }
  return other;
}
