import { batchExportObject } from '../../lib/batch-exports/model.ts';
import { listBatchExports } from '../../lib/batch-exports/routes.ts';
import { foundExports, readExports } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { page } from '../../lib/http/page.ts';

export const handler = endpoint(listBatchExports, {
  async read({ params: { organization_id } }, { table }) {
    return organization_id === undefined ? undefined : readExports(table, organization_id);
  },
  async run({ read, tenant, paging: { limit, offset, ...paging } }, { table }) {
    const exports = foundExports(read ?? (await readExports(table, tenant.organization.id)), tenant);
    const items = exports.slice(offset, offset + limit);
    return page({ limit, offset, ...paging }, { items, count: exports.length }, batchExportObject);
  },
});
