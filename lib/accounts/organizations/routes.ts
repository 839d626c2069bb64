import * as z from 'zod';
import { uuid } from '../../http/fields.ts';
import { LEVELS } from '../../http/levels.ts';
import { pageOf, route } from '../../http/route.ts';
import { Organization, OrganizationInput, OrganizationPatch } from './model.ts';

const tag = 'Organizations';
const read = { method: 'GET', scope: 'organization:read', tag } as const;
const write = { scope: 'organization:write', tag } as const;
const all = { paths: ['/api/organizations'], params: z.object({}) } as const;
const one = {
  paths: ['/api/organizations/{organization_id}'],
  params: z.object({ organization_id: uuid() }),
} as const;

const UNSUPPORTED = {
  members_can_invite: true,
  members_can_use_personal_api_keys: true,
  default_anonymize_ips: null,
  default_role_id: null,
  session_cookie_age: null,
  default_experiment_stats_method: 'bayesian',
} as const;

export const listOrganizations = route({
  ...read,
  ...all,
  handler: 'organizations/list',
  summary: 'List organizations',
  description: 'The organizations of the caller that the key may see, oldest first.',
  response: pageOf(Organization),
  paging: { kind: 'offset' },
});

export const createOrganization = route({
  ...write,
  ...all,
  handler: 'organizations/create',
  method: 'POST',
  summary: 'Create an organization',
  description:
    'The caller becomes its owner. A user can make a hundred. It comes with a project, "Default project". `@current` stays ' +
    'the organization that they joined first, where PostHog goes to the new one: name it by its id.',
  body: OrganizationInput,
  example: { name: 'Acme' },
  unsupported: UNSUPPORTED,
  response: Organization,
  status: 201,
  idempotent: true,
});

export const retrieveOrganization = route({
  ...read,
  ...one,
  handler: 'organizations/retrieve',
  summary: 'Retrieve an organization',
  response: Organization,
});

export const updateOrganization = route({
  ...write,
  ...one,
  handler: 'organizations/update',
  method: 'PATCH',
  level: LEVELS.admin,
  summary: 'Change an organization',
  description: 'For admins and owners. The slug stays.',
  body: OrganizationPatch,
  example: { name: 'Acme and Sons' },
  unsupported: UNSUPPORTED,
  response: Organization,
});

export const destroyOrganization = route({
  ...write,
  ...one,
  handler: 'organizations/destroy',
  method: 'DELETE',
  level: LEVELS.owner,
  summary: 'Delete an organization',
  description: 'For owners. It is gone at once; its exports are stopped and its records removed in the background.',
  status: 204,
});
