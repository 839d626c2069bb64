import { endpoint } from '../../lib/http/endpoint.ts';
import { destroyOrganization } from '../../lib/organizations/routes.ts';
import { deleteOrganization } from '../../lib/organizations/store.ts';

export const handler = endpoint(destroyOrganization, async ({ tenant, ifMatch, activity }, context) => {
  await deleteOrganization(context, tenant.organization, activity, ifMatch);
  return undefined;
});
