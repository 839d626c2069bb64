import { endpoint } from '../../lib/api/endpoint.ts';
import { aboutBackfill } from '../../lib/exports/resource/activity.ts';
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import { backfillBatchExport } from '../../lib/exports/resource/routes.ts';
import { requestedRange } from '../../lib/exports/resource/rules.ts';
import { foundExport, readExport } from '../../lib/exports/resource/store.ts';
import { Answer } from '../../lib/http/answer.ts';
import type { Paging } from '../../lib/http/page.ts';

/** The backfill's address in the caller's own form: `…/<export>/backfills/<id>`. */
function located(id: string, { url }: Paging): Answer<undefined> {
  return new Answer(undefined, { headers: { Location: url.replace(/\/backfill(\/?)$/, `/backfills/${id}$1`) } });
}

export const handler = endpoint(backfillBatchExport, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, body, idempotencyOps, activityOps, paging }, context) {
    const logOps = (id: string) => activityOps({ ...aboutBackfill(read, id), activity: 'created' });
    const also = (id: string) => [...idempotencyOps(id), ...logOps(id)];
    const { id } = await startBackfill(context, read, requestedRange(body, context.clock()), also);
    return located(id, paging);
  },
  replay: (id, { paging }) => located(id, paging),
});
