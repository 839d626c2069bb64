import { logsAsked, readLines } from '../../lib/batch-exports/logs.ts';
import { logEntryObject } from '../../lib/batch-exports/model.ts';
import { listLogs } from '../../lib/batch-exports/routes.ts';
import { foundBeside, readExport } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { page } from '../../lib/http/page.ts';

export const handler = endpoint(listLogs, {
  async read({ params: { id }, query, paging }, context) {
    const { table } = context;
    return Promise.all([readExport(table, id), readLines(table, id, logsAsked(context, query, paging))]);
  },
  found: (read, tenant) => foundBeside(read, tenant),
  run: ({ params, read: { lines: items, count }, paging }) =>
    page(paging, { items, count }, (line) => logEntryObject(params.id, line)),
});
