import { userObject } from '../../lib/accounts/users/model.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { collaboratorObject } from '../../lib/dashboards/collaborators/model.ts';
import { createCollaborator } from '../../lib/dashboards/collaborators/routes.ts';
import { addCollaborator, findCollaborator } from '../../lib/dashboards/collaborators/store.ts';
import { foundSummaryToEdit, readSummary } from '../../lib/dashboards/store.ts';

export const handler = endpoint(createCollaborator, {
  read: ({ params }, { table }) => readSummary(table, params),
  found: foundSummaryToEdit,
  async run({ read: summary, body, tenant, idempotencyOps, activityOps }, context) {
    const { item, user } = await addCollaborator(context, tenant, summary, body, idempotencyOps, activityOps);
    return collaboratorObject(item, userObject(user));
  },
  async replay(uid, { params }, { table }) {
    const { item, user } = await findCollaborator(table, params, uid);
    return collaboratorObject(item, userObject(user));
  },
});
