import * as z from 'zod';
import { integer, uuid } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { Collaborator, CollaboratorInput } from './model.ts';

const tag = 'Dashboard collaborators';
const write = { scope: 'dashboard:write', tag } as const;
const all = {
  paths: ['/api/projects/{project_id}/dashboards/{id}/collaborators'],
  params: z.object({ project_id: integer(), id: integer() }),
} as const;

export const listCollaborators = route({
  ...all,
  handler: 'collaborators/list',
  method: 'GET',
  scope: 'dashboard:read',
  summary: 'List collaborators',
  description: 'All of them in one array, without pages, in the order in which they were added.',
  tag,
  response: z.array(Collaborator),
});

export const createCollaborator = route({
  ...write,
  ...all,
  handler: 'collaborators/create',
  method: 'POST',
  summary: 'Add a collaborator',
  description: 'For those who may edit the dashboard. It matters while the dashboard is restricted (level 37).',
  body: CollaboratorInput,
  response: Collaborator,
  status: 201,
  idempotent: true,
});

export const destroyCollaborator = route({
  ...write,
  handler: 'collaborators/destroy',
  method: 'DELETE',
  paths: ['/api/projects/{project_id}/dashboards/{id}/collaborators/{user__uuid}'],
  summary: 'Remove a collaborator',
  description: 'For those who may edit the dashboard; they may remove themselves.',
  params: z.object({ project_id: integer(), id: integer(), user__uuid: uuid() }),
  status: 204,
});
