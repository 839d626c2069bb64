import { endpoint } from '../../lib/api/endpoint.ts';
import { moveTile } from '../../lib/dashboards/change.ts';
import { moveTile as row } from '../../lib/dashboards/routes.ts';
import { foundToEdit, readDashboard } from '../../lib/dashboards/stored.ts';
import { goalOf } from '../../lib/dashboards/tiles.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readDashboard(table, Number(params.project_id), params.id),
  found: foundToEdit,
  async run({ read, body, tenant, ifMatch, activity: tell }, context) {
    const move = { tile: body.tile.id, to: goalOf(body) };
    await moveTile(context, read, move, { member: tenant.membership, ifMatch, tell });
    return undefined;
  },
});
