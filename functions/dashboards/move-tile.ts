import { endpoint } from '../../lib/api/endpoint.ts';
import { moveTile } from '../../lib/dashboards/change.ts';
import { moveTile as row } from '../../lib/dashboards/routes.ts';
import { foundDashboardToEdit, readDashboard } from '../../lib/dashboards/store.ts';
import { targetOf } from '../../lib/dashboards/tiles.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readDashboard(table, Number(params.project_id), params.id),
  found: foundDashboardToEdit,
  async run({ read, body, tenant, ifMatch, activityOps }, context) {
    const move = { tile: body.tile.id, to: targetOf(body) };
    await moveTile(context, read, move, { tenant, ifMatch, activityOps });
    return undefined;
  },
});
