import { endpoint } from '../../lib/api/endpoint.ts';
import { logEntryObject } from '../../lib/exports/records/log-entry/model.ts';
import { logsAsked, readLines } from '../../lib/exports/records/logs.ts';
import { listRunLogs } from '../../lib/exports/resource/routes.ts';
import { foundBeside, readRun } from '../../lib/exports/resource/store.ts';
import { page } from '../../lib/http/page.ts';

export const handler = endpoint(listRunLogs, {
  async read({ params: { id, run_id }, query, paging }, context) {
    const asked = logsAsked(context, { ...query, instance_id: run_id }, paging);
    return Promise.all([readRun(context.table, id, run_id), readLines(context.table, id, asked)]);
  },
  found([run, lines], tenant) {
    foundBeside(run, tenant);
    return lines;
  },
  run: ({ params, read: { lines: items, count }, paging }) =>
    page(paging, { items, count }, (line) => logEntryObject(params.id, line)),
});
