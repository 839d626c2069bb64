import { endpoint } from '../../lib/api/endpoint.ts';
import { failurePageAt } from '../../lib/dashboards/public-page/page.ts';
import { openShared } from '../../lib/dashboards/public-page/routes.ts';
import { sharedAnswer } from '../../lib/dashboards/public-page/view.ts';

export const handler = endpoint(openShared, {
  run: (request, context) => sharedAnswer(context, request),
  failurePage: failurePageAt,
});
