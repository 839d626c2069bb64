import { endpoint } from '../../lib/api/endpoint.ts';
import { runDetailObject } from '../../lib/exports/records/runs/model.ts';
import { listRuns } from '../../lib/exports/resource/routes.ts';
import { runsAsked } from '../../lib/exports/resource/rules.ts';
import { foundBeside, readExport, readRuns } from '../../lib/exports/resource/store.ts';
import { cursorPage } from '../../lib/http/page.ts';

export const handler = endpoint(listRuns, {
  async read({ params: { id }, query, paging }, { table, clock }) {
    return Promise.all([readExport(table, id), readRuns(table, id, runsAsked(query, clock()), paging)]);
  },
  found: (read, tenant) => foundBeside(read, tenant),
  run: ({ read, paging }) => cursorPage(paging, read, runDetailObject),
});
