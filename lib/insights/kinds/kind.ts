/** What a kind of query is made of: the part of an insight that knows its question, and no table, file or engine. */

import type * as z from 'zod';
import type { Filling } from '../../hogql/placeholders.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import type { KindName } from './traits.ts';

/**
 * A kind of query. A new kind is a file beside this one and a line in `kinds.ts`; CONTRIBUTING.md says what else it may have.
 *
 * @example
 * export const trends: Kind<TrendsQuery> = { name: 'TrendsQuery', schema: TrendsQuery, answer };
 */
export interface Kind<Query = unknown> {
  /** The value of `kind` in its JSON; its traits are in `traits.ts`. */
  readonly name: KindName;
  /** What a query of the kind may say. What is sent and not supported is refused by its name. */
  readonly schema: z.ZodType<Query>;
  /** Asks the world what it has to, and returns what the query answers. Throws a `Failure` (400) for what makes no sense. */
  answer(query: Query, world: World): Promise<Answer>;
  /**
   * Returns what selects the persons behind a number of the answer. Its rows have `actor_id`, each once, and may have
   * more. A kind that counts no persons has none.
   */
  actors?(query: Query, selection: ChosenNumber, world: World): Promise<Question>;
}

/** Which number of an answer is meant, as an ActorsQuery says it; what is absent is not chosen by. */
export interface ChosenNumber {
  /** A value of `days`; of stickiness, a number of intervals. */
  readonly day?: string | number | undefined;
  /** Which result of a lifecycle. */
  readonly status?: string | undefined;
  /** Which row of a retention, from 0. */
  readonly interval?: number | undefined;
  /** Which series, from 0. */
  readonly series?: number | undefined;
  readonly breakdown?: string | number | readonly (string | number)[] | undefined;
  /** Of a comparison: by default the current period. */
  readonly compare?: 'current' | 'previous' | undefined;
  /** How the number of intervals of a stickiness is compared with `day`. */
  readonly operator?: 'gte' | 'lte' | 'exact' | undefined;
  /** Of a funnel: the step that was reached, from 1; negative: the one that was not, by those who reached the one before. */
  readonly funnelStep?: number | undefined;
  readonly funnelStepBreakdown?: string | number | readonly (string | number)[] | undefined;
  /** Of a funnel's trend: the period of entering, and whether those are meant who did not convert. */
  readonly funnelTrendsEntrancePeriodStart?: string | undefined;
  readonly funnelTrendsDropOff?: boolean | undefined;
}

/** What a query is answered from, and when. */
export interface World {
  /** Now, in milliseconds since 1970: what relative dates are counted from. */
  readonly now: number;
  /** The project's zone, as IANA names it. */
  readonly timezone: string;
  /** The day that begins a week in the project: 0 is Sunday, 1 is Monday. */
  readonly weekStartDay: 0 | 1;
  /** The property filters of the project that a query adds by `filterTestAccounts`. */
  readonly testAccountFilters: readonly unknown[];
  /** Reads an expression of HogQL that a caller wrote. Throws a `Failure` (400) that names what is in the way. */
  expression(hogql: string): Promise<Syntax>;
  /** Checks a condition of events, and asks nothing. Throws a `Failure` (400) that names what is in the way. */
  check(condition: Syntax): Promise<void>;
  /**
   * Reads and checks a query, and asks nothing. Returns the names of the tables that it reads. Throws the `Refusal` of what is in
   * the way.
   */
  tables(question: Question): Promise<string[]>;
  /** Returns the rows of a query. Throws a `Failure` (400) that names what is in the way. */
  rows(question: Question): Promise<Rows>;
}

/** A query of HogQL. */
export interface Question {
  /**
   * HogQL, a constant of the program or what a caller wrote; `{name}` stands for an entry of `values`. Columns that the
   * program reads again have an alias.
   */
  readonly hogql: string;
  readonly values?: Readonly<Record<string, Filling>>;
  /**
   * The timestamps of the events that can matter, milliseconds since 1970, both inclusive; absent: those that the query's
   * own conditions need, and so where an expression of a caller's has a subquery. They decide which files are read, and how
   * long the answer is true.
   */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Its rows are few and short: numbers, and the values that they are told of. The world may give them all at once. */
  readonly isSmall?: boolean;
  /** It only helps to ask well, so it is not shown as the HogQL of an answer. */
  readonly isAside?: boolean;
  /**
   * How many rows are given of what a caller wrote: as many as its own LIMIT says, else `otherwise`, and never more than
   * `most`. Absent: all rows.
   */
  readonly limit?: { readonly otherwise: number; readonly most: number };
}

/** The rows that a query gives. */
export interface Rows {
  readonly columns: readonly string[];
  /** ClickHouse's names of the columns' types, as PostHog answers them: `Nullable(String)`, `UInt64`. */
  readonly types: readonly string[];
  /** The places, from 0, of columns that are called as they are computed, with all values in it. */
  readonly computed: readonly number[];
  /**
   * In the order of the columns. Integers and floats are numbers (integers beyond 2^53 are texts), times and dates are
   * milliseconds since 1970 with fractions to the microsecond, JSON is its text, lists are lists.
   */
  readonly rows: readonly (readonly unknown[])[];
  /** Where the question has a limit: what it is, and whether there are more rows. */
  readonly limit?: number;
  readonly hasMore?: boolean;
}

/** What is known of a query before it is asked, as PostHog tells it. */
export interface Metadata {
  readonly isValid: boolean;
  readonly query: string;
  readonly errors: Notice[];
  readonly warnings: Notice[];
  readonly notices: Notice[];
  readonly table_names: string[];
}

/** What is said of a part of a query, which is told in characters from 0, the end exclusive; null: it is not known. */
interface Notice {
  readonly message: string;
  readonly start: number | null;
  readonly end: number | null;
}

/** What a query answers: members of the answer of `POST /query/`, and of them `results` is the `result` of an insight. */
export interface Answer {
  readonly results: unknown;
  readonly columns?: readonly string[];
  readonly types?: readonly unknown[];
  /** The places, from 0, of columns whose names are for members alone: they say how they are computed. Not told by itself. */
  readonly computed?: readonly number[];
  readonly hasMore?: boolean;
  readonly limit?: number;
  readonly offset?: number;
  /** Of a kind that has no results: what it tells instead of them. */
  readonly metadata?: Metadata;
  /** The range that the query is about, where it has one: ISO 8601 in the project's zone. */
  readonly resolved_date_range?: { readonly date_from: string; readonly date_to: string };
}
