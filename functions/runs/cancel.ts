import { cancelRun as row } from '../../lib/batch-exports/routes.ts';
import { cancelRun } from '../../lib/batch-exports/runs.ts';
import { foundExport, readExport } from '../../lib/batch-exports/store.ts';
import { aboutRun } from '../../lib/batch-exports/told.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, params: { run_id }, activity }, context) {
    await cancelRun(context, read, run_id, activity({ ...aboutRun(read, run_id), activity: 'cancelled' }));
    return { cancelled: true as const };
  },
});
