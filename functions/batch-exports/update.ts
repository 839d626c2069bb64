import { batchExportObject } from '../../lib/batch-exports/model.ts';
import { updateBatchExport } from '../../lib/batch-exports/routes.ts';
import { exportWithPlan } from '../../lib/batch-exports/run-state.ts';
import { changeBatchExport, foundWithPlan } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(updateBatchExport, {
  read: ({ params }, { table }) => exportWithPlan(table, params.id),
  found: foundWithPlan,
  async run({ read, body, ifMatch, activity }, context) {
    const changed = await changeBatchExport(context, read, body, ifMatch, activity);
    return new Answer(batchExportObject(changed), { version: changed.ver });
  },
});
