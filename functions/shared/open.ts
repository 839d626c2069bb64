import { endpoint } from '../../lib/api/endpoint.ts';
import { failurePageAt } from '../../lib/dashboards/public-page/page.ts';
import { openShared } from '../../lib/dashboards/public-page/routes.ts';
import { sharedAnswer } from '../../lib/dashboards/public-page/view.ts';

export const handler = endpoint(openShared, {
  run: ({ params, query, body, paging, header, address }, context) =>
    sharedAnswer(context, {
      url: paging.url,
      sent: params.token,
      query,
      cookie: header('cookie'),
      from: address,
      password: body.password,
    }),
  failurePage: failurePageAt,
});
