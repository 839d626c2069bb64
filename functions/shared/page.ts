import { endpoint } from '../../lib/api/endpoint.ts';
import { sharedObject } from '../../lib/dashboards/sharing/model.ts';
import { failurePage, PUBLIC_HEADERS, sharedPage } from '../../lib/dashboards/sharing/page.ts';
import { retrieveShared } from '../../lib/dashboards/sharing/routes.ts';
import { isDataAddress, readAddress } from '../../lib/dashboards/sharing/rules.ts';
import { findShared } from '../../lib/dashboards/sharing/store.ts';
import { Answer } from '../../lib/http/request.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(retrieveShared, {
  async run({ params, query, paging }, { table }) {
    const { token, type, path, isData } = readAddress(paging.url, params.token);
    const found = (await findShared(table, token)) ?? fail('not_found');
    const shared = sharedObject(found, { type, query });
    return isData ? new Answer(shared, { headers: PUBLIC_HEADERS }) : sharedPage(shared, path);
  },
  failed: (failure, { path }) => (isDataAddress(path) ? undefined : failurePage(failure)),
});
