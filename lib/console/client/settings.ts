/** A project and its organization as their settings are written: with their versions. */
import { useQuery } from '@tanstack/react-query';
import { type At, api, ifMatch, type Schemas, type Versioned, versioned } from './api.ts';

export type Project = Schemas['Project'];
export type ProjectChange = Pick<
  Schemas['ProjectsUpdateRequest'],
  'name' | 'timezone' | 'week_start_day' | 'anonymize_ips'
>;
export type Organization = Schemas['Organization'];

/** Writes a change of the version that was seen. Throws a `Refusal` of status 412 when somebody else was faster. */
export const writeProject = (seen: Versioned<Project>, change: ProjectChange): Promise<Versioned<Project>> =>
  versioned(
    api.PATCH('/api/projects/{project_id}/', {
      params: { path: { project_id: String(seen.value.id) }, header: ifMatch(seen) },
      body: change,
    }),
  );

export const organizationAt = (id: string): At<Organization> => ({
  queryKey: ['organization', id],
  queryFn: () =>
    versioned(api.GET('/api/organizations/{organization_id}/', { params: { path: { organization_id: id } } })),
});

export const useOrganization = (id: string | undefined) =>
  useQuery({ ...organizationAt(id ?? ''), enabled: id !== undefined });

/** Writes the name over the version that was seen. Throws a `Refusal` of status 412 when somebody else was faster. */
export const writeOrganization = (
  seen: Versioned<Organization>,
  change: { readonly name: string },
): Promise<Versioned<Organization>> =>
  versioned(
    api.PATCH('/api/organizations/{organization_id}/', {
      params: { path: { organization_id: seen.value.id }, header: ifMatch(seen) },
      body: change,
    }),
  );
