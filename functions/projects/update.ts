import { projectObject } from '../../lib/accounts/organizations/projects/model.ts';
import { updateProject } from '../../lib/accounts/organizations/projects/routes.ts';
import { changeProject, placeIn, projectFields } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(updateProject, async ({ tenant, body, ifMatch, activityOps }, { table }) => {
  const changed = await changeProject(table, placeIn(tenant), projectFields(body), activityOps, ifMatch);
  return new Answer(projectObject(changed, tenant.membership.level), { version: changed.ver });
});
