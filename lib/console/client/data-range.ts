/** The days that have events. */
import { queryOptions } from '@tanstack/react-query';
import { whenAnswered } from './answers.ts';
import { answered, api } from './api.ts';
import { type DateRange, lastDayBefore } from './ranges.ts';

/** A range of days with events has so many at most, the last ones, as on shared pages. */
const MAX_DAYS = 90;

const DAYS = `SELECT toString(toDate(greatest(min(timestamp), max(timestamp) - INTERVAL ${MAX_DAYS - 1} DAY))) AS first,
  toString(toDate(max(timestamp))) AS last, count() AS events FROM events WHERE {filters}`;

/**
 * How the last days that have events are asked for, in the project's zone; null: there is no event. Where nothing was
 * found in a range that is `shown`, they are those before it, if there are any: later ones may have other events alone.
 */
export const dataRange = (project: string, shown?: DateRange) => {
  const before = shown === undefined ? undefined : lastDayBefore(shown);
  return queryOptions({
    queryKey: ['data-range', project, before],
    retry: false,
    queryFn: async () =>
      (before === undefined ? null : await lastDays(project, { date_to: before })) ?? (await lastDays(project, {})),
  });
};

async function lastDays(project: string, dateRange: { readonly date_to?: string }): Promise<DateRange | null> {
  const answer = await answered(
    api.POST('/api/projects/{project_id}/query/', {
      params: { path: { project_id: project } },
      body: { query: { kind: 'HogQLQuery', query: DAYS, filters: { dateRange } }, refresh: 'blocking' },
    }),
  );
  const { results } = await whenAnswered(project, answer.results, answer);
  const [[from, to, events] = []] = results as [string, string, number][];
  return from === undefined || to === undefined || events === 0 ? null : { date_from: from, date_to: to };
}
