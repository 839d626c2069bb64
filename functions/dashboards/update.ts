import { endpoint } from '../../lib/api/endpoint.ts';
import { dashboardAnswer } from '../../lib/dashboards/answers.ts';
import { changeDashboard } from '../../lib/dashboards/change.ts';
import { updateDashboard } from '../../lib/dashboards/routes.ts';
import { foundDashboardToChange, readDashboard } from '../../lib/dashboards/store.ts';

export const handler = endpoint(updateDashboard, {
  read: ({ params }, { table }) => readDashboard(table, params.project_id, params.id),
  found: foundDashboardToChange,
  async run({ read, body, tenant, caller, ifMatch, activityOps }, context) {
    const stored = await changeDashboard(context, read, body, { tenant, ifMatch, activityOps });
    return dashboardAnswer(context, { stored }, tenant, caller);
  },
});
