import * as z from 'zod';
import { boolean, text } from '../../../http/fields.ts';
import { wireInstant } from '../../../http/instant.ts';
import { LEVELS, type MembershipLevel } from '../../../http/levels.ts';
import { type ProjectItem, Team, teamObject } from '../model.ts';

/** The body that makes a project. */
export const ProjectInput = z.object({ name: text({ max: 200 }).optional() });

/** The body that changes a project. */
export const ProjectPatch = ProjectInput;

/** The body that gives a project another token. */
export const TokenReset = z.object({
  keep_old_for_a_day: boolean()
    .optional()
    .describe('The token before works for another day, until it is reset again. Default: it ends at once.'),
});

/** A project: what PostHog calls a project and its environment, with one number. */
export const Project = Team.extend({
  created_at: z.iso.datetime(),
  effective_membership_level: z.literal(Object.values(LEVELS)).describe("The caller's: 1 member, 8 admin, 15 owner."),
}).meta({ id: 'Project' });

/** Returns the public object of a stored project, for a caller with this level in its organization. */
export function projectObject(item: ProjectItem, level: MembershipLevel): z.output<typeof Project> {
  return {
    ...teamObject(item.organization_id, item),
    created_at: wireInstant(item.created_at),
    effective_membership_level: level,
  };
}
