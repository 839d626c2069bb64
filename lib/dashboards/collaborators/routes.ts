import * as z from 'zod';
import { integer, uuid } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { Collaborator, CollaboratorInput } from './model.ts';

const tag = 'Dashboard collaborators';
const all = ['/api/projects/{project_id}/dashboards/{id}/collaborators'] as const;
const one = ['/api/projects/{project_id}/dashboards/{id}/collaborators/{user__uuid}'] as const;
const ofDashboard = z.object({ project_id: integer(), id: integer() });

export const listCollaborators = route({
  handler: 'collaborators/list',
  method: 'GET',
  paths: all,
  scope: 'dashboard:read',
  summary: 'List collaborators',
  description: 'All of them in one array, without pages, in the order in which they were added.',
  tag,
  params: ofDashboard,
  response: z.array(Collaborator),
  status: 200,
});

export const createCollaborator = route({
  handler: 'collaborators/create',
  method: 'POST',
  paths: all,
  scope: 'dashboard:write',
  summary: 'Add a collaborator',
  description: 'For those who may edit the dashboard. It matters while the dashboard is restricted (level 37).',
  tag,
  params: ofDashboard,
  body: CollaboratorInput,
  response: Collaborator,
  status: 201,
  idempotent: true,
});

export const destroyCollaborator = route({
  handler: 'collaborators/destroy',
  method: 'DELETE',
  paths: one,
  scope: 'dashboard:write',
  summary: 'Remove a collaborator',
  description: 'For those who may edit the dashboard; they may remove themselves.',
  tag,
  params: z.object({ project_id: integer(), id: integer(), user__uuid: uuid() }),
  status: 204,
});
