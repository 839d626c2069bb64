import { endpoint } from '../../lib/api/endpoint.ts';
import { dashboardAnswer } from '../../lib/dashboards/answers.ts';
import { retrieveDashboard } from '../../lib/dashboards/routes.ts';
import { foundDashboard, readDashboard } from '../../lib/dashboards/store.ts';
import { overridesIn } from '../../lib/insights/overrides.ts';

export const handler = endpoint(retrieveDashboard, {
  read: ({ params }, { table }) => readDashboard(table, params.project_id, params.id),
  found: foundDashboard,
  run: ({ read, query, tenant, caller }, context) =>
    dashboardAnswer(context, { stored: read }, tenant, caller, {
      refresh: query.refresh ?? 'force_cache',
      overrides: overridesIn(query),
    }),
});
