import { backfillObject } from '../../lib/batch-exports/model.ts';
import { retrieveBackfill } from '../../lib/batch-exports/routes.ts';
import { foundBeside, readBackfill } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(retrieveBackfill, {
  read: ({ params: { id, backfill_id } }, { table }) => readBackfill(table, id, backfill_id),
  found: (read, tenant) => foundBeside(read, tenant),
  run: ({ read }) => backfillObject(read),
});
