import { destroyBatchExport as row } from '../../lib/batch-exports/routes.ts';
import { destroyBatchExport, foundExport, readExport } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(row, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, ifMatch, activity }, context) {
    await destroyBatchExport(context, read, ifMatch, activity);
    return undefined;
  },
});
