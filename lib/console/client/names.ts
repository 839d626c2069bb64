/** The names that properties have, and the values that they had lately: what forms complete. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { MINUTE_MS } from '../../basics/units.ts';
import { askQuery } from './answers.ts';
import { answered, api } from './api.ts';
import { dataRange } from './data-range.ts';
import { list } from './json.ts';
import type { PropertyType } from './property-filters.ts';

/** The service gives so many at once. */
const MOST_NAMES = 100;
const MOST_VALUES = 50;

/** Whose property it is. */
export type NamedType = Exclude<PropertyType, 'hogql'>;

function useNamesLike(project: string, type: NamedType, search: string, isAsked: boolean) {
  return useQuery({
    queryKey: ['property-names', project, type, search],
    enabled: isAsked,
    retry: false,
    staleTime: MINUTE_MS,
    placeholderData: keepPreviousData,
    queryFn: () =>
      answered(
        api.GET('/api/projects/{project_id}/property_definitions/', {
          params: {
            path: { project_id: project },
            query: { type, limit: MOST_NAMES, ...(search === '' ? {} : { search }) },
          },
        }),
      ),
  });
}

/** Returns the names of properties with how often they are there. Where there are many, those that hold what was written. */
export function usePropertyNames(project: string, type: NamedType, search: string, isAsked: boolean) {
  const all = useNamesLike(project, type, '', isAsked).data;
  const areMore = all !== undefined && all.count > all.results.length;
  const found = useNamesLike(project, type, search, isAsked && areMore && search !== '').data;
  return ((areMore && search !== '' ? found : undefined) ?? all)?.results ?? [];
}

/** Values of a breakdown that are none: of events without the property, and of all others together. */
const NO_VALUE = '$$_posthog_breakdown_';

/** Returns the values that a property had in the last days that have events, the most frequent first. */
export function usePropertyValues(project: string, type: NamedType, property: string, isAsked: boolean) {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: ['property-values', project, type, property],
    enabled: isAsked && property !== '',
    retry: false,
    staleTime: MINUTE_MS,
    queryFn: async ({ signal }) => {
      const dateRange = await queries.ensureQueryData(dataRange(project));
      if (dateRange === null) return [];
      const { results } = await askQuery(
        project,
        {
          kind: 'TrendsQuery',
          dateRange,
          series: [{ kind: 'EventsNode', event: null }],
          breakdownFilter: { breakdown: property, breakdown_type: type, breakdown_limit: MOST_VALUES },
          trendsFilter: { display: 'ActionsTable' },
        },
        signal,
      );
      return list(results)
        .map((one) => String(one['breakdown_value']))
        .filter((value) => !value.startsWith(NO_VALUE));
    },
  });
  return data ?? [];
}
