import * as z from 'zod';
import { integer } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { Sharing, SharingPatch } from './model.ts';

const ofDashboard = {
  tag: 'Dashboard sharing',
  params: z.object({ project_id: integer(), id: integer() }),
  response: Sharing,
} as const;
const sharing = ['/api/projects/{project_id}/dashboards/{id}/sharing'] as const;

export const retrieveSharing = route({
  ...ofDashboard,
  handler: 'sharing/retrieve',
  method: 'GET',
  paths: sharing,
  scope: 'sharing_configuration:read',
  summary: "Retrieve a dashboard's sharing",
  description: 'One object. The token is there from the beginning; it opens nothing until sharing is enabled.',
});

export const updateSharing = route({
  ...ofDashboard,
  handler: 'sharing/update',
  method: 'PATCH',
  paths: sharing,
  scope: 'sharing_configuration:write',
  summary: 'Share a dashboard, or stop that',
  description:
    'For those who may edit the dashboard. A token that was in use before is not used again: enabling again makes a ' +
    'new one, so that old links stay dead. The password, the expiry and the choice of dates stay as they are.',
  body: SharingPatch,
  example: { enabled: true },
  unsupported: { settings: null },
});

export const refreshSharing = route({
  ...ofDashboard,
  handler: 'sharing/refresh',
  method: 'POST',
  paths: ['/api/projects/{project_id}/dashboards/{id}/sharing/refresh'],
  scope: 'sharing_configuration:write',
  conditional: true,
  summary: 'Make a new link',
  description: 'For those who may edit the dashboard. The old link is dead at once; whether it is shared stays.',
});
