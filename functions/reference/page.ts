import { endpoint } from '../../lib/http/endpoint.ts';
import { referencePage } from '../../lib/http/reference.ts';
import { retrieveReference } from '../../lib/http/routes.ts';

export const handler = endpoint(retrieveReference, ({ paging }) => referencePage(paging.url));
