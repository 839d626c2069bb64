import { endpoint } from '../../lib/api/endpoint.ts';
import { failurePageAt } from '../../lib/dashboards/public-page/page.ts';
import { retrieveShared } from '../../lib/dashboards/public-page/routes.ts';
import { sharedAnswer } from '../../lib/dashboards/public-page/view.ts';

export const handler = endpoint(retrieveShared, {
  run: ({ params, query, paging, header, address }, context) =>
    sharedAnswer(context, { url: paging.url, sent: params.token, query, cookie: header('cookie'), from: address }),
  failurePage: failurePageAt,
});
