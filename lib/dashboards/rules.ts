/**
 * The one place that decides who may see, edit and restrict a dashboard, and open it to others; and who may see and edit
 * an insight, which the dashboards that show it protect.
 */
import type { MemberWithLevel } from '../accounts/organizations/model.ts';
import type { Tenant } from '../accounts/organizations/tenant.ts';
import { LEVELS } from '../http/levels.ts';
import type { InsightItem } from '../insights/model.ts';
import { fail } from '../ports/errors.ts';
import { ACCESS_LEVELS, type AccessLevel, DEFAULT_ACCESS, EVERYONE, ruleField } from './access-controls/model.ts';
import { collaboratorField, PRIVILEGE, type PrivilegeLevel } from './collaborators/model.ts';
import { type DashboardItem, RESTRICTION, type Rights } from './model.ts';

/** Returns whether nobody can take rights from the member: the dashboard's creator, an admin, an owner. */
function hasInherentRights(summary: DashboardItem, { user_uuid, level }: MemberWithLevel): boolean {
  return summary.created_by === user_uuid || level >= LEVELS.admin;
}

/**
 * Returns the rights of a member. A rule for them beats the one for everyone, which beats the default. There are no
 * plans, so the restriction is always in effect.
 */
export function rightsOf(summary: DashboardItem, member: MemberWithLevel): Rights {
  const { restriction_level } = summary;
  const isInherent = hasInherentRights(summary, member);
  const named = summary[collaboratorField(member.user_uuid)] as PrivilegeLevel | null | undefined;
  const isOpen = restriction_level < RESTRICTION.collaborators;
  return {
    restriction_level,
    effective_restriction_level: restriction_level,
    effective_privilege_level: isOpen || isInherent ? PRIVILEGE.edit : (named ?? PRIVILEGE.view),
    user_access_level: isInherent ? 'manager' : accessByRules(summary, member.user_uuid),
  };
}

function accessByRules(summary: DashboardItem, uid: string): AccessLevel {
  return (summary[ruleField(uid)] ?? summary[ruleField(EVERYONE)] ?? DEFAULT_ACCESS) as AccessLevel;
}

const reaches = ({ user_access_level }: Rights, needed: AccessLevel): boolean =>
  ACCESS_LEVELS.indexOf(user_access_level) >= ACCESS_LEVELS.indexOf(needed);

/** Returns whether the dashboard is there for the member. What is not is neither listed nor counted for them. */
export function maySee(summary: DashboardItem, member: MemberWithLevel): boolean {
  return reaches(rightsOf(summary, member), 'viewer');
}

/** Returns whether both the access rules and the restriction let the member edit. */
export function mayEdit(summary: DashboardItem, member: MemberWithLevel): boolean {
  const rights = rightsOf(summary, member);
  return reaches(rights, 'editor') && rights.effective_privilege_level >= PRIVILEGE.edit;
}

/** Returns whether the project may have dashboards that are not there for the member. */
export function mayBeHidden({ membership, project }: Tenant): boolean {
  return project?.hides_dashboards === true && membership.level < LEVELS.admin;
}

/** Throws the 403 of a dashboard, or an insight, that is not there for the caller. */
export function failUnseen(): never {
  return fail('permission_denied', 'You do not have viewer access to this resource.');
}

/** Throws a 403 for those to whom a rule gives nothing. */
export function checkCanSee(summary: DashboardItem, member: MemberWithLevel): void {
  if (!maySee(summary, member)) failUnseen();
}

/** Throws a 403 for those who may not edit, with the text of what they lack. */
export function checkCanEdit(summary: DashboardItem, member: MemberWithLevel): void {
  checkCanSee(summary, member);
  const rights = rightsOf(summary, member);
  if (!reaches(rights, 'editor')) {
    fail('permission_denied', 'You do not have editor access to this resource.');
  }
  if (rights.effective_privilege_level < PRIVILEGE.edit) {
    fail('permission_denied', "You don't have edit permissions for this dashboard.");
  }
}

/** Throws a 403 for those who may not change the restriction level, even to what it is. */
export function checkCanRestrict(summary: DashboardItem, member: MemberWithLevel): void {
  if (hasInherentRights(summary, member)) return;
  fail(
    'permission_denied',
    "Only the dashboard owner and project admins have the restriction rights required to change the dashboard's " +
      'restriction level.',
  );
}

/** Returns whether the member may write access rules: the creator, admins, owners, and whom a rule made a manager. */
export function mayManage(summary: DashboardItem, member: MemberWithLevel): boolean {
  return reaches(rightsOf(summary, member), 'manager');
}

/** Throws a 403 for those who may not write access rules. */
export function checkCanManage(summary: DashboardItem, member: MemberWithLevel): void {
  if (!mayManage(summary, member)) fail('permission_denied', 'Must be manager to modify dashboard permissions.');
}

/** An insight, as far as it decides who may do what with it. */
type Authored = Pick<InsightItem, 'created_by'>;

/** A dashboard that shows an insight, deleted or not, and whose tile it is. */
export interface Showing<Summary = DashboardItem> {
  readonly summary: Summary;
  readonly placedBy: string | null;
}

/**
 * Returns those, of the dashboards that show an insight, that protect it: the ones that are not deleted. Where all are,
 * those on which whoever made it has put it: what comes back must not have been everybody's in between. Where that is
 * none, nothing is closed.
 */
export function protecting<Summary extends Pick<DashboardItem, 'deleted_at'>>(
  { created_by }: Authored,
  showings: readonly Showing<Summary>[],
): readonly Summary[] {
  const live = showings.filter(({ summary }) => summary.deleted_at === null);
  const deciding = live.length > 0 ? live : showings.filter(({ placedBy }) => placedBy === created_by);
  return deciding.map(({ summary }) => summary);
}

/**
 * Returns whether the insight is there for the member: they made it, or see one of the dashboards that protect it, or
 * none does.
 */
export function maySeeInsight(insight: Authored, showings: readonly Showing[], member: MemberWithLevel): boolean {
  if (insight.created_by === member.user_uuid) return true;
  const deciding = protecting(insight, showings);
  return deciding.length === 0 || deciding.some((summary) => maySee(summary, member));
}

/**
 * Throws a 403 for those who may not edit an insight, or delete it: they made it, or may edit every dashboard on which
 * whoever made it has put it; where they put it on none, every one that shows it. Others' dashboards neither give it to
 * anybody nor keep it from anybody.
 */
export function checkCanEditInsight(insight: Authored, showings: readonly Showing[], member: MemberWithLevel): void {
  if (!maySeeInsight(insight, showings, member)) failUnseen();
  if (insight.created_by === member.user_uuid) return;
  const own = showings.filter(({ placedBy }) => placedBy === insight.created_by);
  const deciding = protecting(insight, own.length > 0 ? own : showings);
  if (deciding.every((summary) => mayEdit(summary, member))) return;
  fail('permission_denied', "You don't have edit permissions for this insight.");
}

/**
 * Throws a 403 for whoever changes on which dashboards an insight is that they did not make, when they would not see it any more,
 * or, below an admin, when members who see all that is not closed to everyone would not.
 */
export function checkStaysSeen(
  insight: Authored,
  { before, after }: { readonly before: readonly Showing[]; readonly after: readonly Showing[] },
  member: MemberWithLevel,
): void {
  if (!maySeeInsight(insight, after, member)) {
    fail(
      'permission_denied',
      'You would not see this insight any more: it would only be on dashboards that are hidden from you.',
    );
  }
  if (insight.created_by === member.user_uuid || member.level >= LEVELS.admin) return;
  if (isOpen(insight, before) && !isOpen(insight, after)) {
    fail(
      'permission_denied',
      'Others would not see this insight any more: it would only be on dashboards that are hidden from them.',
    );
  }
}

/** Returns whether these dashboards show an insight to members whom no rule names. */
function isOpen(insight: Authored, showings: readonly Showing[]): boolean {
  const deciding = protecting(insight, showings);
  return deciding.length === 0 || deciding.some((summary) => !isClosed(summary));
}

/** Returns whether the dashboard is hidden from members whom no rule names. */
export const isClosed = (summary: DashboardItem): boolean => accessByRules(summary, EVERYONE) === 'none';
