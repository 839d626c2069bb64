import { consoleLink } from '../../lib/api/console/page.ts';
import { openConsoleLink } from '../../lib/api/console/routes.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(openConsoleLink, ({ params, paging }) => consoleLink(paging.url, params));
