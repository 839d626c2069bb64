/** What of a kind of query others have to know who do not answer it: who reads this carries no kind's code. */
interface Traits {
  /** Its rows are about single persons: nobody sees them by a link or in a mail. */
  readonly isAboutPersons: boolean;
  /** Its `interval` cuts the time, and so a dashboard may replace it. */
  readonly isByInterval: boolean;
}

const COUNTS: Traits = { isAboutPersons: false, isByInterval: false };
const COUNTS_BY_INTERVAL: Traits = { ...COUNTS, isByInterval: true };
const ROWS_OF_PERSONS: Traits = { ...COUNTS, isAboutPersons: true };

const TRAITS = {
  ActorsQuery: ROWS_OF_PERSONS,
  EventsQuery: ROWS_OF_PERSONS,
  FunnelsQuery: COUNTS_BY_INTERVAL,
  HogQLMetadata: COUNTS,
  HogQLQuery: COUNTS,
  LifecycleQuery: COUNTS_BY_INTERVAL,
  PathsQuery: COUNTS,
  RetentionQuery: COUNTS,
  StickinessQuery: COUNTS_BY_INTERVAL,
  TrendsQuery: COUNTS_BY_INTERVAL,
} as const satisfies Readonly<Record<string, Traits>>;

/** The kinds of query that are answered, by the `kind` of their JSON. */
export type KindName = keyof typeof TRAITS;

/** Returns the traits of a kind. What is no kind has no answer, and so none of them. */
export const traitsOf = (kind: unknown): Traits =>
  typeof kind === 'string' && Object.hasOwn(TRAITS, kind) ? TRAITS[kind as KindName] : COUNTS;
