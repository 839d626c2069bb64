import { endpoint } from '../../lib/api/endpoint.ts';
import { sharedObject } from '../../lib/dashboards/public-page/model.ts';
import { failurePage, PUBLIC_HEADERS, sharedPage } from '../../lib/dashboards/public-page/page.ts';
import { retrieveShared } from '../../lib/dashboards/public-page/routes.ts';
import { isDataAddress, readAddress } from '../../lib/dashboards/public-page/rules.ts';
import { findShared } from '../../lib/dashboards/public-page/store.ts';
import { Answer } from '../../lib/http/answer.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(retrieveShared, {
  async run({ params, query, paging }, { table }) {
    const { token, type, path, isData } = readAddress(paging.url, params.token);
    const found = (await findShared(table, token)) ?? fail('not_found');
    const shared = sharedObject(found, { type, query });
    return isData ? new Answer(shared, { headers: PUBLIC_HEADERS }) : sharedPage(shared, path);
  },
  failurePage: (failure, { path }) => (isDataAddress(path) ? undefined : failurePage(failure)),
});
