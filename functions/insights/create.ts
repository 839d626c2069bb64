import { endpoint } from '../../lib/api/endpoint.ts';
import { createInsight as row } from '../../lib/insights/routes.ts';
import { createInsight, insightAnswer, readInsight } from '../../lib/insights/store.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(row, {
  async run({ params, body, tenant, caller, once, activity: tell }, context) {
    const author = { project: Number(params.project_id), member: tenant.membership, tell };
    return insightAnswer(context, await createInsight(context, author, body, once), tenant, caller);
  },
  async replay(id, { params, tenant, caller }, context) {
    const made = await readInsight(context.table, Number(params.project_id), Number(id));
    return insightAnswer(context, made ?? fail('not_found'), tenant, caller);
  },
});
