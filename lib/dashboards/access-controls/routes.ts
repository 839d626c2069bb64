import * as z from 'zod';
import { integer } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { AccessControl, AccessControlInput, AccessControls } from './model.ts';

const tag = 'Dashboard access';
const paths = ['/api/projects/{project_id}/dashboards/{id}/access_controls'] as const;
const params = z.object({ project_id: integer(), id: integer() });

export const listAccessControls = route({
  handler: 'access-controls/list',
  method: 'GET',
  paths,
  scope: 'access_control:read',
  summary: "List a dashboard's access rules",
  description:
    "A rule for a member beats the one for everybody, which beats the default. The creator and the organization's " +
    'admins and owners always have the highest level. Who may edit is decided by the restriction level too: both ' +
    'must let them.',
  tag,
  params,
  response: AccessControls,
  status: 200,
});

export const updateAccessControl = route({
  handler: 'access-controls/update',
  method: 'PUT',
  paths,
  scope: 'access_control:write',
  summary: 'Give a level, or take a rule away',
  description: 'For managers of the dashboard. The rule is found by whom it is for; a null level removes it (204).',
  tag,
  params,
  body: AccessControlInput,
  response: AccessControl,
  status: 200,
  orEmpty: true,
});
