import { endpoint } from '../../lib/api/endpoint.ts';
import { retrieveInsight } from '../../lib/insights/routes.ts';
import { foundInsight, insightAnswer, readInsight } from '../../lib/insights/store.ts';

export const handler = endpoint(retrieveInsight, {
  read: ({ params }, { table }) => readInsight(table, Number(params.project_id), params.id),
  found: foundInsight,
  run: ({ read, tenant, caller }, context) => insightAnswer(context, read, tenant, caller),
});
