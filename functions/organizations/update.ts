import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { organizationObject } from '../../lib/organizations/model.ts';
import { updateOrganization } from '../../lib/organizations/routes.ts';
import { changeOrganization } from '../../lib/organizations/store.ts';

export const handler = endpoint(updateOrganization, async ({ body, tenant, ifMatch, activity }, context) => {
  const changed = await changeOrganization(context, tenant.organization, body, activity, ifMatch);
  return new Answer(organizationObject(changed, tenant.membership.level), { version: changed.ver });
});
