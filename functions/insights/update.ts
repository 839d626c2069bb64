import { endpoint } from '../../lib/api/endpoint.ts';
import {
  changeInsight,
  foundInsightToChange,
  insightAnswer,
  readInsight,
} from '../../lib/dashboards/insights/store.ts';
import { updateInsight } from '../../lib/insights/routes.ts';

export const handler = endpoint(updateInsight, {
  read: ({ params }, { table }) => readInsight(table, params.project_id, params.id),
  found: foundInsightToChange,
  async run({ read, body, tenant, caller, ifMatch, activityOps }, context) {
    const changed = await changeInsight(context, { tenant, activityOps }, read, body, ifMatch);
    return insightAnswer(context, changed, tenant, caller);
  },
});
