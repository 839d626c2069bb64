import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { listPropertyDefinitions } from '../../lib/reading/definitions/routes.ts';
import { namesOfEvents, namesSeen } from '../../lib/reading/definitions/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(listPropertyDefinitions, ({ tenant, query, paging }, context) => {
  const { organization, project } = placeIn(tenant);
  const {
    search,
    type = 'event',
    event_names,
    filter_by_event_names,
    exclude_core_properties,
    is_feature_flag,
  } = query;
  const events = event_names === undefined ? undefined : namesOfEvents(event_names);
  return namesSeen(context, lookFor(context, organization.id), project.id, {
    of: type === 'person' ? 'person' : 'property',
    search,
    events: filter_by_event_names === true ? events : undefined,
    isCore: exclude_core_properties === true ? false : undefined,
    isFlag: is_feature_flag,
    paging,
  });
});
