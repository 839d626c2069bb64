import { endpoint } from '../../lib/api/endpoint.ts';
import { createInsight, insightAnswer, readInsight } from '../../lib/dashboards/insights/store.ts';
import { createInsight as row } from '../../lib/insights/routes.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller, idempotencyOps, activityOps }, context) {
    const made = await createInsight(context, { tenant, activityOps }, body, idempotencyOps);
    return insightAnswer(context, made, tenant, caller);
  },
  async replay(id, { params, tenant, caller }, context) {
    const made = await readInsight(context.table, params.project_id, Number(id));
    return insightAnswer(context, made ?? fail('not_found'), tenant, caller);
  },
});
