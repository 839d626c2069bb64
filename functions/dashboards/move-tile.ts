import { endpoint } from '../../lib/api/endpoint.ts';
import { moveTile } from '../../lib/dashboards/move-tile.ts';
import { moveTile as row } from '../../lib/dashboards/routes.ts';
import { foundDashboardToEdit, readDashboard } from '../../lib/dashboards/store.ts';
import { targetOf } from '../../lib/dashboards/tiles.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readDashboard(table, params.project_id, params.id),
  found: foundDashboardToEdit,
  run: ({ read, body, tenant, ifMatch, activityOps }, context) =>
    moveTile(context, read, { tile: body.tile.id, to: targetOf(body) }, { tenant, ifMatch, activityOps }),
});
