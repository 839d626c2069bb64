import { endpoint } from '../../lib/api/endpoint.ts';
import { failurePageAt } from '../../lib/dashboards/public-page/page.ts';
import { retrieveShared } from '../../lib/dashboards/public-page/routes.ts';
import { sharedAnswer } from '../../lib/dashboards/public-page/view.ts';

export const handler = endpoint(retrieveShared, {
  run: (request, context) => sharedAnswer(context, request),
  failurePage: failurePageAt,
});
