import { consoleFile } from '../../lib/api/console/page.ts';
import { retrieveConsoleFile } from '../../lib/api/console/routes.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(retrieveConsoleFile, ({ params }) => consoleFile(params.file));
