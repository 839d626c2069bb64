/** Batch exports, runs and log lines for tests: exports over HTTP, what the machines make straight into the table. */
import { tmpdir } from 'node:os';
import type { OrganizationItem, ProjectItem } from '../../lib/accounts/organizations/model.ts';
import { newProject, projectBrief } from '../../lib/accounts/organizations/projects/store.ts';
import { HOUR_MS } from '../../lib/basics/units.ts';
import type { RunItem } from '../../lib/exports/records/runs/model.ts';
import type { Context } from '../../lib/ports/context.ts';
import { keys, places } from '../../lib/ports/table/keys.ts';
import type { Reply, Service } from './service.ts';

/** Exports have a path below their organization, and the same below their project. */
export const byOrganization = ({ organization }: Service): string =>
  `/api/organizations/${organization.id}/batch_exports`;
export const byProject = ({ project }: Service): string => `/api/projects/${project.id}/batch_exports`;

/** It is there, and nothing stays in it: a create writes a file and removes it. */
export const FOLDER = { type: 'Folder', config: { path: tmpdir() } };
export const BUCKET = {
  type: 'S3',
  config: {
    bucket_name: 'events',
    region: 'eu-central-1',
    prefix: 'p',
    aws_access_key_id: 'AKIAOPEN',
    aws_secret_access_key: 'sesame-sesame',
  },
};

export const INPUT = { name: 'Hourly', destination: FOLDER, interval: 'hour' };

export const create = (service: Service, body: unknown = INPUT, path = byOrganization(service)): Promise<Reply> =>
  service.call('POST', path, { body });

/** Makes an export and returns its id. */
export async function newExport(service: Service, body: object = {}, path?: string): Promise<string> {
  const reply = await create(service, { ...INPUT, ...body }, path);
  if (reply.status !== 201) throw new Error(`no export: ${JSON.stringify(reply.body)}`);
  return String(reply.body?.['id']);
}

/** Adds a project to an organization. */
export async function addProject(context: Context, { id }: OrganizationItem): Promise<ProjectItem> {
  const { table, clock } = context;
  const project = await newProject(context, { organizationId: id, name: 'Second', now: clock() });
  const stored = (await table.get(keys.organization(id))) as OrganizationItem;
  const projects = JSON.stringify([...JSON.parse(stored.projects), projectBrief(project)]);
  await table.write([{ put: project }, { change: keys.organization(id), set: { projects } }]);
  return project;
}

/** Removes a project as far as its deletion does at once. */
export async function removeProject({ table, clock }: Context, project: ProjectItem): Promise<void> {
  const key = keys.organization(project.organization_id);
  const stored = (await table.get(key)) as OrganizationItem;
  const projects = (JSON.parse(stored.projects) as { id: number }[]).filter(({ id }) => id !== project.id);
  await table.write([
    { change: keys.project(project.id), set: { deleted_at: clock() } },
    { change: key, set: { projects: JSON.stringify(projects) } },
  ]);
}

/** Writes a run as a machine would have made it; by default one of an hour that ended now. */
export async function putRun(
  { table, newId, clock }: Context,
  exportId: string,
  fields: Partial<RunItem> = {},
): Promise<RunItem> {
  const { id = newId(), created_at = clock(), data_interval_start = clock() - HOUR_MS } = fields;
  const run: RunItem = {
    ...keys.run(exportId, id),
    ...places.runOf(exportId, created_at, data_interval_start, id),
    id,
    batch_export: exportId,
    status: 'Completed',
    phase: null,
    attempt: `${exportId}-1`,
    execution: 'schedule',
    by: 'schedule',
    backfill: null,
    data_interval_start,
    data_interval_end: data_interval_start + HOUR_MS,
    records_total_count: 10,
    records_completed: 10,
    bytes_exported: 1_000,
    latest_error: null,
    first_tried_at: created_at,
    created_at,
    finished_at: created_at,
    last_updated_at: created_at,
    ...fields,
  };
  await table.write([{ put: run }]);
  return run;
}
