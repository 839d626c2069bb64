import { endpoint } from '../../lib/api/endpoint.ts';
import { destroyCollaborator } from '../../lib/dashboards/collaborators/routes.ts';
import { removeCollaborator } from '../../lib/dashboards/collaborators/store.ts';
import { foundSummaryToEdit, readSummary } from '../../lib/dashboards/store.ts';

export const handler = endpoint(destroyCollaborator, {
  read: ({ params }, { table }) => readSummary(table, params),
  found: foundSummaryToEdit,
  run: ({ read: summary, params, activityOps }, { table }) =>
    removeCollaborator(table, summary, params.user__uuid, activityOps),
});
