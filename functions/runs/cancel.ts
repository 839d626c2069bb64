import { endpoint } from '../../lib/api/endpoint.ts';
import { aboutRun } from '../../lib/exports/resource/activity.ts';
import { cancelRun as row } from '../../lib/exports/resource/routes.ts';
import { foundExport, readExport } from '../../lib/exports/resource/store.ts';
import { cancelRun } from '../../lib/exports/runs/cancel.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, params: { run_id }, activityOps }, context) {
    await cancelRun(context, read, run_id, activityOps({ ...aboutRun(read, run_id), activity: 'cancelled' }));
    return { cancelled: true as const };
  },
});
