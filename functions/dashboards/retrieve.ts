import { endpoint } from '../../lib/api/endpoint.ts';
import { retrieveDashboard } from '../../lib/dashboards/routes.ts';
import { dashboardAnswer } from '../../lib/dashboards/shown.ts';
import { foundDashboard, readDashboard } from '../../lib/dashboards/stored.ts';

export const handler = endpoint(retrieveDashboard, {
  read: ({ params }, { table }) => readDashboard(table, Number(params.project_id), params.id),
  found: foundDashboard,
  run: ({ read, tenant, caller }, context) => dashboardAnswer(context, read, tenant, caller),
});
