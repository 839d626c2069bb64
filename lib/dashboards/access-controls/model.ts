import * as z from 'zod';
import { User } from '../../accounts/users/model.ts';
import { reference, text } from '../../http/fields.ts';
import { wireInstant } from '../../http/instant.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    accessRule: AccessRuleItem;
  }
}

/** What access rules give, from the least to the most. */
export const ACCESS_LEVELS = ['none', 'viewer', 'editor', 'manager'] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** What a member has whom no rule names. */
export const DEFAULT_ACCESS: AccessLevel = 'editor';

/** Whom an access rule is for: one member, or everyone whom no rule names. */
export type RuleTarget = string;
export const EVERYONE: RuleTarget = 'everyone';

/** The summary's field for an access rule: its level (`AccessLevel`). Written with the `AccessRuleItem`. */
export const ruleField = (target: RuleTarget): `rule:${string}` => `rule:${target}`;

/** What one member, or everyone else, may do with a dashboard. */
export interface AccessRuleItem extends Item {
  readonly dashboard_id: number;
  readonly target: RuleTarget;
  readonly access_level: AccessLevel;
  readonly created_by: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** What a caller writes to give somebody a level, or to take the rule away. Without a member: for everybody else. */
export const AccessControlInput = z.object({
  access_level: text()
    .nullable()
    .meta({ type: ['string', 'null'], enum: [...ACCESS_LEVELS, null] })
    .describe('Null takes the rule away.'),
  organization_member: reference().nullable().optional().describe("A member of the organization, by the user's uuid."),
  role: reference().nullable().optional().describe('There are no roles: none exists.'),
});

/** One rule. */
export const AccessControl = z
  .object({
    access_level: z.enum(ACCESS_LEVELS),
    resource: z.literal('dashboard'),
    resource_id: z.string(),
    organization_member: z.uuid().nullable().describe("The user's uuid; null: everybody whom no rule names."),
    role: z.null(),
    created_by: User.nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'AccessControl' });

/** All rules of a dashboard, and where the caller stands. */
export const AccessControls = z
  .object({
    access_controls: z.array(AccessControl),
    available_access_levels: z.array(z.enum(ACCESS_LEVELS)).describe('From the least to the most.'),
    default_access_level: z.enum(ACCESS_LEVELS).describe('Without any rule.'),
    user_access_level: z.enum(ACCESS_LEVELS).describe("The caller's."),
    user_can_edit_access_levels: z.boolean(),
  })
  .meta({ id: 'AccessControls' });

/** The public object of a stored rule. */
export function accessControlObject(
  rule: AccessRuleItem,
  userOf: (uuid: string | null) => z.output<typeof User> | null,
): z.input<typeof AccessControl> {
  return {
    access_level: rule.access_level,
    resource: 'dashboard',
    resource_id: String(rule.dashboard_id),
    organization_member: rule.target === EVERYONE ? null : rule.target,
    role: null,
    created_by: userOf(rule.created_by),
    created_at: wireInstant(rule.created_at),
    updated_at: wireInstant(rule.updated_at),
  };
}

/** What says the same of every dashboard. */
export const LEVELS_OF_ACCESS = {
  available_access_levels: [...ACCESS_LEVELS],
  default_access_level: DEFAULT_ACCESS,
};
