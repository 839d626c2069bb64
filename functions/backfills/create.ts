import { endpoint } from '../../lib/api/endpoint.ts';
import { aboutBackfill } from '../../lib/exports/resource/activity.ts';
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import { createBackfill } from '../../lib/exports/resource/routes.ts';
import { requestedRange } from '../../lib/exports/resource/rules.ts';
import { foundExport, readExport } from '../../lib/exports/resource/store.ts';

export const handler = endpoint(createBackfill, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, body, idempotencyOps, activityOps }, context) {
    const logOps = (id: string) => activityOps({ ...aboutBackfill(read, id), activity: 'created' });
    const also = (id: string) => [...idempotencyOps(id), ...logOps(id)];
    const { id } = await startBackfill(context, read, requestedRange(body, context.clock()), also);
    return { backfill_id: id };
  },
  replay: (id) => ({ backfill_id: id }),
});
