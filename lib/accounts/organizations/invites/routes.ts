import * as z from 'zod';
import { uuid } from '../../../http/fields.ts';
import { LEVELS } from '../../../http/levels.ts';
import { pageOf, route } from '../../../http/route.ts';
import { Member } from '../members/model.ts';
import { Invite, InviteInput } from './model.ts';

const tag = 'Invitations';
const all = ['/api/organizations/{organization_id}/invites'] as const;
const inOrganization = z.object({ organization_id: uuid() });

export const listInvites = route({
  handler: 'invites/list',
  method: 'GET',
  paths: all,
  scope: 'organization_member:read',
  summary: 'List invitations',
  description: 'Those that are open, oldest first.',
  tag,
  params: inOrganization,
  response: pageOf(Invite),
  paging: { kind: 'offset' },
  status: 200,
});

export const createInvite = route({
  handler: 'invites/create',
  method: 'POST',
  paths: all,
  scope: 'organization_member:write',
  level: LEVELS.admin,
  summary: 'Invite somebody',
  description:
    'For admins and owners, to at most their own level. It is open for three days. No mail is sent: pass the link on.',
  tag,
  params: inOrganization,
  body: InviteInput,
  response: Invite,
  status: 201,
  idempotent: true,
});

export const destroyInvite = route({
  handler: 'invites/destroy',
  method: 'DELETE',
  paths: ['/api/organizations/{organization_id}/invites/{id}'],
  scope: 'organization_member:write',
  level: LEVELS.admin,
  summary: 'Take an invitation back',
  tag,
  params: z.object({ organization_id: uuid(), id: uuid() }),
  status: 204,
});

export const acceptInvite = route({
  handler: 'invites/accept',
  method: 'POST',
  paths: ['/api/invites/{id}/accept'],
  scope: 'organization_member:write',
  summary: 'Accept an invitation',
  description: 'With a key of the user whose e-mail address was invited. To anybody else there is none.',
  tag,
  params: z.object({ id: uuid() }),
  response: Member,
  status: 201,
  idempotent: true,
});
