/** What happened in a project, and who did it. */
import { useQuery } from '@tanstack/react-query';
import { MINUTE_MS } from '../../basics/units.ts';
import { answered, api, type Schemas } from './api.ts';
import { usePaged } from './paged.ts';

export type AnalyticsEvent = Schemas['Event'];

const PAGE = 50;
const DEFINITIONS = 100;

interface EventFilter {
  readonly event?: string;
  readonly distinct_id?: string;
  readonly person_id?: string;
  /** A property and what it must be. */
  readonly property?: string;
  readonly value?: string;
  /** Only those that happened before it: ISO 8601. */
  readonly before?: string;
}

const propertyFilter = (key: string, value: string): string =>
  JSON.stringify([{ key, value, operator: 'exact', type: 'event' }]);

/** Returns the newest events, page by page; while `follow`, new ones come by themselves. */
export function useEvents(project: string, filter: EventFilter, follow: boolean) {
  const { property = '', value = '', ...rest } = filter;
  const properties = property === '' || value === '' ? undefined : propertyFilter(property, value);
  const filters = { ...rest, properties };
  const query = { limit: PAGE, ...filters };
  return usePaged({
    key: ['events', project, query],
    isLive: () => follow,
    // The very first event is sent with an eye on the page; what passes a filter may be a long search.
    isAwaited: Object.values(filters).every((one) => one === undefined),
    read: (cursor) =>
      answered(
        api.GET('/api/projects/{project_id}/events/', {
          params: { path: { project_id: project }, query: { ...query, ...cursor } },
        }),
      ),
  });
}

const HOUR_MINUTES = 60;
const DAY_HOURS = 24;

/** Returns how many events have arrived in each hour of the last 24, the latest last; asked again each minute. */
export function useHourlyArrivals(project: string) {
  return useQuery({
    queryKey: ['hourly-arrivals', project],
    retry: false,
    refetchInterval: MINUTE_MS,
    queryFn: async (): Promise<readonly number[]> => {
      const { results } = await answered(
        api.GET('/api/projects/{project_id}/ingestion_numbers/', {
          params: { path: { project_id: project }, query: { minutes: DAY_HOURS * HOUR_MINUTES } },
        }),
      );
      const arrivals = results.toReversed().map(({ accepted }) => accepted);
      return Array.from({ length: DAY_HOURS }, (_, hour) =>
        arrivals.slice(hour * HOUR_MINUTES, (hour + 1) * HOUR_MINUTES).reduce((sum, one) => sum + one, 0),
      );
    },
  });
}

/** Returns the names of events that were seen lately; `anew`, as they are when it is mounted. */
export function useEventNames(project: string, { anew = false } = {}) {
  return useQuery({
    queryKey: ['event-names', project],
    retry: false,
    ...(anew ? { refetchOnMount: 'always' } : {}),
    queryFn: () =>
      answered(
        api.GET('/api/projects/{project_id}/event_definitions/', {
          params: { path: { project_id: project }, query: { limit: DEFINITIONS } },
        }),
      ),
  });
}

export function usePersons(project: string, search: string) {
  return usePaged({
    key: ['persons', project, search],
    read: (cursor) =>
      answered(
        api.GET('/api/projects/{project_id}/persons/', {
          params: {
            path: { project_id: project },
            query: { limit: PAGE, ...(search === '' ? {} : { search }), ...cursor },
          },
        }),
      ),
  });
}

/** Returns who has a distinct id now; undefined: nobody is known. */
export async function personOf(project: string, distinctId: string): Promise<Schemas['Person'] | undefined> {
  const { results } = await answered(
    api.GET('/api/projects/{project_id}/persons/', {
      params: { path: { project_id: project }, query: { distinct_id: distinctId, limit: 1 } },
    }),
  );
  return results[0];
}

export function usePerson(project: string, id: string) {
  return useQuery({
    queryKey: ['person', project, id],
    queryFn: () =>
      answered(api.GET('/api/projects/{project_id}/persons/{id}/', { params: { path: { project_id: project, id } } })),
  });
}
