import type { Credentials } from '../../http/credentials.ts';
import { opens } from '../../http/scopes.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import type { MembershipItem, OrganizationItem, ProjectBrief } from './model.ts';

const SLUG_LENGTH = 48;

/**
 * Returns the slug of a name: lower-case ASCII letters, digits, `_` and `-`, at most 48 characters, never empty. With a
 * `tail` (four letters, after a clash): the first 43 characters, `-` and the tail.
 */
export function slugOf(name: string, tail?: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9_\s-]/g, '')
    .replace(/[-\s]+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '');
  const slug = words === '' ? 'organization' : words;
  return tail === undefined ? slug.slice(0, SLUG_LENGTH) : `${slug.slice(0, SLUG_LENGTH - 1 - tail.length)}-${tail}`;
}

/** An organization that is not deleted, with somebody's membership in it. */
export interface OrganizationMembership {
  readonly organization: OrganizationItem;
  readonly membership: MembershipItem;
}

/** Returns the organizations, of these, that a key opens, each with those of its projects that the key opens. */
export function openPlaces(
  joined: readonly OrganizationMembership[],
  { scopedTeams, scopedOrganizations }: Pick<Credentials, 'scopedTeams' | 'scopedOrganizations'>,
): readonly OrganizationMembership[] {
  const open = joined.filter(({ organization: { id } }) => opens(scopedOrganizations, id));
  if (scopedTeams.length === 0) return open;
  return open.flatMap(({ organization, membership }) => {
    const projects = fromJsonText(organization.projects).filter(({ id }) => scopedTeams.includes(id));
    return projects.length === 0
      ? []
      : [{ organization: { ...organization, projects: toJsonText(projects) }, membership }];
  });
}

/** Returns what `@current` stands for: the organization joined first, and its project with the lowest number. */
export function currentPlace(
  joined: readonly OrganizationMembership[],
): Partial<OrganizationMembership> & { readonly project?: ProjectBrief } {
  const [first] = joined.toSorted((a, b) => a.membership.joined_at - b.membership.joined_at);
  if (first === undefined) return {};
  const projects = fromJsonText(first.organization.projects);
  const [project] = projects.toSorted((a, b) => a.id - b.id);
  return project === undefined ? first : { ...first, project };
}
