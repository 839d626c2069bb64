import { destroyOrganization } from '../../lib/accounts/organizations/routes.ts';
import { deleteOrganization } from '../../lib/accounts/organizations/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(destroyOrganization, ({ tenant, ifMatch, activityOps }, context) =>
  deleteOrganization(context, tenant.organization, activityOps, ifMatch),
);
