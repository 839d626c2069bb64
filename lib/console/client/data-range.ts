/** The days that have events. */
import { queryOptions } from '@tanstack/react-query';
import { askQuery } from './answers.ts';
import type { SentFilter } from './property-filters.ts';
import { type DateRange, firstDayAfter, lastDayBefore } from './ranges.ts';

/** A range of days with events has so many at most, the last ones, as on shared pages. */
const MAX_DAYS = 90;

const DAYS = `SELECT toString(toDate(greatest(min(timestamp), max(timestamp) - INTERVAL ${MAX_DAYS - 1} DAY))) AS first,
  toString(toDate(max(timestamp))) AS last, count() AS events FROM events WHERE {filters}`;

/** How the last days that have events are asked for, in the project's zone; null: there is no event. */
export const dataRange = (project: string) =>
  queryOptions({
    queryKey: ['data-range', project],
    retry: false,
    queryFn: () => lastDays(project, {}),
  });

/** What was asked, and found nothing. */
export interface Sought {
  /** The dates that are shown; undefined: those of each chart. */
  readonly shown: DateRange | undefined;
  /** The names of the events that may be found; of none, any. */
  readonly events: readonly string[];
  readonly properties: readonly SentFilter[];
}

/** Where events are that were sought and not found: at other days, or why there are none. */
export type Whereabouts =
  | { readonly is: 'elsewhere'; readonly range: DateRange }
  /** The project has no event, has none of these names, or none that passes. */
  | { readonly is: 'no events' | 'none named so' | 'none that passes' }
  /** They are in the dates that are shown: something else than the dates is in their way. */
  | { readonly is: 'here' };

/** How it is asked where events are that nobody sees in some dates. Those of before are told rather than those of after. */
export const whereabouts = (project: string, { shown, events, properties }: Sought) =>
  queryOptions({
    queryKey: ['whereabouts', project, shown, events, properties],
    retry: false,
    queryFn: async (): Promise<Whereabouts> => {
      const among = { events, properties };
      const isChosen = events.length > 0 || properties.length > 0;
      if (isChosen && shown !== undefined && (await lastDays(project, { ...among, dateRange: shown })) !== null)
        return { is: 'here' };
      const range = await otherDays(project, shown, among);
      if (range !== null) return { is: 'elsewhere', range };
      if ((await lastDays(project, among)) !== null) return { is: 'here' };
      if (properties.length > 0 && (await lastDays(project, { events })) !== null) return { is: 'none that passes' };
      return { is: events.length > 0 && (await lastDays(project, {})) !== null ? 'none named so' : 'no events' };
    },
  });

interface Among {
  readonly events?: readonly string[];
  readonly properties?: readonly SentFilter[];
  readonly dateRange?: Partial<DateRange>;
}

/** Returns the last days with events before some dates, else after them; of no dates, the last days. Null: there are none. */
async function otherDays(project: string, shown: DateRange | undefined, among: Among): Promise<DateRange | null> {
  if (shown === undefined) return lastDays(project, among);
  const before = lastDayBefore(shown);
  const earlier = before === undefined ? null : await lastDays(project, { ...among, dateRange: { date_to: before } });
  const after = earlier === null ? firstDayAfter(shown) : undefined;
  return after === undefined ? earlier : lastDays(project, { ...among, dateRange: { date_from: after } });
}

async function lastDays(
  project: string,
  { events = [], properties = [], dateRange = {} }: Among,
): Promise<DateRange | null> {
  const isNamed = events.length > 0;
  const { results } = await askQuery(project, {
    kind: 'HogQLQuery',
    query: isNamed ? `${DAYS} AND event IN {events}` : DAYS,
    filters: { dateRange, ...(properties.length === 0 ? {} : { properties: [...properties] }) },
    ...(isNamed ? { values: { events: [...events] } } : {}),
  });
  const [[from, to, count] = []] = results as [string, string, number][];
  return from === undefined || to === undefined || count === 0 ? null : { date_from: from, date_to: to };
}
