import * as z from 'zod';
import type { Item } from '../table/table.ts';

/** Levels of membership, as numbers that compare. */
export const LEVELS = { member: 1, admin: 8, owner: 15 } as const;
export type Level = (typeof LEVELS)[keyof typeof LEVELS];

/** An organization as stored. Instants are milliseconds since 1970. */
export interface OrganizationItem extends Item {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly logo_media_id: string | null;
  readonly is_member_join_email_enabled: boolean;
  readonly enforce_2fa: boolean;
  readonly created_at: number;
  readonly updated_at: number;
  /** How many memberships; changes only with them, in their transaction. */
  readonly members: number;
  /** JSON of `ProjectBrief[]`, oldest first; changes with the projects, in their transaction. */
  readonly projects: string;
  /** Set: tenancy refuses, and the purge is under way. */
  readonly deleted_at: number | null;
  /** Counts changes of the writable fields (ETag). */
  readonly ver: number;
}

/** What an organization's answer tells of a project. */
export interface ProjectBrief {
  readonly id: number;
  readonly uuid: string;
  readonly name: string;
  readonly api_token: string;
}

/** A project as stored: environment ("team") and project are one, with one number. */
export interface ProjectItem extends Item {
  readonly id: number;
  readonly uuid: string;
  readonly organization_id: string;
  readonly name: string;
  /** The public token (`phc_...`) that events are sent with. */
  readonly api_token: string;
  readonly created_at: number;
  readonly deleted_at: number | null;
  readonly ver: number;
}

/** A membership as stored beside its user. */
export interface MembershipItem extends Item {
  readonly user_uuid: string;
  readonly organization_id: string;
  readonly level: Level;
  readonly joined_at: number;
  /** The organization's creation, so that a user's organizations are sorted without reading them. */
  readonly organization_created_at: number;
}

export const Organization = z.object({ id: z.uuid() }).meta({ id: 'Organization' });
