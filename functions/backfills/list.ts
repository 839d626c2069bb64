import { backfillObject } from '../../lib/batch-exports/model.ts';
import { listBackfills } from '../../lib/batch-exports/routes.ts';
import { backfillsAsked } from '../../lib/batch-exports/rules.ts';
import { foundBeside, readBackfills, readExport } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';

export const handler = endpoint(listBackfills, {
  async read({ params: { id }, query, paging }, { table }) {
    return Promise.all([readExport(table, id), readBackfills(table, id, backfillsAsked(query), paging)]);
  },
  found: (read, tenant) => foundBeside(read, tenant),
  run: ({ read, paging }) => cursorPage(paging, read, backfillObject),
});
