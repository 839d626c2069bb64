import { endpoint } from '../../lib/api/endpoint.ts';
import { retrieveAlert } from '../../lib/notifications/alerts/routes.ts';
import { alertAnswer, foundAlert, readAlert } from '../../lib/notifications/alerts/store.ts';

export const handler = endpoint(retrieveAlert, {
  read: ({ params }, { table }) => readAlert(table, params.project_id, params.id),
  found: foundAlert,
  run: ({ read, tenant, caller }, context) => alertAnswer(context, read, tenant, caller),
});
