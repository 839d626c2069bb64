import { ACCESS_LEVELS, type AccessLevel, EVERYONE, ruleField } from '../../../lib/dashboards/access-controls/model.ts';
import { collaboratorField } from '../../../lib/dashboards/collaborators/model.ts';
import type { DashboardItem } from '../../../lib/dashboards/model.ts';
import {
  checkCanEdit,
  checkCanManage,
  checkCanRestrict,
  checkCanSee,
  mayEdit,
  mayManage,
  maySee,
  rightsOf,
} from '../../../lib/dashboards/rules.ts';
import { LEVELS, type MembershipLevel } from '../../../lib/http/levels.ts';
import type { Failure } from '../../../lib/ports/errors.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys } from '../../../lib/ports/table/keys.ts';

/** One combination of all that decides. `undefined`: there is no such row or rule. */
interface Case {
  readonly isCreator: boolean;
  readonly level: MembershipLevel;
  readonly restriction: 21 | 37;
  readonly collaborator: 21 | 37 | undefined;
  readonly own: AccessLevel | undefined;
  readonly everyone: AccessLevel | undefined;
}

const RULES = [undefined, ...ACCESS_LEVELS];
const cases: Case[] = [true, false].flatMap((isCreator) =>
  Object.values(LEVELS).flatMap((level) =>
    ([21, 37] as const).flatMap((restriction) =>
      ([undefined, 21, 37] as const).flatMap((collaborator) =>
        RULES.flatMap((own) =>
          RULES.map((everyone) => ({ isCreator, level, restriction, collaborator, own, everyone })),
        ),
      ),
    ),
  ),
);

const headOf = ({ isCreator, restriction, collaborator, own, everyone }: Case): DashboardItem => ({
  ...keys.dashboard(1, 7),
  id: 7,
  project_id: 1,
  name: 'Weekly',
  description: '',
  pinned: false,
  created_at: 0,
  created_by: isCreator ? 'me' : 'somebody',
  is_shared: false,
  deleted_at: null,
  creation_mode: 'default',
  tags: toJsonText([]),
  restriction_level: restriction,
  tiles: 0,
  ver: 1,
  [collaboratorField('another')]: 37,
  [ruleField('another')]: 'manager',
  ...(collaborator === undefined ? {} : { [collaboratorField('me')]: collaborator }),
  ...(own === undefined ? {} : { [ruleField('me')]: own }),
  ...(everyone === undefined ? {} : { [ruleField(EVERYONE)]: everyone }),
});

type MemberWithLevel = { readonly user_uuid: string; readonly level: MembershipLevel };
type Check = (head: DashboardItem, member: MemberWithLevel) => void;

/** What a check throws; undefined when it lets the member. */
function thrown(check: Check, head: DashboardItem, member: MemberWithLevel): unknown {
  try {
    check(head, member);
    return undefined;
  } catch (error) {
    return error;
  }
}

const CHECKS = { see: checkCanSee, edit: checkCanEdit, restrict: checkCanRestrict, manage: checkCanManage };

/** The texts with which the four checks refuse; undefined where one lets them. */
const refusals = (head: DashboardItem, member: MemberWithLevel) =>
  Object.fromEntries(
    Object.entries(CHECKS).map(([name, check]) => [
      name,
      (thrown(check, head, member) as Failure | undefined)?.message,
    ]),
  );

const VIEWER = 'You do not have viewer access to this resource.';
const EDITOR = 'You do not have editor access to this resource.';
const EDIT = "You don't have edit permissions for this dashboard.";
const RESTRICT =
  "Only the dashboard owner and project admins have the restriction rights required to change the dashboard's " +
  'restriction level.';
const MANAGE = 'Must be manager to modify dashboard permissions.';

test('a refusal is a 403 about no field', () => {
  const [one] = cases.filter(({ isCreator, level, own }) => !isCreator && level === LEVELS.member && own === 'none');
  const faults = Object.values(CHECKS).map((check) =>
    thrown(check, headOf(one as Case), { user_uuid: 'me', level: LEVELS.member }),
  ) as Failure[];
  expect(faults.map(({ status, body }) => [status, body.type, body.code, body.attr])).toEqual(
    faults.map(() => [403, 'authentication_error', 'permission_denied', null]),
  );
});

test('all combinations are tried', () => {
  expect(cases).toHaveLength(2 * 3 * 2 * 3 * 5 * 5);
});

describe('the creator, admins and the owner', () => {
  const inherent = cases.filter(({ isCreator, level }) => isCreator || level > LEVELS.member);

  test('may do everything, whatever the restriction, the rules and the collaborators', () => {
    for (const one of inherent) {
      const [head, me] = [headOf(one), { user_uuid: 'me', level: one.level }];
      expect(rightsOf(head, me)).toEqual({
        restriction_level: one.restriction,
        effective_restriction_level: one.restriction,
        effective_privilege_level: 37,
        user_access_level: 'manager',
      });
      expect([maySee(head, me), mayEdit(head, me), mayManage(head, me)]).toEqual([true, true, true]);
      expect(refusals(head, me)).toEqual({});
    }
    expect(inherent).toHaveLength(5 * 150);
  });
});

describe('a member', () => {
  const members = cases.filter(({ isCreator, level }) => !isCreator && level === LEVELS.member);
  const me = { user_uuid: 'me', level: LEVELS.member };

  /** By own rule, then the rule for everyone: the level that follows. */
  const ACCESS: readonly (readonly [own: Case['own'], everyone: Case['everyone'], level: AccessLevel])[] = [
    [undefined, undefined, 'editor'],
    [undefined, 'none', 'none'],
    [undefined, 'viewer', 'viewer'],
    [undefined, 'editor', 'editor'],
    [undefined, 'manager', 'manager'],
    ...ACCESS_LEVELS.flatMap((own) => RULES.map((everyone) => [own, everyone, own] as const)),
  ];

  test.each(ACCESS)('with a rule %s of their own beside %s for everyone has %s', (own, everyone, level) => {
    const found = members.filter((one) => one.own === own && one.everyone === everyone);
    expect(new Set(found.map((one) => rightsOf(headOf(one), me).user_access_level))).toEqual(new Set([level]));
    expect(found).toHaveLength(6);
  });

  test.each([
    [21, undefined, 37],
    [21, 21, 37],
    [21, 37, 37],
    [37, undefined, 21],
    [37, 21, 21],
    [37, 37, 37],
  ] as const)(
    'of a dashboard restricted to %s, as collaborator %s, has the privilege %s',
    (restriction, collaborator, privilege) => {
      const found = members.filter((one) => one.restriction === restriction && one.collaborator === collaborator);
      for (const one of found) {
        expect(rightsOf(headOf(one), me)).toMatchObject({
          restriction_level: restriction,
          effective_restriction_level: restriction,
          effective_privilege_level: privilege,
        });
      }
      expect(found).toHaveLength(25);
    },
  );

  test.each([
    ['none', 37, { see: VIEWER, edit: VIEWER, restrict: RESTRICT, manage: MANAGE }],
    ['none', 21, { see: VIEWER, edit: VIEWER, restrict: RESTRICT, manage: MANAGE }],
    ['viewer', 37, { edit: EDITOR, restrict: RESTRICT, manage: MANAGE }],
    ['viewer', 21, { edit: EDITOR, restrict: RESTRICT, manage: MANAGE }],
    ['editor', 37, { restrict: RESTRICT, manage: MANAGE }],
    ['editor', 21, { edit: EDIT, restrict: RESTRICT, manage: MANAGE }],
    ['manager', 37, { restrict: RESTRICT }],
    ['manager', 21, { edit: EDIT, restrict: RESTRICT }],
  ] as const)(
    'with access %s and privilege %s is refused what they lack, and nothing else',
    (access, privilege, refused) => {
      const found = members.map(headOf).filter((head) => {
        const rights = rightsOf(head, me);
        return rights.user_access_level === access && rights.effective_privilege_level === privilege;
      });
      expect(found.length).toBeGreaterThan(0);
      for (const head of found) {
        expect(refusals(head, me)).toEqual(refused);
        expect([maySee(head, me), mayEdit(head, me), mayManage(head, me)]).toEqual([
          !('see' in refused),
          !('edit' in refused),
          !('manage' in refused),
        ]);
      }
    },
  );
});
