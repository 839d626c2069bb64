import * as z from 'zod';
import { choice, text, uuid } from '../../http/fields.ts';
import { LEVELS } from '../../http/levels.ts';
import { cursorPageOf, route } from '../../http/route.ts';
import { ACTIVITY_SCOPES, ActivityEntry } from './model.ts';

export const listActivity = route({
  handler: 'activity/list',
  method: 'GET',
  paths: ['/api/organizations/{organization_id}/activity'],
  scope: 'activity_log:read',
  level: LEVELS.admin,
  summary: 'List activity',
  description:
    'Who did what to which object, newest first, for 400 days. For admins and owners. A page of a filtered list may ' +
    'hold fewer results than asked for, even none, and still have a `next`.',
  tag: 'Activity',
  params: z.object({ organization_id: uuid() }),
  query: z.object({
    scope: choice(ACTIVITY_SCOPES).optional().describe('Only of this kind of object.'),
    item_id: text({ max: 100 }).optional().describe('Only of the object with this id.'),
    user: uuid().optional().describe('Only what the user with this uuid did.'),
  }),
  response: cursorPageOf(ActivityEntry),
  paging: { kind: 'cursor' },
});
