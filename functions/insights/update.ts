import { endpoint } from '../../lib/api/endpoint.ts';
import { updateInsight } from '../../lib/insights/routes.ts';
import { changeInsight, foundToChange, insightAnswer, readInsight } from '../../lib/insights/store.ts';

export const handler = endpoint(updateInsight, {
  read: ({ params }, { table }) => readInsight(table, Number(params.project_id), params.id),
  found: foundToChange,
  async run({ params, read, body, tenant, caller, ifMatch, activity: tell }, context) {
    const author = { project: Number(params.project_id), member: tenant.membership, tell };
    const changed = await changeInsight(context, author, read, body, ifMatch);
    return insightAnswer(context, changed, tenant, caller);
  },
});
