import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { listEventDefinitions } from '../../lib/reading/definitions/routes.ts';
import { namesBetweenCommas, namesInJson, namesSeen } from '../../lib/reading/definitions/store.ts';
import { lookFor } from '../../lib/reading/waiting.ts';

const IS_CORE = { event: undefined, event_custom: false, event_posthog: true } as const;

export const handler = endpoint(listEventDefinitions, ({ tenant, query, paging }, context) => {
  const { search, names, excluded_properties, event_type = 'event', ordering } = query;
  return namesSeen(context, lookFor(context, placeIn(tenant)), {
    of: 'event',
    search,
    among: namesBetweenCommas(names),
    except: namesInJson('excluded_properties', excluded_properties),
    isCore: IS_CORE[event_type],
    order: ordering,
    paging,
  });
});
