import { endpoint } from '../../lib/api/endpoint.ts';
import { batchExportObject } from '../../lib/exports/records/model.ts';
import { listBatchExports } from '../../lib/exports/resource/routes.ts';
import { foundExports, readExports } from '../../lib/exports/resource/store.ts';
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
