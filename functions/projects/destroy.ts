import { destroyProject } from '../../lib/accounts/organizations/projects/routes.ts';
import { deleteProject, placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(destroyProject, ({ tenant, ifMatch, activityOps }, context) =>
  deleteProject(context, placeIn(tenant), activityOps, ifMatch),
);
