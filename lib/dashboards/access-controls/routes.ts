import * as z from 'zod';
import { integer } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { AccessControl, AccessControlInput, AccessControls } from './model.ts';

const all = {
  paths: ['/api/projects/{project_id}/dashboards/{id}/access_controls'],
  tag: 'Dashboard access',
  params: z.object({ project_id: integer(), id: integer() }),
} as const;

export const listAccessControls = route({
  ...all,
  handler: 'access-controls/list',
  method: 'GET',
  scope: 'access_control:read',
  summary: "List a dashboard's access rules",
  description:
    "A rule for a member beats the one for everybody, which beats the default. The creator and the organization's " +
    'admins and owners always have the highest level. Who may edit is decided by the restriction level too: both ' +
    'must let them.',
  response: AccessControls,
});

export const updateAccessControl = route({
  ...all,
  handler: 'access-controls/update',
  method: 'PUT',
  scope: 'access_control:write',
  summary: 'Give a level, or take a rule away',
  description: 'For managers of the dashboard. The rule is found by whom it is for; a null level removes it (204).',
  body: AccessControlInput,
  example: { access_level: 'viewer' },
  response: AccessControl,
  orEmpty: true,
});
