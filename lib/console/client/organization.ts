/** The organization of a project, and who is in it. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useProject } from './access.ts';
import { answered, api, unlessForbidden } from './api.ts';
import { rowsOfPage } from './paged.ts';
import type { Organization } from './settings.ts';

/** The levels of members, from the least. */
export const LEVELS = [
  { value: '1', label: 'Member', may: 'sees and edits what is in projects, exports and imports too' },
  {
    value: '8',
    label: 'Admin',
    may: 'also invites and removes people, makes and deletes projects, changes tokens, and reads the activity log',
  },
  { value: '15', label: 'Owner', may: 'also deletes the organization and makes other owners' },
] as const;

/** From this level on, members make and delete projects, and invite others. */
export const ADMIN = 8;
/** From this level on, members delete the organization. */
export const OWNER = 15;

export const levelName = (level: number): string =>
  LEVELS.find(({ value }) => value === String(level))?.label ?? String(level);

/** Most lists of members are one page; more are said to be there. */
const MEMBERS_PAGE = 200;

/** Returns the organizations of who is signed in, oldest first; null: the key may not tell. */
export const readOrganizations = (): Promise<readonly Organization[] | null> =>
  unlessForbidden(answered(api.GET('/api/organizations/')).then(({ results }) => results));

/** Returns them, once they are asked for. */
export const useOrganizations = (enabled = true) =>
  useQuery({ queryKey: ['organizations'], enabled, queryFn: readOrganizations });

export function useMembers(organization: string | undefined) {
  return useQuery({
    queryKey: ['members', organization],
    enabled: organization !== undefined,
    queryFn: () =>
      answered(
        api.GET('/api/organizations/{organization_id}/members/', {
          params: { path: { organization_id: organization ?? '' }, query: { limit: MEMBERS_PAGE } },
        }),
      ),
  });
}

/** Returns the members of the project's organization. */
export const useProjectMembers = (project: string) => useMembers(useProject(project).data?.organization);

/** Returns where the link of an invitation leads. */
export function useInvitePreview(id: string) {
  return useQuery({
    queryKey: ['invitation', id],
    queryFn: () => answered(api.GET('/api/signup/{id}/', { params: { path: { id } } })),
  });
}

export function useInvites(organization: string, page: number) {
  return useQuery({
    queryKey: ['invites', organization, page],
    placeholderData: keepPreviousData,
    queryFn: () =>
      answered(
        api.GET('/api/organizations/{organization_id}/invites/', {
          params: { path: { organization_id: organization }, query: rowsOfPage(page) },
        }),
      ),
  });
}
