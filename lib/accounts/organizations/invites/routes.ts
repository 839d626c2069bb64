import * as z from 'zod';
import { uuid } from '../../../http/fields.ts';
import { LEVELS } from '../../../http/levels.ts';
import { pageOf, route } from '../../../http/route.ts';
import { Member } from '../members/model.ts';
import { Invite, InviteInput, InvitePreview, MAX_OPEN_INVITES } from './model.ts';

const tag = 'Invitations';
const write = { scope: 'organization_member:write', tag } as const;
const all = {
  paths: ['/api/organizations/{organization_id}/invites'],
  params: z.object({ organization_id: uuid() }),
} as const;

export const listInvites = route({
  ...all,
  handler: 'invites/list',
  method: 'GET',
  scope: 'organization_member:read',
  summary: 'List invitations',
  description: 'Those that are open, oldest first.',
  tag,
  response: pageOf(Invite),
  paging: { kind: 'offset' },
});

export const createInvite = route({
  ...write,
  ...all,
  handler: 'invites/create',
  method: 'POST',
  level: LEVELS.admin,
  summary: 'Invite somebody',
  description:
    'For admins and owners, to at most their own level. It is open for three days. No mail is sent: pass the link on. ' +
    `An organization has at most ${MAX_OPEN_INVITES} open ones.`,
  body: InviteInput,
  example: { target_email: 'new@example.com' },
  unsupported: { message: null, private_project_access: null, combine_pending_invites: null },
  response: Invite,
  status: 201,
  idempotent: true,
});

export const destroyInvite = route({
  ...write,
  handler: 'invites/destroy',
  method: 'DELETE',
  paths: ['/api/organizations/{organization_id}/invites/{id}'],
  level: LEVELS.admin,
  summary: 'Take an invitation back',
  params: z.object({ organization_id: uuid(), id: uuid() }),
  status: 204,
});

export const previewInvite = route({
  handler: 'invites/preview',
  method: 'GET',
  scope: 'public',
  paths: ['/api/signup/{id}'],
  summary: 'Read an invitation that somebody was sent',
  description:
    'Whoever has the link may know where it leads: no key is needed, the address is masked. Of what was accepted, ' +
    'taken back or void there is none; the code `expired` says for a month that its three days are over.',
  tag,
  params: z.object({ id: uuid() }),
  response: InvitePreview,
});

export const acceptInvite = route({
  ...write,
  handler: 'invites/accept',
  method: 'POST',
  paths: ['/api/invites/{id}/accept'],
  summary: 'Accept an invitation',
  description: 'With a key of the user whose e-mail address was invited. To anybody else there is none.',
  params: z.object({ id: uuid() }),
  response: Member,
  status: 201,
  idempotent: true,
});
