import * as z from 'zod';
import { boolean, nullableBoolean, reference, text } from '../../http/fields.ts';
import { wireInstant } from '../../http/instant.ts';
import { LEVELS, type MembershipLevel } from '../../http/levels.ts';
import { fromJsonText, type JsonText } from '../../ports/table/json-text.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    organization: OrganizationItem;
    slug: SlugItem;
    project: ProjectItem;
    projectToken: ProjectTokenItem;
    membership: MembershipItem;
  }
}

/** The organization that has a slug, as it is stored. */
interface SlugItem extends Item {
  readonly organization_id: string;
}

/** An organization as it is stored. Instants are milliseconds since 1970. */
export interface OrganizationItem extends Item {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly logo_media_id: string | null;
  readonly is_member_join_email_enabled: boolean;
  readonly enforce_2fa: boolean;
  /** Whether dashboards may be shared with everybody. Absent: they may. */
  readonly allow_publicly_shared_resources?: boolean;
  /** The uuid of the user who has made it. Absent: it is older than this field. */
  readonly created_by?: string;
  readonly created_at: number;
  readonly updated_at: number;
  /** Counts the memberships, and changes in their transactions. */
  readonly members: number;
  /** How many invitations were ever made: of two who make one at once, the other counts the open ones again. Absent: none. */
  readonly invites_made?: number;
  /** The same of batch exports. */
  readonly exports_made?: number;
  /** Oldest first. It changes in the transactions of the projects. */
  readonly projects: JsonText<readonly ProjectBrief[]>;
  /** When it is set, tenancy refuses, and the purge is under way. */
  readonly deleted_at: number | null;
  /** Counts changes of the writable fields (ETag). */
  readonly ver: number;
}

/** As much of a project as its organization's item keeps for answers. */
export interface ProjectBrief {
  readonly id: number;
  readonly uuid: string;
  readonly name: string;
  readonly api_token: string;
  /** Absent: UTC. */
  readonly timezone?: string;
  /** Absent: no. */
  readonly ingested_event?: boolean;
}

/** Which project a token is of, as stored. */
interface ProjectTokenItem extends Item {
  readonly project_id: number;
}

/** A project as it is stored: environment ("team") and project are one, with one number. */
export interface ProjectItem extends Item {
  readonly id: number;
  readonly uuid: string;
  readonly organization_id: string;
  readonly name: string;
  /** The public token (`phc_...`) that events are sent with. */
  readonly api_token: string;
  /** The tokens before that were to work on for a day, oldest first; their own items tell whether they still do. Absent: none. */
  readonly previous_tokens?: JsonText<readonly string[]>;
  readonly created_at: number;
  readonly deleted_at: number | null;
  /** As IANA names it. Absent: UTC. */
  readonly timezone?: string;
  /** 1: weeks begin on Monday. Absent, null and 0: on Sunday. */
  readonly week_start_day?: 0 | 1 | null;
  /** Property filters that a query adds by `filterTestAccounts`. Absent: none. */
  readonly test_account_filters?: JsonText<readonly unknown[]>;
  /** Whether events have been added since this field is there. Absent: no. */
  readonly ingested_event?: boolean;
  /** Whether captured events land without the address of who sent them. Absent: with it. */
  readonly anonymize_ips?: boolean;
  /** Set with the first access rule that hides a dashboard: from then on lists look at every dashboard. */
  readonly hides_dashboards?: boolean;
  /** How often the answers to its queries were forgotten, as with a person: none is told from before. Absent: never. */
  readonly answers_forgotten?: number;
  /** How many alerts and subscriptions were ever made: of two who make one at once, the other counts again. Absent: none. */
  readonly notifiers_made?: number;
  readonly ver: number;
}

/** A membership as it is stored, beside its user. */
export interface MembershipItem extends Item {
  readonly user_uuid: string;
  readonly organization_id: string;
  readonly level: MembershipLevel;
  readonly joined_at: number;
  readonly updated_at: number;
  /** Counts changes of the level (ETag). */
  readonly ver: number;
  /** How often a dashboard was let name the member (`namingOp`): a removal looks again for what has come since. Absent: never. */
  readonly named?: number;
  /** The organization's creation, so that a user's organizations are sorted without reading them. */
  readonly organization_created_at: number;
}

/** A membership, as far as it decides what the member may do. */
export type MemberWithLevel = Pick<MembershipItem, 'user_uuid' | 'level'>;

/** The body that makes an organization. */
export const OrganizationInput = z.object({
  name: text({ max: 64 }),
  logo_media_id: reference().nullable().optional(),
  is_member_join_email_enabled: boolean().optional(),
  enforce_2fa: nullableBoolean()
    .transform((value) => value ?? false)
    .optional(),
  allow_publicly_shared_resources: boolean()
    .optional()
    .describe('False closes every public page of the organization, and lets none be opened.'),
});

/** The body that changes an organization. */
export const OrganizationPatch = OrganizationInput.partial();

const Feature = z.object({ key: z.string(), name: z.string() });

/** A project as PostHog's clients know it: a team, with the project's number. */
export const Team = z.object({
  id: z.int(),
  uuid: z.uuid(),
  organization: z.uuid(),
  project_id: z.int(),
  api_token: z.string(),
  name: z.string(),
  completed_snippet_onboarding: z.boolean(),
  has_completed_onboarding_for: z.record(z.string(), z.unknown()).nullable(),
  ingested_event: z.boolean(),
  is_demo: z.boolean(),
  timezone: z.string(),
  access_control: z.boolean(),
});

/** An organization as its members see it. */
export const Organization = z
  .object({
    id: z.uuid(),
    name: z.string(),
    slug: z.string(),
    logo_media_id: z.uuid().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    membership_level: z
      .literal([LEVELS.member, LEVELS.admin, LEVELS.owner])
      .describe("The caller's: 1 member, 8 admin, 15 owner."),
    plugins_access_level: z.int(),
    teams: z.array(Team),
    projects: z.array(z.object({ id: z.int(), organization_id: z.uuid(), name: z.string() })),
    available_product_features: z.array(Feature),
    is_member_join_email_enabled: z.boolean(),
    metadata: z.string().describe('JSON text.'),
    customer_id: z.string().nullable(),
    enforce_2fa: z.boolean(),
    allow_publicly_shared_resources: z.boolean(),
    member_count: z.string().describe('A whole number, as text.'),
  })
  .meta({ id: 'Organization' });

/** Every organization may use everything: there are no plans. */
const FEATURES = [
  { key: 'tagging', name: 'Tagging' },
  { key: 'advanced_permissions', name: 'Advanced permissions' },
  { key: 'organizations_projects', name: 'Multiple projects' },
];

/** PostHog's level of a new organization: plugins may be configured, not installed. */
const PLUGINS_ACCESS_LEVEL = 3;

/** Returns the public object of a project, as a team. */
export function teamObject(
  organizationId: string,
  { id, uuid, api_token, name, timezone = 'UTC', ingested_event = false }: ProjectBrief,
): z.output<typeof Team> {
  return {
    id,
    uuid,
    organization: organizationId,
    project_id: id,
    api_token,
    name,
    completed_snippet_onboarding: false,
    has_completed_onboarding_for: null,
    ingested_event,
    is_demo: false,
    timezone,
    access_control: false,
  };
}

/** Returns the public object of a stored organization, for a caller with this level in it. */
export function organizationObject(stored: OrganizationItem, level: MembershipLevel): z.output<typeof Organization> {
  const projects = fromJsonText(stored.projects);
  return {
    id: stored.id,
    name: stored.name,
    slug: stored.slug,
    logo_media_id: stored.logo_media_id,
    created_at: wireInstant(stored.created_at),
    updated_at: wireInstant(stored.updated_at),
    membership_level: level,
    plugins_access_level: PLUGINS_ACCESS_LEVEL,
    teams: projects.map((project) => teamObject(stored.id, project)),
    projects: projects.map(({ id, name }) => ({ id, organization_id: stored.id, name })),
    available_product_features: FEATURES,
    is_member_join_email_enabled: stored.is_member_join_email_enabled,
    metadata: JSON.stringify({ instance_tag: 'none' }),
    customer_id: null,
    enforce_2fa: stored.enforce_2fa,
    allow_publicly_shared_resources: stored.allow_publicly_shared_resources ?? true,
    member_count: String(stored.members),
  };
}
