import * as z from 'zod';
import { uuid } from '../../../http/fields.ts';
import { LEVELS } from '../../../http/levels.ts';
import { pageOf, route } from '../../../http/route.ts';
import { Member, MemberPatch } from './model.ts';

const tag = 'Members';
const one = ['/api/organizations/{organization_id}/members/{user__uuid}'] as const;
const ofMember = z.object({ organization_id: uuid(), user__uuid: uuid() });

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
  status: 200,
});

export const updateMember = route({
  handler: 'members/update',
  method: 'PATCH',
  paths: one,
  scope: 'organization_member:write',
  level: LEVELS.admin,
  summary: 'Change the level of a member',
  description:
    'For admins and owners. Nobody gives more than they have, touches who has more, or changes their own level.',
  tag,
  params: ofMember,
  body: MemberPatch,
  response: Member,
  status: 200,
});

export const destroyMember = route({
  handler: 'members/destroy',
  method: 'DELETE',
  paths: one,
  scope: 'organization_member:write',
  summary: 'Remove a member',
  description:
    'Admins and owners remove who has no more than they; everybody may leave, except the last owner. The member is ' +
    "out with their next request, and is no collaborator of the organization's dashboards any more.",
  tag,
  params: ofMember,
  status: 204,
});
