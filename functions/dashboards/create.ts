import { endpoint } from '../../lib/api/endpoint.ts';
import { dashboardAnswer, replayAnswer } from '../../lib/dashboards/answers.ts';
import { createDashboard } from '../../lib/dashboards/create.ts';
import { createDashboard as row } from '../../lib/dashboards/routes.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller, idempotencyOps, activityOps }, context) {
    const creator = { tenant, activityOps };
    return dashboardAnswer(context, await createDashboard(context, creator, body, idempotencyOps), tenant, caller);
  },
  replay: (id, { tenant, caller }, context) => replayAnswer(context, Number(id), tenant, caller),
});
