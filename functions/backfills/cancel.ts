import { cancelBackfill } from '../../lib/batch-exports/backfills.ts';
import { cancelBackfill as row } from '../../lib/batch-exports/routes.ts';
import { foundExport, readExport } from '../../lib/batch-exports/store.ts';
import { aboutBackfill } from '../../lib/batch-exports/told.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, params: { backfill_id: id }, activity }, context) {
    await cancelBackfill(context, read, id, activity({ ...aboutBackfill(read, id), activity: 'cancelled' }));
    return { cancelled: true as const };
  },
});
