import { endpoint } from '../../lib/http/endpoint.ts';
import { destroyProject } from '../../lib/projects/routes.ts';
import { deleteProject, placeIn } from '../../lib/projects/store.ts';

export const handler = endpoint(destroyProject, async ({ tenant, ifMatch, activity }, context) => {
  await deleteProject(context, placeIn(tenant), activity, ifMatch);
  return undefined;
});
