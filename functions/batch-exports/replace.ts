import { endpoint } from '../../lib/api/endpoint.ts';
import { changeBatchExport } from '../../lib/exports/resource/change.ts';
import { replaceBatchExport } from '../../lib/exports/resource/routes.ts';
import { foundWithPlan, shownExport } from '../../lib/exports/resource/store.ts';
import { exportWithPlan } from '../../lib/exports/runs/store.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(replaceBatchExport, {
  read: ({ params }, { table }) => exportWithPlan(table, params.id),
  found: foundWithPlan,
  async run({ read, body, ifMatch, activityOps }, context) {
    const changed = await changeBatchExport(context, read, body, ifMatch, activityOps);
    return new Answer(await shownExport(context.table, changed), { version: changed.ver });
  },
});
