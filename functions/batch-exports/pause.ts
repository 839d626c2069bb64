import { endpoint } from '../../lib/api/endpoint.ts';
import { pauseBatchExport } from '../../lib/exports/resource/change.ts';
import { pauseBatchExport as row } from '../../lib/exports/resource/routes.ts';
import { foundWithPlan } from '../../lib/exports/resource/store.ts';
import { exportWithPlan } from '../../lib/exports/runs/store.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => exportWithPlan(table, params.id),
  found: foundWithPlan,
  async run({ read, ifMatch, activityOps }, context) {
    await pauseBatchExport(context, read, ifMatch, activityOps);
    return { paused: true as const };
  },
});
