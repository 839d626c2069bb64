import * as z from 'zod';
import { wireInstant } from '../../http/instant.ts';
import { Organization, organizationObject, Team, teamObject } from '../organizations/model.ts';
import type { currentPlace, OrganizationMembership } from '../organizations/rules.ts';
import { User, type UserItem, userObject } from '../users/model.ts';

const OrganizationBrief = Organization.pick({
  id: true,
  name: true,
  slug: true,
  logo_media_id: true,
  membership_level: true,
});

/** The caller, and where they are. */
export const Me = User.extend({
  date_joined: z.iso.datetime(),
  organization: Organization.nullable().describe(
    'The current one: that the caller joined first, of those that the key opens.',
  ),
  organizations: z.array(OrganizationBrief).describe('All that the caller is in and the key opens, oldest first.'),
  team: Team.nullable().describe('The current project: that of the current organization with the lowest number.'),
  project: Organization.shape.projects.element.nullable().describe('The same, in short.'),
}).meta({ id: 'Me' });

/** Returns the public object of the caller, with their organizations and which of them is current. */
export function meObject(
  user: UserItem,
  joined: readonly OrganizationMembership[],
  { organization, membership, project }: ReturnType<typeof currentPlace>,
): z.output<typeof Me> {
  const isSomewhere = organization !== undefined && membership !== undefined;
  const isInProject = isSomewhere && project !== undefined;
  return {
    ...userObject(user),
    date_joined: wireInstant(user.created_at),
    organization: isSomewhere ? organizationObject(organization, membership.level) : null,
    organizations: joined.map((one) => organizationObject(one.organization, one.membership.level)),
    team: isInProject ? teamObject(organization.id, project) : null,
    project: isInProject ? { id: project.id, organization_id: organization.id, name: project.name } : null,
  };
}
