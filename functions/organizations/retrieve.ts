import { organizationObject } from '../../lib/accounts/organizations/model.ts';
import { retrieveOrganization } from '../../lib/accounts/organizations/routes.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(retrieveOrganization, ({ tenant: { organization, membership } }) => {
  return new Answer(organizationObject(organization, membership.level), { version: organization.ver });
});
