import { endpoint } from '../../lib/api/endpoint.ts';
import { referencePage } from '../../lib/api/reference.ts';
import { retrieveReference } from '../../lib/api/reference-routes.ts';

export const handler = endpoint(retrieveReference, ({ paging }) => referencePage(paging.url));
