import { startBackfill } from '../../lib/batch-exports/backfills.ts';
import { retryRun } from '../../lib/batch-exports/routes.ts';
import { foundBoth, readRun } from '../../lib/batch-exports/store.ts';
import { aboutRun } from '../../lib/batch-exports/told.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(retryRun, {
  read: ({ params: { id, run_id } }, { table }) => readRun(table, id, run_id),
  found: (read, tenant) => foundBoth(read, tenant),
  async run({ read: [item, run], once, activity }, context) {
    const range = { start_at: run.data_interval_start, end_at: run.data_interval_end };
    const also = (id: string) => [...once(id), ...activity({ ...aboutRun(item, run.id), activity: 'retried' })];
    const { id } = await startBackfill(context, item, range, also);
    return { backfill_id: id };
  },
  replay: (id) => ({ backfill_id: id }),
});
