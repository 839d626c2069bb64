import { destroyDashboard } from '../../lib/dashboards/routes.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(
  destroyDashboard,
  () => new Answer(undefined, { headers: { Allow: 'GET, HEAD, PATCH' } }),
);
