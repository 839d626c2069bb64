import { runDetailObject } from '../../lib/batch-exports/model.ts';
import { listRuns } from '../../lib/batch-exports/routes.ts';
import { runsAsked } from '../../lib/batch-exports/rules.ts';
import { foundBeside, readExport, readRuns } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';

export const handler = endpoint(listRuns, {
  async read({ params: { id }, query, paging }, { table, clock }) {
    return Promise.all([readExport(table, id), readRuns(table, id, runsAsked(query, clock()), paging)]);
  },
  found: (read, tenant) => foundBeside(read, tenant),
  run: ({ read, paging }) => cursorPage(paging, read, runDetailObject),
});
