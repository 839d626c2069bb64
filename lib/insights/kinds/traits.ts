/** What of a kind of query others have to know who do not answer it: who reads this carries no kind's code. */
interface Traits {
  /** Its rows are about single persons: nobody sees them by a link or in a mail. */
  readonly isAboutPersons: boolean;
  /** Its `interval` cuts the time, and so a dashboard may replace it. */
  readonly isByInterval: boolean;
  /** It may tell values apart, and so a dashboard may replace its breakdown. */
  readonly hasBreakdown: boolean;
  /**
   * Where it tells the time that it is about, by which it is known how long its answer is true, and where a dashboard puts
   * its own: in `dateRange`, in `after` and `before`, or in `filters`; or where the query in its `source` does, into which
   * a dashboard puts none.
   */
  readonly dates: DatesPlace;
}

export type DatesPlace = 'dateRange' | 'after-before' | 'filters' | 'source';

const COUNTS = { isAboutPersons: false, isByInterval: false, hasBreakdown: false };
const COUNTS_BY_INTERVAL = { ...COUNTS, isByInterval: true };
const ROWS_OF_PERSONS = { ...COUNTS, isAboutPersons: true };

const TRAITS = {
  ActorsQuery: { ...ROWS_OF_PERSONS, dates: 'source' },
  EventsQuery: { ...ROWS_OF_PERSONS, dates: 'after-before' },
  FunnelsQuery: { ...COUNTS_BY_INTERVAL, hasBreakdown: true, dates: 'dateRange' },
  HogQLMetadata: { ...COUNTS, dates: 'filters' },
  HogQLQuery: { ...COUNTS, dates: 'filters' },
  LifecycleQuery: { ...COUNTS_BY_INTERVAL, dates: 'dateRange' },
  PathsQuery: { ...COUNTS, dates: 'dateRange' },
  RetentionQuery: { ...COUNTS, hasBreakdown: true, dates: 'dateRange' },
  StickinessQuery: { ...COUNTS_BY_INTERVAL, dates: 'dateRange' },
  TrendsQuery: { ...COUNTS_BY_INTERVAL, hasBreakdown: true, dates: 'dateRange' },
} as const satisfies Readonly<Record<string, Traits>>;

/** The kinds of query that are answered, by the `kind` of their JSON. */
export type KindName = keyof typeof TRAITS;

const NO_KIND: Traits = { ...COUNTS, dates: 'dateRange' };

/** Returns whether queries of a kind are answered. */
export const isKind = (kind: unknown): kind is KindName => typeof kind === 'string' && Object.hasOwn(TRAITS, kind);

/** Returns the traits of a kind. What is no kind has no answer, and so nothing special. */
export const traitsOf = (kind: unknown): Traits => (isKind(kind) ? TRAITS[kind] : NO_KIND);
