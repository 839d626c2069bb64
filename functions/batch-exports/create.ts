import { batchExportObject } from '../../lib/batch-exports/model.ts';
import { createBatchExport as row } from '../../lib/batch-exports/routes.ts';
import { createBatchExport, foundExport, readExport } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, once, activity }, context) {
    const created = await createBatchExport(context, tenant, body, once, activity);
    return new Answer(batchExportObject(created), { version: created.ver });
  },
  async replay(id, { tenant }, { table }) {
    const item = foundExport(await readExport(table, id), tenant);
    return new Answer(batchExportObject(item), { version: item.ver });
  },
});
