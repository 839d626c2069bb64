import { endpoint } from '../../lib/api/endpoint.ts';
import { destroyBatchExport } from '../../lib/exports/resource/change.ts';
import { destroyBatchExport as row } from '../../lib/exports/resource/routes.ts';
import { foundExport, readExport } from '../../lib/exports/resource/store.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  run: ({ read, ifMatch, activityOps }, context) => destroyBatchExport(context, read, ifMatch, activityOps),
});
