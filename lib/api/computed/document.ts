import { DESTINATION_KINDS } from '../../exports/destinations/schemas.ts';
import { QUERY_KINDS } from '../../insights/kinds/schemas.ts';
import { type OpenApi, openApi } from '../openapi.ts';
import { routes } from '../routes.ts';

/** The reference of the whole API. */
export const document: OpenApi = openApi(routes, { ...DESTINATION_KINDS, ...QUERY_KINDS });
