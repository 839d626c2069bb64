import { startBackfill } from '../../lib/batch-exports/backfills.ts';
import { backfillBatchExport } from '../../lib/batch-exports/routes.ts';
import { backfillRange } from '../../lib/batch-exports/rules.ts';
import { foundExport, readExport } from '../../lib/batch-exports/store.ts';
import { aboutBackfill } from '../../lib/batch-exports/told.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer, type Paging } from '../../lib/http/request.ts';

/** The backfill's address in the caller's own form: `…/<export>/backfills/<id>`. */
function located(id: string, { url }: Paging): Answer<undefined> {
  return new Answer(undefined, { headers: { Location: url.replace(/\/backfill(\/?)$/, `/backfills/${id}$1`) } });
}

export const handler = endpoint(backfillBatchExport, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, body, once, activity, paging }, context) {
    const also = (id: string) => [...once(id), ...activity({ ...aboutBackfill(read, id), activity: 'created' })];
    const { id } = await startBackfill(context, read, backfillRange(body, context.clock()), also);
    return located(id, paging);
  },
  replay: (id, { paging }) => located(id, paging),
});
