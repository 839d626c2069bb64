import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';
import { listEvents } from '../../lib/reading/events/routes.ts';
import { eventObjects, newestEvents } from '../../lib/reading/events/store.ts';
import { distinctIdsOf } from '../../lib/reading/persons/store.ts';
import { propertyFilters } from '../../lib/reading/property-filter.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(listEvents, async ({ tenant, query, paging }, context) => {
  const { organization, project } = placeIn(tenant);
  const { event, distinct_id, person_id: personId, after, before } = query;
  const properties = propertyFilters(query.properties, 'event');
  const look = lookFor(context, organization.id);
  const ofPerson = personId === undefined ? [] : await distinctIdsOf(context.table, look, project.id, personId);
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
  const { rows, next } = await newestEvents(context.table, look, project.id, asked, paging.limit);
  const items = await eventObjects(context.table, look, project.id, rows);
  return cursorPage(paging, { items, next, previous: undefined }, (item) => item);
});
