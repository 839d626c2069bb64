import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { listIngestionWarnings } from '../../lib/reading/ingestion/routes.ts';
import { warningsOf } from '../../lib/reading/ingestion/store.ts';

export const handler = endpoint(listIngestionWarnings, ({ tenant }, context) =>
  warningsOf(context, placeIn(tenant).project.id),
);
