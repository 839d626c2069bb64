import * as z from 'zod';
import { uuid } from '../../http/fields.ts';
import { pageOf, route } from '../../http/route.ts';
import { LEVELS, Organization, OrganizationInput, OrganizationPatch } from './model.ts';

const tag = 'Organizations';
const all = ['/api/organizations'] as const;
const one = ['/api/organizations/{organization_id}'] as const;
const noParams = z.object({});
const inOrganization = z.object({ organization_id: uuid() });

export const listOrganizations = route({
  handler: 'organizations/list',
  method: 'GET',
  paths: all,
  scope: 'organization:read',
  summary: 'List organizations',
  description: 'The organizations of the caller that the key may see, oldest first.',
  tag,
  params: noParams,
  response: pageOf(Organization),
  paging: { kind: 'offset' },
  status: 200,
});

export const createOrganization = route({
  handler: 'organizations/create',
  method: 'POST',
  paths: all,
  scope: 'organization:write',
  summary: 'Create an organization',
  description: 'The caller becomes its owner. It comes with a project, "Default project".',
  tag,
  params: noParams,
  body: OrganizationInput,
  response: Organization,
  status: 201,
  idempotent: true,
});

export const retrieveOrganization = route({
  handler: 'organizations/retrieve',
  method: 'GET',
  paths: one,
  scope: 'organization:read',
  summary: 'Retrieve an organization',
  tag,
  params: inOrganization,
  response: Organization,
  status: 200,
});

export const updateOrganization = route({
  handler: 'organizations/update',
  method: 'PATCH',
  paths: one,
  scope: 'organization:write',
  level: LEVELS.admin,
  summary: 'Change an organization',
  description: 'For admins and owners. The slug stays.',
  tag,
  params: inOrganization,
  body: OrganizationPatch,
  response: Organization,
  status: 200,
});

export const destroyOrganization = route({
  handler: 'organizations/destroy',
  method: 'DELETE',
  paths: one,
  scope: 'organization:write',
  level: LEVELS.owner,
  summary: 'Delete an organization',
  description: 'For owners. It is gone at once; its exports are stopped and its records removed in the background.',
  tag,
  params: inOrganization,
  status: 204,
});
