import { endpoint } from '../../lib/api/endpoint.ts';
import { batchExportObject } from '../../lib/exports/records/model.ts';
import { retrieveBatchExport } from '../../lib/exports/resource/routes.ts';
import { foundExport, readExport } from '../../lib/exports/resource/store.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(retrieveBatchExport, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  run: ({ read: item }) => new Answer(batchExportObject(item), { version: item.ver }),
});
