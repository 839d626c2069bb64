import { endpoint } from '../../lib/api/endpoint.ts';
import { aboutBackfill } from '../../lib/exports/resource/activity.ts';
import { cancelBackfill as row } from '../../lib/exports/resource/routes.ts';
import { foundExport, readExport } from '../../lib/exports/resource/store.ts';
import { cancelBackfill } from '../../lib/exports/runs/cancel.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, params: { backfill_id: id }, activityOps }, context) {
    await cancelBackfill(context, read, id, activityOps({ ...aboutBackfill(read, id), activity: 'cancelled' }));
    return { cancelled: true as const };
  },
});
