import { endpoint } from '../../lib/api/endpoint.ts';
import { destroyDashboard } from '../../lib/dashboards/routes.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(
  destroyDashboard,
  () => new Answer(undefined, { headers: { Allow: 'GET, HEAD, PATCH' } }),
);
