import { retrieveDashboard } from '../../lib/dashboards/routes.ts';
import { dashboardAnswer } from '../../lib/dashboards/shown.ts';
import { foundDashboard, readDashboard } from '../../lib/dashboards/stored.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(retrieveDashboard, {
  read: ({ params }, { table }) => readDashboard(table, Number(params.project_id), params.id),
  found: foundDashboard,
  run: ({ read, tenant, caller }, context) => dashboardAnswer(context, read, tenant, caller),
});
