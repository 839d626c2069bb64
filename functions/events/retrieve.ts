import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { fail } from '../../lib/ports/errors.ts';
import { retrieveEvent } from '../../lib/reading/events/routes.ts';
import { eventObjects, newestEvents } from '../../lib/reading/events/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(retrieveEvent, async ({ tenant, params: { id } }, context) => {
  const look = lookFor(context, placeIn(tenant));
  const { rows } = await newestEvents(look, { uuid: id }, 1);
  const [event] = await eventObjects(look, rows);
  return event ?? fail('not_found');
});
