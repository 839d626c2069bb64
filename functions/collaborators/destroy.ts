import { endpoint } from '../../lib/api/endpoint.ts';
import { destroyCollaborator } from '../../lib/dashboards/collaborators/routes.ts';
import { removeCollaborator } from '../../lib/dashboards/collaborators/store.ts';
import { foundHeadToEdit, readHead } from '../../lib/dashboards/head.ts';

export const handler = endpoint(destroyCollaborator, {
  read: ({ params }, { table }) => readHead(table, params),
  found: foundHeadToEdit,
  async run({ read: head, params, activity }, { table }) {
    await removeCollaborator(table, head, params.user__uuid, activity);
    return undefined;
  },
});
