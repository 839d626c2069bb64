import { unpauseBatchExport as row } from '../../lib/batch-exports/routes.ts';
import { exportWithPlan } from '../../lib/batch-exports/run-state.ts';
import { foundWithPlan, unpauseBatchExport } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => exportWithPlan(table, params.id),
  found: foundWithPlan,
  async run({ read, body, ifMatch, activity, paging: { url } }, context) {
    const backfill = await unpauseBatchExport(context, read, body, ifMatch, activity);
    const paused = { paused: false as const };
    if (backfill === undefined) return paused;
    return new Answer(paused, { headers: { Location: url.replace(/\/unpause(\/?)$/, `/backfills/${backfill.id}$1`) } });
  },
});
