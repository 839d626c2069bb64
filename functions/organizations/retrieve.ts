import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { organizationObject } from '../../lib/organizations/model.ts';
import { retrieveOrganization } from '../../lib/organizations/routes.ts';

export const handler = endpoint(retrieveOrganization, ({ tenant: { organization, membership } }) => {
  return new Answer(organizationObject(organization, membership.level), { version: organization.ver });
});
