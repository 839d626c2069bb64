import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';
import { listPersons } from '../../lib/reading/persons/routes.ts';
import { newestPersons, personObject } from '../../lib/reading/persons/store.ts';
import { propertyFilters } from '../../lib/reading/property-filter.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(listPersons, async ({ tenant, query, paging }, context) => {
  const ofEmail = query.email ? JSON.stringify([{ key: 'email', value: query.email }]) : undefined;
  const asked = {
    search: query.search === '' ? undefined : query.search,
    distinctId: query.distinct_id === '' ? undefined : query.distinct_id,
    properties: [...propertyFilters(query.properties, 'person'), ...propertyFilters(ofEmail, 'person')],
    cursor: paging.cursor,
    offset: paging.offset,
  };
  const look = lookFor(context, placeIn(tenant));
  const { rows, next } = await newestPersons(look, asked, paging.limit);
  return cursorPage(paging, { items: rows, next, previous: undefined }, personObject);
});
