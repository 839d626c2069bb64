import { endpoint } from '../../lib/api/endpoint.ts';
import { dashboardOverrides } from '../../lib/dashboards/answers.ts';
import { foundInsight, insightAnswer, readInsight } from '../../lib/dashboards/insights/store.ts';
import { foundDashboard, readDashboard } from '../../lib/dashboards/store.ts';
import { overridesIn } from '../../lib/insights/overrides.ts';
import { retrieveInsight } from '../../lib/insights/routes.ts';

export const handler = endpoint(retrieveInsight, {
  read: ({ params }, { table }) => readInsight(table, params.project_id, params.id),
  found: foundInsight,
  async run({ read, params, query, tenant, caller }, context) {
    if (query.basic === true) return insightAnswer(context, read, tenant, caller, null);
    const dashboard =
      query.from_dashboard === undefined
        ? undefined
        : foundDashboard(await readDashboard(context.table, params.project_id, query.from_dashboard), tenant);
    const given = overridesIn(query);
    const overrides = dashboard === undefined ? given : dashboardOverrides(dashboard, given);
    return insightAnswer(context, read, tenant, caller, { refresh: query.refresh ?? 'force_cache', overrides });
  },
});
