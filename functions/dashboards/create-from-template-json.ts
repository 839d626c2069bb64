import { endpoint } from '../../lib/api/endpoint.ts';
import { dashboardAnswer, replayAnswer } from '../../lib/dashboards/answers.ts';
import { createFromTemplate } from '../../lib/dashboards/create.ts';
import { createFromTemplate as row } from '../../lib/dashboards/routes.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller, idempotencyOps, activityOps }, context) {
    const creator = { tenant, activityOps };
    const made = await createFromTemplate(context, creator, body.template, idempotencyOps);
    return dashboardAnswer(context, made, tenant, caller);
  },
  replay: (id, { tenant, caller }, context) => replayAnswer(context, Number(id), tenant, caller),
});
