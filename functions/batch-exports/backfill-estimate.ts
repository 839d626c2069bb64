import { estimateBackfill } from '../../lib/batch-exports/backfills.ts';
import { estimateBackfill as row } from '../../lib/batch-exports/routes.ts';
import { backfillRange } from '../../lib/batch-exports/rules.ts';
import { exportWithPlan } from '../../lib/batch-exports/run-state.ts';
import { foundWithPlan } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => exportWithPlan(table, params.id),
  found: foundWithPlan,
  run: ({ read, body }, context) => estimateBackfill(context, read, backfillRange(body, context.clock())),
});
