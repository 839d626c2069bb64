import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { fail } from '../../lib/ports/errors.ts';
import { retrieveEvent } from '../../lib/reading/events/routes.ts';
import { eventObjects, newestEvents } from '../../lib/reading/events/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(retrieveEvent, async ({ tenant, params: { id } }, context) => {
  const { organization, project } = placeIn(tenant);
  const look = lookFor(context, organization.id);
  const { rows } = await newestEvents(context.table, look, project.id, { uuid: id }, 1);
  const [event] = await eventObjects(context.table, look, project.id, rows);
  return event ?? fail('not_found');
});
