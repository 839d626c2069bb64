import * as z from 'zod';
import type { UserLookup } from '../../accounts/users/lookup.ts';
import { User } from '../../accounts/users/model.ts';
import { reference, text } from '../../http/fields.ts';
import { wireInstant } from '../../http/instant.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    accessRule: AccessRuleItem;
  }
}

/** The levels that access rules give, from the least to the most. */
export const ACCESS_LEVELS = ['none', 'viewer', 'editor', 'manager'] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** The level of a member whom no rule names. */
export const DEFAULT_ACCESS: AccessLevel = 'editor';

/** Whom an access rule is for that names no member: everyone whom no rule names. */
export const EVERYONE = 'everyone';

/** The summary's field for an access rule: its level (`AccessLevel`). It is written with the `AccessRuleItem`. */
export const ruleField = (target: string): `rule:${string}` => `rule:${target}`;

/** An access rule as it is stored: what one member, or everyone else, may do with a dashboard. */
export interface AccessRuleItem extends Item {
  readonly dashboard_id: number;
  /** A user's uuid, or `EVERYONE`. */
  readonly target: string;
  readonly access_level: AccessLevel;
  readonly created_by: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** The body that gives somebody a level, or takes the rule away. Without a member it is for everybody else. */
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

/** All rules of a dashboard, and the caller's level. */
export const AccessControls = z
  .object({
    access_controls: z.array(AccessControl),
    available_access_levels: z.array(z.enum(ACCESS_LEVELS)).describe('From the least to the most.'),
    default_access_level: z.enum(ACCESS_LEVELS).describe('Without any rule.'),
    user_access_level: z.enum(ACCESS_LEVELS).describe("The caller's."),
    user_can_edit_access_levels: z.boolean(),
  })
  .meta({ id: 'AccessControls' });

/** Returns the public object of a stored rule. */
export function accessControlObject(rule: AccessRuleItem, userOf: UserLookup): z.input<typeof AccessControl> {
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

/** The fields of an answer that are the same for every dashboard. */
export const COMMON_FIELDS = { available_access_levels: [...ACCESS_LEVELS], default_access_level: DEFAULT_ACCESS };
