import { endpoint } from '../../lib/api/endpoint.ts';
import { listBatchExports } from '../../lib/exports/resource/routes.ts';
import { foundExports, readExports, shownExports } from '../../lib/exports/resource/store.ts';
import { page } from '../../lib/http/page.ts';
import { holdsText } from '../../lib/http/search.ts';

export const handler = endpoint(listBatchExports, {
  async read({ params: { organization_id } }, { table }) {
    return organization_id === undefined ? undefined : readExports(table, organization_id);
  },
  async run({ read, query, tenant, paging: { limit, offset, ...paging } }, { table }) {
    const all = foundExports(read ?? (await readExports(table, tenant.organization.id)), tenant);
    const exports = all.filter((one) => holdsText([one.name, one.destination_type], query.search));
    const items = await shownExports(table, exports.slice(offset, offset + limit));
    return page({ limit, offset, ...paging }, { items, count: exports.length }, (one) => one);
  },
});
