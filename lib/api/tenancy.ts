/**
 * Finds out who calls, and whether what the path names is theirs. Two reads beside the operation's own: the user with
 * their memberships, and the project or the organization.
 */
import type { OrganizationItem, ProjectItem } from '../accounts/organizations/model.ts';
import { findProject } from '../accounts/organizations/projects/store.ts';
import { currentPlace, openPlaces } from '../accounts/organizations/rules.ts';
import { findOrganization, organizationsIn, userWithMemberships } from '../accounts/organizations/store.ts';
import type { Caller, Tenant } from '../accounts/organizations/tenant.ts';
import { Recent } from '../basics/recent.ts';
import type { Credentials } from '../http/credentials.ts';
import { uuidOf } from '../http/fields.ts';
import type { Route } from '../http/route.ts';
import { opens } from '../http/scopes.ts';
import { Failure, fail } from '../ports/errors.ts';
import type { Table } from '../ports/table/table.ts';

const CURRENT = '@current';

/** What a path that names no organization names of a row that is of the current one. */
export const CURRENT_PLACE = { organization_id: CURRENT };

/** The project or organization that a path names, and the failure when it is not there, or not the caller's. */
type TenantPath = { readonly missing: () => Failure } & (
  | { readonly project: number; readonly organization?: undefined }
  | {
      readonly organization: string;
      readonly project: number | undefined;
      /** The path does not name it: it is among what the key opens. */
      readonly isImplied: boolean;
    }
);

export interface Admission {
  readonly caller: Caller;
  readonly tenant: Tenant | undefined;
}

const noProject = (): Failure => new Failure('not_found', { detail: 'Project not found.' });
const noOrganization = (): Failure => new Failure('not_found', { detail: 'Organization not found.' });

/**
 * Returns the path's parameters with ids in the place of `@current`, which is among what the key opens. Throws the 404
 * when it stands for nothing.
 */
export async function resolveCurrent(
  table: Table,
  credentials: Credentials,
  template: string,
  params: Readonly<Record<string, string | undefined>>,
): Promise<Readonly<Record<string, string | undefined>>> {
  const isProject = params['project_id'] === CURRENT;
  if (!isProject && params['organization_id'] !== CURRENT) return params;
  const { user, memberships } = await userWithMemberships(table, credentials.userId);
  if (user === undefined) fail('not_authenticated');
  const joined = await organizationsIn(table, memberships);
  const { organization, project } = currentPlace(openPlaces(joined, credentials));
  if (isProject) {
    if (project === undefined) throw noProject();
    const current = { ...params, project_id: String(project.id) };
    return params['organization_id'] === CURRENT ? { ...current, organization_id: organization?.id } : current;
  }
  if (organization === undefined) {
    throw isItself(template)
      ? new Failure('not_found', { detail: 'Current organization not found.' })
      : noOrganization();
  }
  return { ...params, organization_id: organization.id };
}

/** Returns what the path names, if anything. Throws the 404 of an id that cannot be one. */
export function tenantPathOf(
  template: string,
  params: Readonly<Record<string, string | undefined>>,
): TenantPath | undefined {
  const { project_id, organization_id } = params;
  if (project_id !== undefined && !/^\d{1,15}$/.test(project_id)) throw noProject();
  const project = project_id === undefined ? undefined : Number(project_id);
  if (organization_id === undefined) return project === undefined ? undefined : { project, missing: noProject };
  const organization = uuidOf(organization_id);
  if (organization === undefined) throw isItself(template) ? new Failure('not_found') : noOrganization();
  const missing = () => new Failure(isItself(template) ? 'not_found' : 'permission_denied');
  return { organization, project, missing, isImplied: !template.includes('{organization_id}') };
}

/** Returns whether the operation is about the organization itself. */
const isItself = (template: string): boolean => template.endsWith('/{organization_id}');

/** The organizations of so many projects are remembered, so that both are read at once. */
const MAX_REMEMBERED = 10_000;

/** Returns what admits callers to what is theirs. It remembers the organization of a project: no project moves. */
export function tenancy(table: Table) {
  const organizationIds = new Recent<string, number>(MAX_REMEMBERED);

  const readProject = async (id: number): Promise<Found> => {
    const known = organizationIds.get(id);
    const [project, beside] = await Promise.all([
      findProject(table, id),
      known === undefined ? undefined : findOrganization(table, known),
    ]);
    if (project === undefined) return {};
    const { organization_id } = project;
    organizationIds.set(id, organization_id);
    return {
      project,
      organization: known === organization_id ? beside : await findOrganization(table, organization_id),
    };
  };

  const readNamed = async (path: TenantPath): Promise<Found> => {
    if (path.organization === undefined) return readProject(path.project);
    const [organization, { project }] = await Promise.all([
      findOrganization(table, path.organization),
      path.project === undefined ? nothing : readProject(path.project),
    ]);
    return project?.organization_id === path.organization ? { organization, project } : { organization };
  };

  const nothing: Found = {};

  return async (
    row: Pick<Route, 'scope' | 'level'>,
    credentials: Credentials,
    path: TenantPath | undefined,
  ): Promise<Admission> => {
    const [{ user, memberships }, { organization, project }] = await Promise.all([
      userWithMemberships(table, credentials.userId),
      path === undefined ? nothing : readNamed(path),
    ]);
    if (user === undefined) fail('not_authenticated');
    const caller: Caller = { ...credentials, user, memberships };
    if (path === undefined) {
      if (!isAboutTheUser(row)) checkTeams(caller, undefined);
      return { caller, tenant: undefined };
    }
    const membership = memberships.find(({ organization_id }) => organization_id === organization?.id);
    if (organization === undefined || (membership === undefined && path.organization !== undefined)) {
      throw path.missing();
    }
    if (path.organization === undefined || !path.isImplied) checkTeams(caller, path.project);
    checkOrganizations(caller, organization.id);
    if (membership === undefined) fail('permission_denied', "You don't have access to the project.");
    if (path.project !== undefined && project === undefined) throw noProject();
    if (row.level !== undefined && membership.level < row.level) {
      fail('permission_denied', 'Your organization access level is insufficient.');
    }
    return { caller, tenant: { organization, membership, ...(project === undefined ? {} : { project }) } };
  };
}

/** What a path names, as far as it is there; what is deleted is not. */
interface Found {
  readonly organization?: OrganizationItem | undefined;
  readonly project?: ProjectItem;
}

/** Returns whether a key may call the row about its own user, whatever else it is limited to. */
const isAboutTheUser = ({ scope }: Pick<Route, 'scope'>): boolean =>
  scope === 'any' || scope === 'user:read' || scope === 'user:write';

function checkTeams({ scopedTeams }: Caller, project: number | undefined): void {
  if (opens<number | undefined>(scopedTeams, project)) return;
  fail(
    'permission_denied',
    project === undefined
      ? 'API keys with scoped projects are only supported on project-based endpoints.'
      : `API key does not have access to the requested project: ID ${project}.`,
  );
}

function checkOrganizations({ scopedOrganizations }: Caller, organization: string): void {
  if (opens(scopedOrganizations, organization)) return;
  fail('permission_denied', `API key does not have access to the requested organization: ID ${organization}.`);
}
