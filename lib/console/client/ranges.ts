/** The dates of a whole dashboard, and the days that have events. */
import { useQuery } from '@tanstack/react-query';
import { whenAnswered } from './answers.ts';
import { answered, api } from './api.ts';

/** Dates as filters of a dashboard say them; null: those that each insight has. */
export interface DateRange {
  readonly date_from: string | null;
  readonly date_to: string | null;
}

export const BOARD_RANGES = [
  { value: 'dStart', label: 'Today' },
  { value: '-7d', label: 'The last 7 days' },
  { value: '-14d', label: 'The last 14 days' },
  { value: '-30d', label: 'The last 30 days' },
  { value: '-90d', label: 'The last 90 days' },
  { value: '-180d', label: 'The last 180 days' },
  { value: 'yStart', label: 'This year' },
  { value: 'all', label: 'Ever' },
] as const;

const DAY = /^\d{4}-\d\d-\d\d$/;
const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

const isDay = (day: string | null): day is string => day !== null && DAY.test(day) && !Number.isNaN(Date.parse(day));

/** Returns the days of a range as fields take them; empty where it does not name one. */
export const daysOf = ({ date_from: from, date_to: to }: DateRange) => ({
  from: isDay(from) ? from : '',
  to: isDay(to) ? to : '',
});

/** Returns a range as people say it; what is no day stays as it is. */
export function rangeText({ date_from: from, date_to: to }: DateRange): string {
  const known = BOARD_RANGES.find(({ value }) => value === from);
  if (known !== undefined && to === null) return known.label;
  const [first, last] = [from ?? 'the beginning', to ?? 'now'].map((day) =>
    isDay(day) ? date.format(new Date(day)) : day,
  );
  return first === last ? String(first) : `${first} to ${last}`;
}

/** A range of days with events has so many at most, the last ones, as on shared pages. */
const MAX_DAYS = 90;

const DAYS = `SELECT toString(toDate(greatest(min(timestamp), max(timestamp) - INTERVAL ${MAX_DAYS - 1} DAY))) AS first,
  toString(toDate(max(timestamp))) AS last, count() AS events FROM events`;

/** Returns the last days that have events, in the project's zone; null: there is no event. */
export function useDataRange(project: string) {
  return useQuery({
    queryKey: ['data-range', project],
    retry: false,
    queryFn: async (): Promise<DateRange | null> => {
      const answer = await answered(
        api.POST('/api/projects/{project_id}/query/', {
          params: { path: { project_id: project } },
          body: { query: { kind: 'HogQLQuery', query: DAYS }, refresh: 'blocking' },
        }),
      );
      const { results } = await whenAnswered(project, answer.results, answer);
      const [[from, to, events] = []] = results as [string, string, number][];
      return from === undefined || to === undefined || events === 0 ? null : { date_from: from, date_to: to };
    },
  });
}
