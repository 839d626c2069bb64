import { destroyCollaborator } from '../../lib/collaborators/routes.ts';
import { removeCollaborator } from '../../lib/collaborators/store.ts';
import { foundHeadToEdit, readHead } from '../../lib/dashboards/head.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(destroyCollaborator, {
  read: ({ params }, { table }) => readHead(table, params),
  found: foundHeadToEdit,
  async run({ read: head, params, activity }, { table }) {
    await removeCollaborator(table, head, params.user__uuid, activity);
    return undefined;
  },
});
