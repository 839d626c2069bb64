import { runsUnderWay } from '../../lib/batch-exports/backfills.ts';
import { backfillObject } from '../../lib/batch-exports/model.ts';
import { listBackfills } from '../../lib/batch-exports/routes.ts';
import { backfillsAsked } from '../../lib/batch-exports/rules.ts';
import { exportWithPlan } from '../../lib/batch-exports/run-state.ts';
import { foundWithPlan, readBackfills } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';

export const handler = endpoint(listBackfills, {
  async read({ params: { id }, query, paging }, { table }) {
    return Promise.all([exportWithPlan(table, id), readBackfills(table, id, backfillsAsked(query), paging)]);
  },
  found: ([read, page], tenant) => ({ ...foundWithPlan(read, tenant), page }),
  async run({ read: { item, plan, page }, paging }, { table, clock }) {
    const runs = await runsUnderWay(table, item, plan, page.items);
    return cursorPage(paging, page, (backfill) => backfillObject(backfill, clock(), runs));
  },
});
