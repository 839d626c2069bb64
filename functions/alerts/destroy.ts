import { endpoint } from '../../lib/api/endpoint.ts';
import { destroyAlert as row } from '../../lib/notifications/alerts/routes.ts';
import { destroyAlert, foundAlertToStop, readAlert } from '../../lib/notifications/alerts/store.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readAlert(table, params.project_id, params.id),
  found: foundAlertToStop,
  run: ({ read, tenant, ifMatch, activityOps }, context) =>
    destroyAlert(context, { tenant, activityOps }, read, ifMatch),
});
