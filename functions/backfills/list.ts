import { endpoint } from '../../lib/api/endpoint.ts';
import { backfillObject } from '../../lib/exports/records/backfills/model.ts';
import { runsUnderWay } from '../../lib/exports/resource/backfills.ts';
import { listBackfills } from '../../lib/exports/resource/routes.ts';
import { backfillsAsked } from '../../lib/exports/resource/rules.ts';
import { foundWithPlan, readBackfills } from '../../lib/exports/resource/store.ts';
import { exportWithPlan } from '../../lib/exports/runs/store.ts';
import { cursorPage } from '../../lib/http/page.ts';

export const handler = endpoint(listBackfills, {
  async read({ params: { id }, query, paging }, { table }) {
    return Promise.all([exportWithPlan(table, id), readBackfills(table, id, backfillsAsked(query), paging)]);
  },
  found: ([read, page], tenant) => ({ ...foundWithPlan(read, tenant), page }),
  async run({ read: { item, plan, page }, paging }, { table, clock }) {
    const runs = await runsUnderWay(table, { item, plan }, page.items);
    return cursorPage(paging, page, (backfill) => backfillObject(backfill, clock(), runs));
  },
});
