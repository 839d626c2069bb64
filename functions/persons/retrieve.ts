import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { fail } from '../../lib/ports/errors.ts';
import { retrievePerson } from '../../lib/reading/persons/routes.ts';
import { newestPersons, personObject } from '../../lib/reading/persons/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(retrievePerson, async ({ tenant, params: { id } }, context) => {
  const { rows } = await newestPersons(lookFor(context, placeIn(tenant)), { id }, 1);
  const [person] = rows;
  return person === undefined ? fail('not_found') : personObject(person);
});
