import { destroyProject } from '../../lib/accounts/organizations/projects/routes.ts';
import { deleteProject, placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(destroyProject, async ({ tenant, ifMatch, activityOps }, context) => {
  await deleteProject(context, placeIn(tenant), activityOps, ifMatch);
  return undefined;
});
