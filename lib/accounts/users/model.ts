import * as z from 'zod';
import { text } from '../../http/fields.ts';
import { wireInstant } from '../../http/instant.ts';
import type { Item } from '../../ports/table/table.ts';
import { Organization, organizationObject, Team, teamObject } from '../organizations/model.ts';
import type { currentPlace, Joined } from '../organizations/rules.ts';

/** A user as stored. `id` is the public integer, `uuid` the key. */
export interface UserItem extends Item {
  readonly id: number;
  readonly uuid: string;
  readonly distinct_id: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly created_at: number;
  /** JSON of `KeyRef[]`: the user's personal API keys; changes with them, in their transaction. */
  readonly keys: string;
}

/** Where a personal API key is stored: under the SHA-256 of its value. */
export interface KeyRef {
  readonly id: string;
  readonly sha256: string;
}

/** What a user is made of. */
export const UserInput = z.object({
  email: text({ max: 254 }).pipe(z.email()),
  first_name: text({ max: 150, blank: true }).optional(),
  last_name: text({ max: 150, blank: true }).optional(),
});

/** A user inside answers. */
export const User = z
  .object({
    id: z.int(),
    uuid: z.uuid(),
    distinct_id: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    email: z.string(),
    is_email_verified: z.boolean(),
    hedgehog_config: z.record(z.string(), z.unknown()),
    role_at_organization: z.string(),
  })
  .meta({ id: 'User' });

/** The public object of a stored user. */
export function userCard(user: UserItem): z.output<typeof User> {
  return {
    id: user.id,
    uuid: user.uuid,
    distinct_id: user.distinct_id,
    first_name: user.first_name,
    last_name: user.last_name,
    email: user.email,
    is_email_verified: false,
    hedgehog_config: {},
    role_at_organization: '',
  };
}

const OrganizationBrief = Organization.pick({
  id: true,
  name: true,
  slug: true,
  logo_media_id: true,
  membership_level: true,
});

/** The caller, and where he is. */
export const Me = User.extend({
  date_joined: z.iso.datetime(),
  organization: Organization.nullable().describe('The current one: that the caller joined first.'),
  organizations: z.array(OrganizationBrief).describe('All of his, oldest first.'),
  team: Team.nullable().describe('The current project: that of the current organization with the lowest number.'),
  project: Organization.shape.projects.element.nullable().describe('The same, in short.'),
}).meta({ id: 'Me' });

/** The public object of the caller, with his organizations and what is current of them. */
export function meObject(
  user: UserItem,
  joined: readonly Joined[],
  { organization, membership, project }: ReturnType<typeof currentPlace>,
): z.output<typeof Me> {
  const isSomewhere = organization !== undefined && membership !== undefined;
  const isInProject = isSomewhere && project !== undefined;
  return {
    ...userCard(user),
    date_joined: wireInstant(user.created_at),
    organization: isSomewhere ? organizationObject(organization, membership.level) : null,
    organizations: joined.map((one) => organizationObject(one.organization, one.membership.level)),
    team: isInProject ? teamObject(organization.id, project) : null,
    project: isInProject ? { id: project.id, organization_id: organization.id, name: project.name } : null,
  };
}
