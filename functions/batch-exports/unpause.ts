import { endpoint } from '../../lib/api/endpoint.ts';
import { unpauseBatchExport } from '../../lib/exports/resource/change.ts';
import { unpauseBatchExport as row } from '../../lib/exports/resource/routes.ts';
import { foundWithPlan } from '../../lib/exports/resource/store.ts';
import { exportWithPlan } from '../../lib/exports/runs/store.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => exportWithPlan(table, params.id),
  found: foundWithPlan,
  async run({ read, body, ifMatch, activityOps, paging: { url } }, context) {
    const backfill = await unpauseBatchExport(context, read, body, ifMatch, activityOps);
    const paused = { paused: false as const };
    if (backfill === undefined) return paused;
    return new Answer(paused, { headers: { Location: url.replace(/\/unpause(\/?)$/, `/backfills/${backfill.id}$1`) } });
  },
});
