import { endpoint } from '../../lib/api/endpoint.ts';
import { updateAlert } from '../../lib/notifications/alerts/routes.ts';
import { alertAnswer, changeAlert, foundAlertToStop, readAlert } from '../../lib/notifications/alerts/store.ts';
import { onlyStops } from '../../lib/notifications/notifier.ts';

export const handler = endpoint(updateAlert, {
  read: ({ params }, { table }) => readAlert(table, params.project_id, params.id),
  found: foundAlertToStop,
  async run({ read, body, tenant, caller, ifMatch, activityOps }, context) {
    const changed = await changeAlert(context, { tenant, activityOps }, read, body, ifMatch);
    return alertAnswer(context, changed, tenant, caller, { mayBeUnseen: onlyStops(body) });
  },
});
