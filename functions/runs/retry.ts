import { endpoint } from '../../lib/api/endpoint.ts';
import { aboutRun } from '../../lib/exports/resource/activity.ts';
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import { retryRun } from '../../lib/exports/resource/routes.ts';
import { foundBoth, readRun } from '../../lib/exports/resource/store.ts';

export const handler = endpoint(retryRun, {
  read: ({ params: { id, run_id } }, { table }) => readRun(table, id, run_id),
  found: (read, tenant) => foundBoth(read, tenant),
  async run({ read: [item, run], idempotencyOps, activityOps }, context) {
    const range = { start_at: run.data_interval_start, end_at: run.data_interval_end };
    const logOps = activityOps({ ...aboutRun(item, run.id), activity: 'retried' });
    const also = (id: string) => [...idempotencyOps(id), ...logOps];
    const { id } = await startBackfill(context, item, range, also);
    return { backfill_id: id };
  },
  replay: (id) => ({ backfill_id: id }),
});
