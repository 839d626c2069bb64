import { projectObject } from '../../lib/accounts/organizations/projects/model.ts';
import { retrieveProject } from '../../lib/accounts/organizations/projects/routes.ts';
import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(retrieveProject, ({ tenant }) => {
  const { project, membership } = placeIn(tenant);
  // The caller's level changes without its version.
  return new Answer(projectObject(project, membership.level), { version: project.ver, isComputed: true });
});
