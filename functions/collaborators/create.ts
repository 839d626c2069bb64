import { userCard } from '../../lib/accounts/users/model.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { collaboratorObject } from '../../lib/dashboards/collaborators/model.ts';
import { createCollaborator } from '../../lib/dashboards/collaborators/routes.ts';
import { addCollaborator, findCollaborator } from '../../lib/dashboards/collaborators/store.ts';
import { foundHeadToEdit, readHead } from '../../lib/dashboards/head.ts';

export const handler = endpoint(createCollaborator, {
  read: ({ params }, { table }) => readHead(table, params),
  found: foundHeadToEdit,
  async run({ read: head, body, tenant, once, activity }, context) {
    const { item, user } = await addCollaborator(context, tenant, head, body, once, activity);
    return collaboratorObject(item, userCard(user));
  },
  async replay(uid, { params }, { table }) {
    const { item, user } = await findCollaborator(table, params, uid);
    return collaboratorObject(item, userCard(user));
  },
});
