import { endpoint } from '../../lib/api/endpoint.ts';
import { batchExportObject } from '../../lib/exports/records/model.ts';
import { createBatchExport } from '../../lib/exports/resource/create.ts';
import { createBatchExport as row } from '../../lib/exports/resource/routes.ts';
import { foundExport, readExport, shownExport } from '../../lib/exports/resource/store.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, idempotencyOps, activityOps }, context) {
    const created = await createBatchExport(context, tenant, body, idempotencyOps, activityOps);
    return new Answer(batchExportObject(created), { version: created.ver });
  },
  async replay(id, { tenant }, { table }) {
    const item = foundExport(await readExport(table, id), tenant);
    return new Answer(await shownExport(table, item), { version: item.ver });
  },
});
