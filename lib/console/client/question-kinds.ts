/** The kinds of questions, and what the form of each has. What it makes of a question is in `question-query.ts`. */

export const KINDS = [
  { value: 'TrendsQuery', label: 'Trend', about: 'how often, over time' },
  { value: 'FunnelsQuery', label: 'Funnel', about: 'how many go from step to step' },
  { value: 'RetentionQuery', label: 'Retention', about: 'how many come back' },
  { value: 'StickinessQuery', label: 'Stickiness', about: 'on how many days they do it' },
  { value: 'LifecycleQuery', label: 'Lifecycle', about: 'who is new, returning, resurrecting, dormant' },
  { value: 'PathsQuery', label: 'Paths', about: 'where they go from where' },
  { value: 'HogQLQuery', label: 'HogQL', about: 'a query of your own' },
] as const;

export type QuestionKind = (typeof KINDS)[number]['value'];

/** What the form of a kind of question has. */
interface KindTraits {
  /** Of so many series it is at the least; without `hasSeries` of just as many. */
  readonly least: number;
  /** Series are added and taken away, and have labels. */
  readonly hasSeries: boolean;
  /** Series count what is chosen, formulas are made of them, and they are drawn as chosen. Else persons are counted. */
  readonly hasNumbers: boolean;
  readonly hasInterval: boolean;
  readonly hasComparison: boolean;
  readonly hasBreakdown: boolean;
  readonly hasWindow: boolean;
  /** It begins at any event until somebody names one: that of another kind is not meant. */
  readonly beginsAnywhere: boolean;
  /** Without events of which of its series it is answered by nothing. */
  readonly needs: 'all' | 'first' | 'none';
  /** Maths of series that the service refuses rather than counts persons. */
  readonly refusedMaths: readonly string[];
  /** What a series is called, the one `at` that place, from 0. */
  readonly seriesLabel: (at: number) => string;
  /** What the button says that adds a series. */
  readonly adds: string;
}

const BARE: KindTraits = {
  least: 1,
  hasSeries: false,
  hasNumbers: false,
  hasInterval: false,
  hasComparison: false,
  hasBreakdown: false,
  hasWindow: false,
  beginsAnywhere: false,
  needs: 'all',
  refusedMaths: [],
  seriesLabel: (at) => `Event ${at + 1}`,
  adds: 'Add a series',
};

/** What the forms have, kind by kind. */
export const TRAITS: Readonly<Record<QuestionKind, KindTraits>> = {
  TrendsQuery: {
    ...BARE,
    hasSeries: true,
    hasNumbers: true,
    hasInterval: true,
    hasComparison: true,
    hasBreakdown: true,
  },
  FunnelsQuery: {
    ...BARE,
    least: 2,
    hasSeries: true,
    hasBreakdown: true,
    hasWindow: true,
    needs: 'first',
    refusedMaths: ['first_time_for_user', 'first_time_for_user_with_filters'],
    seriesLabel: (at) => `Step ${at + 1}`,
    adds: 'Add a step',
  },
  RetentionQuery: {
    ...BARE,
    least: 2,
    hasBreakdown: true,
    needs: 'first',
    seriesLabel: (at) => (at === 0 ? 'Who did' : 'Came back and did'),
  },
  StickinessQuery: {
    ...BARE,
    hasSeries: true,
    hasInterval: true,
    hasComparison: true,
    refusedMaths: ['hogql', 'unique_group'],
  },
  LifecycleQuery: { ...BARE, hasInterval: true, needs: 'first' },
  PathsQuery: {
    ...BARE,
    beginsAnywhere: true,
    // They begin at any of their steps, which need not be named as an event.
    needs: 'none',
    seriesLabel: () => 'Beginning at',
  },
  HogQLQuery: { ...BARE, needs: 'none' },
};
