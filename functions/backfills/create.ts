import { startBackfill } from '../../lib/batch-exports/backfills.ts';
import { createBackfill } from '../../lib/batch-exports/routes.ts';
import { backfillRange } from '../../lib/batch-exports/rules.ts';
import { foundExport, readExport } from '../../lib/batch-exports/store.ts';
import { aboutBackfill } from '../../lib/batch-exports/told.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(createBackfill, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, body, once, activity }, context) {
    const also = (id: string) => [...once(id), ...activity({ ...aboutBackfill(read, id), activity: 'created' })];
    const { id } = await startBackfill(context, read, backfillRange(body, context.clock()), also);
    return { backfill_id: id };
  },
  replay: (id) => ({ backfill_id: id }),
});
