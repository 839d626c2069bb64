import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { retrieveIngestionNumbers } from '../../lib/reading/ingestion/routes.ts';
import { minutesOf } from '../../lib/reading/ingestion/store.ts';

/** When nobody says how many. */
const MINUTES = 60;

export const handler = endpoint(
  retrieveIngestionNumbers,
  async ({ tenant, query: { minutes = MINUTES } }, context) => ({
    results: await minutesOf(context, placeIn(tenant).project.id, minutes),
  }),
);
