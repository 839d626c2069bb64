import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { projectObject } from '../../lib/projects/model.ts';
import { retrieveProject } from '../../lib/projects/routes.ts';
import { placeIn } from '../../lib/projects/store.ts';

export const handler = endpoint(retrieveProject, ({ tenant }) => {
  const { project, membership } = placeIn(tenant);
  return new Answer(projectObject(project, membership.level), { version: project.ver });
});
