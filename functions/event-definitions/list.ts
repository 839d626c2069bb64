import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { listEventDefinitions } from '../../lib/reading/definitions/routes.ts';
import { namesSeen } from '../../lib/reading/definitions/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(listEventDefinitions, ({ tenant, query: { search }, paging }, context) => {
  const { organization, project } = placeIn(tenant);
  return namesSeen(context, lookFor(context, organization.id), project.id, { of: 'event', search, paging });
});
