import { fail } from '../../lib/errors.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { sharedObject } from '../../lib/sharing/model.ts';
import { failurePage, PUBLIC_HEADERS, sharedPage } from '../../lib/sharing/page.ts';
import { retrieveShared } from '../../lib/sharing/routes.ts';
import { isDataAddress, readAddress } from '../../lib/sharing/rules.ts';
import { findShared } from '../../lib/sharing/store.ts';

export const handler = endpoint(retrieveShared, {
  async run({ params, query, paging }, { table }) {
    const { token, type, path, isData } = readAddress(paging.url, params.token);
    const found = (await findShared(table, token)) ?? fail('not_found');
    const shared = sharedObject(found, { type, query });
    return isData ? new Answer(shared, { headers: PUBLIC_HEADERS }) : sharedPage(shared, path);
  },
  failed: (failure, { path }) => (isDataAddress(path) ? undefined : failurePage(failure)),
});
