import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';
import { listEvents } from '../../lib/reading/events/routes.ts';
import { eventObjects, newestEvents } from '../../lib/reading/events/store.ts';
import { distinctIdsOf } from '../../lib/reading/persons/store.ts';
import { propertyFilters } from '../../lib/reading/property-filter.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(listEvents, async ({ tenant, query, paging }, context) => {
  const { event, distinct_id, person_id: personId, after, before } = query;
  const properties = propertyFilters(query.properties, 'event');
  const look = lookFor(context, placeIn(tenant));
  const ofPerson = personId === undefined ? [] : await distinctIdsOf(look, personId);
  const asked = {
    event: event === '' ? undefined : event,
    distinctId: distinct_id === '' ? undefined : distinct_id,
    ...(personId === undefined ? {} : { person: { id: personId, distinctIds: ofPerson } }),
    after,
    before,
    properties,
    cursor: paging.cursor,
    offset: paging.offset,
  };
  const { rows, next } = await newestEvents(look, asked, paging.limit);
  const items = await eventObjects(look, rows);
  return cursorPage(paging, { items, next, previous: undefined }, (item) => item);
});
