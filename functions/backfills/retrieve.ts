import { endpoint } from '../../lib/api/endpoint.ts';
import { backfillObject } from '../../lib/exports/records/backfills/model.ts';
import { runsUnderWay } from '../../lib/exports/resource/backfills.ts';
import { retrieveBackfill } from '../../lib/exports/resource/routes.ts';
import { foundBoth, readBackfill } from '../../lib/exports/resource/store.ts';

export const handler = endpoint(retrieveBackfill, {
  read: ({ params: { id, backfill_id } }, { table }) => readBackfill(table, id, backfill_id),
  found: (read, tenant) => foundBoth(read, tenant),
  async run({ read: [item, { plan, backfill }] }, { table, clock }) {
    return backfillObject(backfill, clock(), await runsUnderWay(table, { item, plan }, [backfill]));
  },
});
