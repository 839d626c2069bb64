import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';
import { fail } from '../../lib/ports/errors.ts';
import { destroyPerson } from '../../lib/reading/persons/routes.ts';
import { newestPersons } from '../../lib/reading/persons/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(destroyPerson, async ({ tenant, params: { id }, query, activityOps }, context) => {
  const place = placeIn(tenant);
  const { rows } = await newestPersons(lookFor(context, place), { id }, 1);
  const [found] = rows;
  const [distinctId] = found?.distinct_ids ?? [];
  if (found === undefined || distinctId === undefined) return fail('not_found');
  const person = { id: found.person_id, version: Number(found.version) };
  const withEvents = query.delete_events === true;
  const telling = activityOps({ scope: 'Person', id, name: null, activity: 'deleted' });
  const became = await context.personRemoval.remove(
    { projectId: place.project.id, persons: [{ distinctId, person, withEvents, telling }] },
    place.organization.id,
    context.callerUser,
  );
  return became === 'asked' ? new Answer(undefined, { isAccepted: true }) : undefined;
});
