import { projectObject } from '../../lib/accounts/organizations/projects/model.ts';
import { createProject as row } from '../../lib/accounts/organizations/projects/routes.ts';
import { createProject, findProject, projectFields } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, idempotencyOps, activityOps }, context) {
    const { organization, membership } = tenant;
    const fields = { name: 'Default project', ...projectFields(body) };
    const project = await createProject(context, { organization, ...fields }, idempotencyOps, activityOps);
    return new Answer(projectObject(project, membership.level), { version: project.ver });
  },
  async replay(id, { tenant }, { table }) {
    const project = (await findProject(table, Number(id))) ?? fail('not_found');
    return new Answer(projectObject(project, tenant.membership.level), { version: project.ver });
  },
});
