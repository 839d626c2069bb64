import * as z from 'zod';
import { uuid } from '../../../http/fields.ts';
import { LEVELS } from '../../../http/levels.ts';
import { pageOf, route } from '../../../http/route.ts';
import { Member, MemberPatch } from './model.ts';

const tag = 'Members';
const one = {
  scope: 'organization_member:write',
  tag,
  paths: ['/api/organizations/{organization_id}/members/{user__uuid}'],
  params: z.object({ organization_id: uuid(), user__uuid: uuid() }),
} as const;

export const listMembers = route({
  handler: 'members/list',
  method: 'GET',
  paths: ['/api/organizations/{organization_id}/members'],
  scope: 'organization_member:read',
  summary: 'List members',
  description: 'Those who joined first come first.',
  tag,
  params: z.object({ organization_id: uuid() }),
  response: pageOf(Member),
  paging: { kind: 'offset' },
});

export const updateMember = route({
  ...one,
  handler: 'members/update',
  method: 'PATCH',
  level: LEVELS.admin,
  summary: 'Change the level of a member',
  description:
    'For admins and owners. Nobody gives more than they have, touches who has more, or changes their own level.',
  body: MemberPatch,
  example: { level: 8 },
  response: Member,
});

export const destroyMember = route({
  ...one,
  handler: 'members/destroy',
  method: 'DELETE',
  summary: 'Remove a member',
  description:
    'Admins and owners remove who has no more than they; everybody may leave, except the last owner. The member is ' +
    "out with their next request, and is no collaborator of the organization's dashboards any more.",
  status: 204,
});
