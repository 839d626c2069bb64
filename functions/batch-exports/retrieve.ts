import { batchExportObject } from '../../lib/batch-exports/model.ts';
import { retrieveBatchExport } from '../../lib/batch-exports/routes.ts';
import { foundExport, readExport } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(retrieveBatchExport, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  run: ({ read: item }) => new Answer(batchExportObject(item), { version: item.ver }),
});
