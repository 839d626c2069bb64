import { collaboratorObject } from '../../lib/collaborators/model.ts';
import { createCollaborator } from '../../lib/collaborators/routes.ts';
import { addCollaborator, findCollaborator } from '../../lib/collaborators/store.ts';
import { foundHeadToEdit, readHead } from '../../lib/dashboards/head.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { userCard } from '../../lib/users/model.ts';

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
