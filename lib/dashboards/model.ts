import * as z from 'zod';
import type { Item } from '../table/table.ts';
import { User } from '../users/model.ts';

/** Who may edit: 21 everyone in the project, 37 only collaborators. */
export const RESTRICTION = { everyone: 21, collaborators: 37 } as const;
export type RestrictionLevel = (typeof RESTRICTION)[keyof typeof RESTRICTION];

/** What somebody may do with one dashboard, as far as its restriction goes: 21 view, 37 edit. */
export const PRIVILEGE = { view: 21, edit: 37 } as const;
export type PrivilegeLevel = (typeof PRIVILEGE)[keyof typeof PRIVILEGE];

/** What access rules give, from the least to the most. */
export const ACCESS_LEVELS = ['none', 'viewer', 'editor', 'manager'] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** What a member has whom no rule names. */
export const DEFAULT_ACCESS: AccessLevel = 'editor';

export const CREATION_MODES = ['default', 'template', 'duplicate'] as const;
export type CreationMode = (typeof CREATION_MODES)[number];

/** A tile more than this is refused (decisions: 500). */
export const MAX_TILES = 500;

/**
 * The head of a dashboard: what a list shows, and all that decides who may see and change it. So beside the fields
 * named here it holds one field for each collaborator (`collaboratorField`) and for each access rule (`ruleField`):
 * a list needs no other item, and changes of two of them at once both last.
 */
export interface DashboardItem extends Item {
  readonly id: number;
  readonly project_id: number;
  readonly name: string;
  readonly description: string;
  readonly pinned: boolean;
  readonly created_at: number;
  /** The creator's uuid. */
  readonly created_by: string;
  /** As `enabled` of its sharing, in the same transaction. */
  readonly is_shared: boolean;
  /** Set: gone from lists and reads, with its tiles, until it is brought back. */
  readonly deleted_at: number | null;
  readonly creation_mode: CreationMode;
  /** JSON of texts. */
  readonly tags: string;
  readonly restriction_level: RestrictionLevel;
  /** How many tiles it has; changes with them, in their transaction. */
  readonly tiles: number;
  /** Counts changes of the writable state (ETag): fields, tiles, filters and variables. */
  readonly ver: number;
}

/** The head's field for a collaborator: his level (21 or 37). Written with his `CollaboratorItem`. */
export const collaboratorField = (uid: string): `with:${string}` => `with:${uid}`;

/** Whom an access rule is for: one member, or everyone whom no rule names. */
export type RuleTarget = string;
export const EVERYONE: RuleTarget = 'everyone';

/** The head's field for an access rule: its level (`AccessLevel`). Written with the `AccessRuleItem`. */
export const ruleField = (target: RuleTarget): `rule:${string}` => `rule:${target}`;

/** What only the detail form shows. */
export interface DashboardDetailItem extends Item {
  /** What it was made with: a template's name, else "". */
  readonly use_template: string;
  /** The dashboard that it was made from. */
  readonly use_dashboard: number | null;
  readonly delete_insights: boolean;
  /** JSON of an object. */
  readonly filters: string;
  /** JSON of an object. */
  readonly variables: string;
}

/** A tile: of an insight, or of text; the other is null. */
export interface TileItem extends Item {
  readonly id: number;
  /** The insight's number. */
  readonly insight: number | null;
  readonly text: string | null;
  /** JSON of an object by breakpoint. */
  readonly layouts: string;
  readonly color: string | null;
  readonly created_at: number;
  /** Null: made from a template's JSON. */
  readonly created_by: string | null;
  readonly last_modified_at: number;
  readonly last_modified_by: string | null;
}

/** Somebody whom a restricted dashboard's owner named. */
export interface CollaboratorItem extends Item {
  readonly id: string;
  readonly dashboard_id: number;
  readonly user_uuid: string;
  readonly level: PrivilegeLevel;
  readonly added_at: number;
  readonly updated_at: number;
}

/** What one member, or everyone else, may do with a dashboard. */
export interface AccessRuleItem extends Item {
  readonly dashboard_id: number;
  readonly target: RuleTarget;
  readonly access_level: AccessLevel;
  readonly created_by: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** A dashboard's public link; there from the dashboard's creation. */
export interface SharingItem extends Item {
  readonly enabled: boolean;
  readonly access_token: string;
  /** The dashboard's own creation. */
  readonly created_at: number;
}

/** Which dashboard a token opens, if its sharing is enabled and has this token. */
export interface SharingTokenItem extends Item {
  readonly organization_id: string;
  readonly project_id: number;
  readonly dashboard_id: number;
}

const listFields = {
  id: z.int(),
  name: z.string(),
  description: z.string(),
  pinned: z.boolean(),
  created_at: z.iso.datetime(),
  created_by: User.nullable().describe('Null when the account is gone.'),
  is_shared: z.boolean(),
  deleted: z.boolean(),
  creation_mode: z.enum(CREATION_MODES),
};

const tags = z.array(z.string());

const levelFields = {
  restriction_level: z.literal(Object.values(RESTRICTION)).describe('21: all members may edit; 37: collaborators.'),
  effective_restriction_level: z.literal(Object.values(RESTRICTION)),
  effective_privilege_level: z.literal(Object.values(PRIVILEGE)).describe('What the caller may: 21 view, 37 edit.'),
  user_access_level: z.enum(ACCESS_LEVELS).describe("The caller's level."),
};

/** A dashboard in a list. */
export const Dashboard = z.object({ ...listFields, tags, ...levelFields }).meta({ id: 'Dashboard' });
