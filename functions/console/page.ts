import { consolePage } from '../../lib/api/console/page.ts';
import { retrieveConsole } from '../../lib/api/console/routes.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(retrieveConsole, ({ paging }) => consolePage(paging.url));
