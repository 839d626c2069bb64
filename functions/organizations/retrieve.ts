import { organizationObject } from '../../lib/accounts/organizations/model.ts';
import { retrieveOrganization } from '../../lib/accounts/organizations/routes.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(retrieveOrganization, ({ tenant: { organization, membership } }) => {
  const body = organizationObject(organization, membership.level);
  // Projects, members and the caller's level change without its version.
  return new Answer(body, { version: organization.ver, isComputed: true });
});
