import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { listPropertyDefinitions } from '../../lib/reading/definitions/routes.ts';
import { namesBetweenCommas, namesInJson, namesSeen } from '../../lib/reading/definitions/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

export const handler = endpoint(listPropertyDefinitions, ({ tenant, query, paging }, context) => {
  const { search, type = 'event', filter_by_event_names, exclude_core_properties, is_feature_flag } = query;
  const events = namesInJson('event_names', query.event_names);
  return namesSeen(context, lookFor(context, placeIn(tenant)), {
    of: type === 'person' ? 'person' : 'property',
    search,
    events: filter_by_event_names === true ? events : undefined,
    isCore: exclude_core_properties === true ? false : undefined,
    isFlag: is_feature_flag,
    among: namesBetweenCommas(query.properties),
    except: namesInJson('excluded_properties', query.excluded_properties),
    paging,
  });
});
