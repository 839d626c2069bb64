import { endpoint } from '../../lib/api/endpoint.ts';
import { createAlert as row } from '../../lib/notifications/alerts/routes.ts';
import { alertAnswer, createAlert, foundAlert, readAlert } from '../../lib/notifications/alerts/store.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller, idempotencyOps, activityOps }, context) {
    const made = await createAlert(context, { tenant, activityOps }, body, idempotencyOps);
    return alertAnswer(context, made, tenant, caller);
  },
  async replay(id, { params, tenant, caller }, context) {
    return alertAnswer(context, foundAlert(await readAlert(context.table, params.project_id, id)), tenant, caller);
  },
});
