import { endpoint } from '../../lib/api/endpoint.ts';
import { logEntryObject } from '../../lib/exports/records/log-entry/model.ts';
import { linesOfRun, logsAsked, readLines } from '../../lib/exports/records/logs.ts';
import { listRunLogs } from '../../lib/exports/resource/routes.ts';
import { foundBeside, readRun } from '../../lib/exports/resource/store.ts';
import { page } from '../../lib/http/page.ts';

export const handler = endpoint(listRunLogs, {
  async read({ params: { id, run_id }, query, paging }, context) {
    const [item, run] = await readRun(context.table, id, run_id);
    const asked = run && linesOfRun(logsAsked(context, query, paging), run);
    return [item, asked && (await readLines(context.table, id, asked))] as const;
  },
  found: (read, tenant) => foundBeside(read, tenant),
  run: ({ params, read: { lines: items, count }, paging }) =>
    page(paging, { items, count }, (line) => logEntryObject(params.id, line)),
});
