import { runsUnderWay } from '../../lib/batch-exports/backfills.ts';
import { backfillObject } from '../../lib/batch-exports/model.ts';
import { retrieveBackfill } from '../../lib/batch-exports/routes.ts';
import { foundBoth, readBackfill } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(retrieveBackfill, {
  read: ({ params: { id, backfill_id } }, { table }) => readBackfill(table, id, backfill_id),
  found: (read, tenant) => foundBoth(read, tenant),
  async run({ read: [item, { plan, backfill }] }, { table, clock }) {
    return backfillObject(backfill, clock(), await runsUnderWay(table, item, plan, [backfill]));
  },
});
