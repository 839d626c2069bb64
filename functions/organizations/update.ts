import { organizationObject } from '../../lib/accounts/organizations/model.ts';
import { updateOrganization } from '../../lib/accounts/organizations/routes.ts';
import { changeOrganization } from '../../lib/accounts/organizations/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(updateOrganization, async ({ body, tenant, ifMatch, activityOps }, context) => {
  const changed = await changeOrganization(context, tenant.organization, body, activityOps, ifMatch);
  return new Answer(organizationObject(changed, tenant.membership.level), { version: changed.ver });
});
