/** Who may see and edit a dashboard, by its access rules. */
import { useQuery } from '@tanstack/react-query';
import { answered, api, type Schemas } from './api.ts';

export type AccessLevel = Schemas['AccessControl']['access_level'];

/** What a level lets people do, from the least. */
export const ACCESS_LEVELS: readonly { readonly value: AccessLevel; readonly label: string }[] = [
  { value: 'none', label: 'do not see it' },
  { value: 'viewer', label: 'see it' },
  { value: 'editor', label: 'see and edit it' },
  { value: 'manager', label: 'see and edit it, and say who may' },
];

export function useAccessRules(project: string, id: number) {
  return useQuery({
    queryKey: ['access', project, id],
    queryFn: () =>
      answered(
        api.GET('/api/projects/{project_id}/dashboards/{id}/access_controls/', {
          params: { path: { project_id: project, id } },
        }),
      ),
  });
}

/** Gives a level to a member, or to everybody whom no rule names (null); without a level it takes their rule away. */
export const writeAccessRule = (
  project: string,
  id: number,
  member: string | null,
  level: AccessLevel | null,
): Promise<unknown> =>
  answered<unknown>(
    api.PUT('/api/projects/{project_id}/dashboards/{id}/access_controls/', {
      params: { path: { project_id: project, id } },
      body: { access_level: level, organization_member: member },
    }),
  );
