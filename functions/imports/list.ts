import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { page, readPage } from '../../lib/http/page.ts';
import { importObject } from '../../lib/imports/model.ts';
import { listImports } from '../../lib/imports/routes.ts';
import { uploadedBytes } from '../../lib/imports/store.ts';
import { ranges } from '../../lib/ports/table/keys.ts';

export const handler = endpoint(listImports, {
  read: ({ params, paging }, { table }) => readPage(table, ranges.importsOf(params.project_id), paging),
  async run({ read, paging, caller }, context) {
    const userOf = await userLookup(
      context,
      read.items.map((item) => item.created_by),
      caller.user,
    );
    const items = await Promise.all(
      read.items.map(async (item) => importObject(item, userOf, await uploadedBytes(context, item))),
    );
    return page(paging, { ...read, items }, (item) => item);
  },
});
