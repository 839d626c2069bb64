import * as z from 'zod';
import { integer, uuid } from '../../../http/fields.ts';
import { pageOf, route } from '../../../http/route.ts';
import { LEVELS } from '../model.ts';
import { Project, ProjectInput, ProjectPatch } from './model.ts';

const tag = 'Projects';
const all = ['/api/organizations/{organization_id}/projects'] as const;
const one = ['/api/projects/{project_id}'] as const;
const inOrganization = z.object({ organization_id: uuid() });
const ofProject = z.object({ project_id: integer() });

export const listProjects = route({
  handler: 'projects/list',
  method: 'GET',
  paths: all,
  scope: 'project:read',
  summary: 'List projects',
  description: "The organization's, oldest first.",
  tag,
  params: inOrganization,
  response: pageOf(Project),
  paging: { kind: 'offset' },
  status: 200,
});

export const createProject = route({
  handler: 'projects/create',
  method: 'POST',
  paths: all,
  scope: 'project:write',
  level: LEVELS.admin,
  summary: 'Create a project',
  description: 'For admins and owners. Without a name it is a "Default project".',
  tag,
  params: inOrganization,
  body: ProjectInput,
  response: Project,
  status: 201,
  idempotent: true,
});

export const retrieveProject = route({
  handler: 'projects/retrieve',
  method: 'GET',
  paths: one,
  scope: 'project:read',
  summary: 'Retrieve a project',
  tag,
  params: ofProject,
  response: Project,
  status: 200,
});

export const updateProject = route({
  handler: 'projects/update',
  method: 'PATCH',
  paths: one,
  scope: 'project:write',
  summary: 'Change a project',
  tag,
  params: ofProject,
  body: ProjectPatch,
  response: Project,
  status: 200,
});

export const destroyProject = route({
  handler: 'projects/destroy',
  method: 'DELETE',
  paths: one,
  scope: 'project:write',
  level: LEVELS.admin,
  summary: 'Delete a project',
  description:
    'For admins and owners. It is gone at once; its exports are stopped and its records removed in the background. ' +
    'The last one may go.',
  tag,
  params: ofProject,
  status: 204,
});
