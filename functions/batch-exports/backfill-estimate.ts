import { endpoint } from '../../lib/api/endpoint.ts';
import { estimateBackfill } from '../../lib/exports/resource/backfills.ts';
import { estimateBackfill as row } from '../../lib/exports/resource/routes.ts';
import { requestedRange } from '../../lib/exports/resource/rules.ts';
import { foundWithPlan } from '../../lib/exports/resource/store.ts';
import { exportWithPlan } from '../../lib/exports/runs/store.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => exportWithPlan(table, params.id),
  found: foundWithPlan,
  run: ({ read, body }, context) => estimateBackfill(context, read, requestedRange(body, context.clock())),
});
