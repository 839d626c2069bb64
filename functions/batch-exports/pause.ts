import { pauseBatchExport as row } from '../../lib/batch-exports/routes.ts';
import { exportWithPlan } from '../../lib/batch-exports/run-state.ts';
import { foundWithPlan, pauseBatchExport } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => exportWithPlan(table, params.id),
  found: foundWithPlan,
  async run({ read, ifMatch, activity }, context) {
    await pauseBatchExport(context, read, ifMatch, activity);
    return { paused: true as const };
  },
});
