import { endpoint } from '../../lib/api/endpoint.ts';
import { changeDashboard } from '../../lib/dashboards/change.ts';
import { updateDashboard } from '../../lib/dashboards/routes.ts';
import { dashboardAnswer } from '../../lib/dashboards/shown.ts';
import { foundToChange, readDashboard } from '../../lib/dashboards/stored.ts';

export const handler = endpoint(updateDashboard, {
  read: ({ params }, { table }) => readDashboard(table, Number(params.project_id), params.id),
  found: foundToChange,
  async run({ read, body, tenant, caller, ifMatch, activity: tell }, context) {
    const changed = await changeDashboard(context, read, body, { member: tenant.membership, ifMatch, tell });
    return dashboardAnswer(context, changed, tenant, caller);
  },
});
