import type * as z from 'zod';
import type { ActivityOps, Change } from '../../accounts/activity/model.ts';
import { namingOp } from '../../accounts/organizations/members/store.ts';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import type { Context } from '../../ports/context.ts';
import { invalid } from '../../ports/errors.ts';
import { keys, places, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Op, Table } from '../../ports/table/table.ts';
import { writeOrFail } from '../../ports/table/until-written.ts';
import type { DashboardItem } from '../model.ts';
import { checkCanManage } from '../rules.ts';
import { aboutDashboard, type DashboardPath, foundSummary, readSummary, summaryOp } from '../store.ts';
import { invalidReference } from '../tiles.ts';
import {
  ACCESS_LEVELS,
  type AccessControlInput,
  type AccessLevel,
  type AccessRuleItem,
  EVERYONE,
  ruleField,
} from './model.ts';

/** The summary of a dashboard, and its rules. */
interface DashboardRules {
  readonly summary: DashboardItem;
  /** The one for everybody last. */
  readonly rules: readonly AccessRuleItem[];
}

type RulesRead = readonly [summary: DashboardItem | undefined, rules: readonly AccessRuleItem[]];

/** Reads a summary and its rules, whoever asks, for `foundRules`. One round trip. */
export async function readRules(table: Table, path: DashboardPath): Promise<RulesRead> {
  return Promise.all([readSummary(table, path), listAll(table, ranges.accessRulesOf(path.project_id, path.id))]);
}

/** Returns the rules. Throws a 404 or a 403 when the dashboard is not there for the member. */
export function foundRules([summary, rules]: RulesRead, tenant: Tenant): DashboardRules {
  return { summary: foundSummary(summary, tenant), rules };
}

/** Returns the rules. Throws as `foundRules`, and a 403 when the member may not write them. */
export function foundRulesToManage(read: RulesRead, tenant: Tenant): DashboardRules {
  const found = foundRules(read, tenant);
  checkCanManage(found.summary, tenant.membership);
  return found;
}

/** Returns the rule that the body asks for. Throws a 400 for an unknown level, or a target that cannot be one. */
function requestedRule({ access_level, organization_member, role }: z.output<typeof AccessControlInput>) {
  const level = ACCESS_LEVELS.find((one) => one === access_level) ?? null;
  if (access_level !== null && level === null) {
    invalid('access_level', `Invalid access level. Must be one of: ${ACCESS_LEVELS.join(', ')}`);
  }
  const [member, ofRole] = [organization_member ?? null, role ?? null];
  if (member !== null && ofRole !== null) {
    invalid(null, 'You can not scope an access control to both a member and a role.');
  }
  if (ofRole !== null) invalidReference('role', ofRole);
  return { target: member ?? EVERYONE, level };
}

/**
 * Writes the rule that the body asks for and returns it; undefined: it took the rule away. The summary, which lists are
 * made from, says the same in the same transaction; and the project knows from then on that dashboards may be hidden.
 */
export async function putAccessRule(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { summary, rules }: DashboardRules,
  body: z.output<typeof AccessControlInput>,
  tenant: Tenant,
  activityOps: ActivityOps,
): Promise<AccessRuleItem | undefined> {
  const { target, level } = requestedRule(body);
  const { project_id, id } = summary;
  const naming = target === EVERYONE ? [] : [namingOp(target, tenant.organization, 'no_member')];
  const key = keys.accessRule(project_id, id, target);
  const now = clock();
  const before = rules.find((rule) => rule.target === target);
  const rule: AccessRuleItem | undefined =
    level === null
      ? undefined
      : {
          ...key,
          ...(target === EVERYONE ? {} : places.mentionOf(target, project_id, id)),
          dashboard_id: id,
          target,
          access_level: level,
          created_by: before?.created_by ?? tenant.membership.user_uuid,
          created_at: before?.created_at ?? now,
          updated_at: now,
        };
  const ops: Op[] = [
    ...(level === null ? [] : naming),
    summaryOp(summary, { [ruleField(target)]: level }),
    rule === undefined ? { remove: key } : { put: rule },
    ...hidingOps(level, tenant),
    ...activityOps({ ...aboutDashboard(summary), activity: 'updated', changes: ruleChanges(target, before, level) }),
  ];
  await writeOrFail(table, ops, { no_member: () => invalidReference('organization_member', target) });
  return rule;
}

/** Returns how the activity log shows a rule that is written, changed or taken away; nothing when it stays the same. */
function ruleChanges(target: string, before: AccessRuleItem | undefined, level: AccessLevel | null): Change[] {
  const was = before?.access_level ?? null;
  if (was === level) return [];
  const action = was === null ? 'created' : level === null ? 'deleted' : 'changed';
  const rule = (access_level: AccessLevel | null) => (access_level === null ? null : { target, access_level });
  return [{ action, field: 'access_controls', before: rule(was), after: rule(level) }];
}

/** Returns the op of the first rule that hides a dashboard: lists of the project then look at every summary. */
function hidingOps(level: AccessLevel | null, { project }: Tenant): Op[] {
  if (level !== 'none' || project === undefined || project.hides_dashboards === true) return [];
  const { id } = project;
  return [{ change: keys.project(id), set: { hides_dashboards: true }, if: { is: { id, deleted_at: null } } }];
}
