import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { deletionsOf, namedPersons } from '../../lib/reading/persons/deletion.ts';
import { destroyPersons } from '../../lib/reading/persons/routes.ts';
import { personsBy } from '../../lib/reading/persons/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(destroyPersons, async ({ tenant, body, activityOps }, context) => {
  const place = placeIn(tenant);
  const named = namedPersons(body);
  const withEvents = body.delete_events === true;
  const found = await personsBy(lookFor(context, place), named);
  const persons = deletionsOf(found, named.distinctIds, withEvents, activityOps);
  const deletion = { projectId: place.project.id, persons };
  const { personRemoval, callerUser } = context;
  const became =
    persons.length === 0 ? 'deleted' : await personRemoval.remove(deletion, place.organization.id, callerUser);
  return {
    persons_found: found.length,
    persons_deleted: became === 'deleted' ? found.length : 0,
    persons_queued_for_deletion: became === 'asked' ? found.length : 0,
    events_queued_for_deletion: withEvents && persons.length > 0,
    recordings_queued_for_deletion: body.delete_recordings === true && persons.length > 0,
    deletion_errors: [],
  };
});
