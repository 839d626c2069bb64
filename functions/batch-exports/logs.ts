import { endpoint } from '../../lib/api/endpoint.ts';
import { logEntryObject } from '../../lib/exports/records/log-entry/model.ts';
import { logsAsked, readLines } from '../../lib/exports/records/logs.ts';
import { listLogs } from '../../lib/exports/resource/routes.ts';
import { foundBeside, readExport } from '../../lib/exports/resource/store.ts';
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
