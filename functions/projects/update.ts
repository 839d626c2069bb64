import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { projectObject } from '../../lib/projects/model.ts';
import { updateProject } from '../../lib/projects/routes.ts';
import { placeIn, renameProject } from '../../lib/projects/store.ts';

export const handler = endpoint(updateProject, async ({ tenant, body, ifMatch, activity }, { table }) => {
  const changed = await renameProject(table, placeIn(tenant), body.name, activity, ifMatch);
  return new Answer(projectObject(changed, tenant.membership.level), { version: changed.ver });
});
