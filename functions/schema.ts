import { endpoint } from '../lib/http/endpoint.ts';
import { openApi } from '../lib/http/openapi.ts';
import { retrieveSchema } from '../lib/http/routes.ts';
import { routes } from '../lib/routes.ts';

const document = { ...openApi(routes) };

export const handler = endpoint(retrieveSchema, () => document);
