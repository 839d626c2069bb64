/**
 * The checked tree: what a query or a filter means, with every name resolved, every conversion explicit and every type
 * known. Both printers print it, and nothing else; it is plain JSON, kept in the frozen plans of runs.
 */

/**
 * The type of a value. Instants and dates are microseconds since 1970 UTC in a 64-bit integer (a date: its midnight),
 * so that most of the arithmetic with them is the same text in every dialect. `json` is JSON text. Lists have elements of
 * one type. A tuple is written with the types of its parts, which are no tuples: `tuple(text,integers)`; a list of such
 * `tuples(text,integers)`.
 */
export type Type = Scalar | List | Tuple;
export type Scalar = 'text' | 'json' | 'integer' | 'float' | 'boolean' | 'instant' | 'date';
export type List = 'texts' | 'integers' | 'floats' | 'booleans' | 'instants' | 'dates' | `tuples(${string})`;
export type Tuple = `tuple(${string})`;

/** The types of the elements of lists of other values than tuples. */
const ELEMENTS: Readonly<Record<Exclude<List, `tuples(${string})`>, Scalar>> = {
  texts: 'text',
  integers: 'integer',
  floats: 'float',
  booleans: 'boolean',
  instants: 'instant',
  dates: 'date',
};

export const isTuple = (type: Type): type is Tuple => type.startsWith('tuple(');
const isOfTuples = (type: Type): type is `tuples(${string})` => type.startsWith('tuples(');
export const isList = (type: Type): type is List => Object.hasOwn(ELEMENTS, type) || isOfTuples(type);

/** The type of the elements of a list. */
export const elementType = (list: List): Scalar | Tuple =>
  isOfTuples(list) ? (list.replace('tuples', 'tuple') as Tuple) : ELEMENTS[list];

/** The list whose elements have this type; undefined: there is none. */
export function listOf(type: Type): List | undefined {
  if (isTuple(type)) return type.replace('tuple', 'tuples') as List;
  return (Object.keys(ELEMENTS) as (keyof typeof ELEMENTS)[]).find((list) => ELEMENTS[list] === type);
}

/** The type of a tuple of these parts. */
export const tupleType = (parts: readonly Type[]): Tuple => `tuple(${parts.join(',')})`;

/** The types of the parts of a tuple. */
export const partTypes = (tuple: Tuple): (Scalar | List)[] =>
  tuple.slice('tuple('.length, -1).split(',') as (Scalar | List)[];

/** A field that a query may name: the column that holds it, and its type. */
export interface QueryField {
  readonly column: string;
  readonly type: Type;
  /** Whether it is a uuid in small letters, which is the same in any letter case. */
  readonly uuid?: boolean;
  /** Which of the relations of a SELECT the column is of; absent: there is one. */
  readonly relation?: string;
}

/** The table that queries select from, by HogQL's names of its fields. Whoever has a query checked hands one. */
export type QueryTable = ReadonlyMap<string, QueryField>;

/** The way into a JSON document: names of keys, and places in arrays counted from 0. */
export type Path = readonly (string | number)[];

export type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';

/** Widths of what `truncate` cuts to, beyond the units: a week from Sunday is `week`, from Monday `monday`. */
export type Step = Unit | 'monday' | 'five_minutes' | 'ten_minutes' | 'fifteen_minutes';

export type Part = Exclude<Unit, 'day' | 'week'> | 'day_of_month' | 'day_of_week' | 'day_of_year' | 'iso_week';

/**
 * What an operator is told beside its arguments: always the query's own constants, checked when the query is.
 * `pattern` is in the syntax that RE2 and Java share, `like` is escaped by `\`, `format` has the codes of `FormatCode`.
 */
export interface Parameters {
  readonly path?: Path;
  readonly pattern?: string;
  /** The fewest characters that the pattern matches. */
  readonly least?: number;
  /** The group of the pattern that is taken; 0 is all of it. */
  readonly group?: number;
  /** Pieces of a replacement: text, and numbers of groups. */
  readonly replacement?: readonly (string | number)[];
  readonly like?: string;
  readonly text?: string;
  readonly side?: 'both' | 'left' | 'right';
  readonly unit?: Unit;
  readonly step?: Step;
  readonly part?: Part;
  readonly format?: readonly FormatPiece[];
  readonly zone?: string;
  /** Of the two instants at which a clock shows a time twice, the first. */
  readonly first?: boolean;
  readonly digits?: number;
  /** A place in a tuple, from 1. */
  readonly place?: number;
  /** A query of one column, whose values are looked through. */
  readonly query?: Query;
}

/** A piece of a date's format: text as it is, or a code. */
export type FormatPiece = { readonly text: string } | { readonly code: FormatCode };

export type FormatCode = 'Y' | 'y' | 'm' | 'd' | 'H' | 'I' | 'i' | 'S' | 'p' | 'j' | 'a' | 'b' | 'M' | 'W';

/**
 * What each operator takes and gives. `any` is one type, the same for all of them, which the result has too where it
 * says `any`. The printers of both dialects have an entry for each, so no query can be checked and then not be run.
 */
export const OPERATORS = {
  // Logic. `if` is cond, value, cond, value ..., value; comparisons are never null.
  and: { takes: ['boolean', 'boolean'], more: 'boolean', gives: 'boolean' },
  or: { takes: ['boolean', 'boolean'], more: 'boolean', gives: 'boolean' },
  not: { takes: ['boolean'], gives: 'boolean' },
  if: { takes: ['boolean', 'any', 'any'], gives: 'any' },
  coalesce: { takes: ['any', 'any'], more: 'any', gives: 'any' },
  is_null: { takes: ['any'], gives: 'boolean' },
  equal: { takes: ['any', 'any'], gives: 'boolean' },
  // Null where one side is.
  same: { takes: ['any', 'any'], gives: 'boolean' },
  between: { takes: ['any', 'any', 'any'], gives: 'boolean' },
  less: { takes: ['any', 'any'], gives: 'boolean' },
  less_or_equal: { takes: ['any', 'any'], gives: 'boolean' },
  in: { takes: ['any', 'any'], more: 'any', gives: 'boolean' },
  in_query: { takes: ['any'], with: ['query'], gives: 'boolean' },
  least: { takes: ['any', 'any'], more: 'any', gives: 'any' },
  greatest: { takes: ['any', 'any'], more: 'any', gives: 'any' },

  // Numbers. Overflow, and division by zero, give null.
  add: { takes: ['integer', 'integer'], gives: 'integer' },
  subtract: { takes: ['integer', 'integer'], gives: 'integer' },
  multiply: { takes: ['integer', 'integer'], gives: 'integer' },
  divide_whole: { takes: ['integer', 'integer'], gives: 'integer' },
  modulo: { takes: ['integer', 'integer'], gives: 'integer' },
  abs: { takes: ['integer'], gives: 'integer' },
  add_float: { takes: ['float', 'float'], gives: 'float' },
  subtract_float: { takes: ['float', 'float'], gives: 'float' },
  multiply_float: { takes: ['float', 'float'], gives: 'float' },
  divide: { takes: ['float', 'float'], gives: 'float' },
  modulo_float: { takes: ['float', 'float'], gives: 'float' },
  abs_float: { takes: ['float'], gives: 'float' },
  floor: { takes: ['float'], gives: 'float' },
  ceil: { takes: ['float'], gives: 'float' },
  // Null where they are infinite or no number.
  sqrt: { takes: ['float'], gives: 'float' },
  log: { takes: ['float'], gives: 'float' },
  log2: { takes: ['float'], gives: 'float' },
  log10: { takes: ['float'], gives: 'float' },
  exp: { takes: ['float'], gives: 'float' },
  power: { takes: ['float', 'float'], gives: 'float' },
  round: { takes: ['float'], with: ['digits'], gives: 'float' },
  // Null for what is infinite or no number.
  finite: { takes: ['float'], gives: 'float' },

  // Conversions. What cannot be converted exactly is null.
  integer_of_text: { takes: ['text'], gives: 'integer' },
  truncated_float: { takes: ['float'], gives: 'integer' },
  integer_of_float: { takes: ['float'], gives: 'integer' },
  integer_of_boolean: { takes: ['boolean'], gives: 'integer' },
  float_of_text: { takes: ['text'], gives: 'float' },
  float_of_integer: { takes: ['integer'], gives: 'float' },
  boolean_of_text: { takes: ['text'], gives: 'boolean' },
  boolean_of_integer: { takes: ['integer'], gives: 'boolean' },
  boolean_of_float: { takes: ['float'], gives: 'boolean' },
  uuid_of_text: { takes: ['text'], gives: 'text' },
  // ISO 8601; or a number since 1970, of seconds, or with 13 digits of milliseconds, with 16 of microseconds.
  instant_of_text: { takes: ['text'], gives: 'instant' },
  instant_of_float: { takes: ['float'], gives: 'instant' },
  instant_of_date: { takes: ['date'], gives: 'instant' },
  instant_of_milliseconds: { takes: ['integer'], gives: 'instant' },
  instant_of_microseconds: { takes: ['integer'], gives: 'instant' },
  instant_of_seconds: { takes: ['integer'], gives: 'instant' },
  date_of_instant: { takes: ['instant'], gives: 'date' },
  text_of_json: { takes: ['json'], gives: 'text' },
  text_of_integer: { takes: ['integer'], gives: 'text' },
  text_of_float: { takes: ['float'], gives: 'text' },
  text_of_boolean: { takes: ['boolean'], gives: 'text' },
  text_of_instant: { takes: ['instant'], gives: 'text' },
  text_of_date: { takes: ['date'], gives: 'text' },

  // Text. What is looked for in nothing is neither there nor not there: null. `concat` leaves out what is missing.
  concat: { takes: ['text', 'text'], more: 'text', gives: 'text' },
  lower: { takes: ['text'], gives: 'text' },
  upper: { takes: ['text'], gives: 'text' },
  trim: { takes: ['text'], with: ['side'], gives: 'text' },
  length: { takes: ['text'], gives: 'integer' },
  bytes: { takes: ['text'], gives: 'integer' },
  substring: { takes: ['text', 'integer', 'integer'], gives: 'text' },
  substring_from: { takes: ['text', 'integer'], gives: 'text' },
  replace: { takes: ['text', 'text'], with: ['text'], gives: 'text' },
  replace_pattern: { takes: ['text'], with: ['pattern', 'replacement'], gives: 'text' },
  replace_pattern_once: { takes: ['text'], with: ['pattern', 'replacement'], gives: 'text' },
  matches: { takes: ['text'], with: ['pattern'], gives: 'boolean' },
  extract: { takes: ['text'], with: ['pattern', 'group'], gives: 'text' },
  like: { takes: ['text'], with: ['like'], gives: 'boolean' },
  position: { takes: ['text', 'text'], gives: 'integer' },
  starts_with: { takes: ['text', 'text'], gives: 'boolean' },
  ends_with: { takes: ['text', 'text'], gives: 'boolean' },

  // Lists. `map` and `filter` take an expression over an element, in which the element is a variable.
  split: { takes: ['text'], with: ['text'], gives: 'texts' },
  join: { takes: ['texts'], with: ['text'], gives: 'text' },
  list: { takes: [], more: 'element', gives: 'list' },
  element: { takes: ['list', 'integer'], gives: 'element' },
  has: { takes: ['list', 'element'], gives: 'boolean' },
  // A missing element is one that the other list may have, too.
  has_any: { takes: ['list', 'list'], gives: 'boolean' },
  has_all: { takes: ['list', 'list'], gives: 'boolean' },
  list_length: { takes: ['list'], gives: 'integer' },
  map: { takes: ['list'], each: 'element', gives: 'list' },
  filter: { takes: ['list'], each: 'boolean', gives: 'list' },
  // Upward; what is missing comes last.
  sort: { takes: ['list'], gives: 'list' },
  reverse: { takes: ['list'], gives: 'list' },
  // Each element that is there, where it comes first.
  distinct: { takes: ['list'], gives: 'list' },
  // How many differ, what is missing being one.
  list_uniq: { takes: ['list'], gives: 'integer' },
  // Of no elements 0; without those that are missing.
  list_sum: { takes: ['integers'], gives: 'integer' },
  list_sum_float: { takes: ['floats'], gives: 'float' },
  // Integers from the first to before the second, at most 10,000 of them.
  range: { takes: ['integer', 'integer'], gives: 'integers' },

  // Tuples.
  tuple: { takes: [], more: 'part', gives: 'tuple' },
  tuple_part: { takes: ['tuple'], with: ['place'], gives: 'part' },

  // JSON text. What is not JSON has no properties.
  // As it is written in the document, without the quotes around a text.
  property: { takes: ['json'], with: ['path'], gives: 'text' },
  // A text as it is; anything else as it is written.
  property_value: { takes: ['json'], with: ['path'], gives: 'text' },
  json_raw: { takes: ['json'], with: ['path'], gives: 'json' },
  json_scalar: { takes: ['json'], with: ['path'], gives: 'text' },
  json_has: { takes: ['json'], with: ['path'], gives: 'boolean' },
  json_length: { takes: ['json'], with: ['path'], gives: 'integer' },
  json_elements: { takes: ['json'], with: ['path'], gives: 'texts' },
  // The elements of an array as `property_value` gives each; of null an empty text.
  json_texts: { takes: ['json'], with: ['path'], gives: 'texts' },
  json_keys: { takes: ['json'], with: ['path'], gives: 'texts' },
  json_of_text: { takes: ['text'], gives: 'json' },

  // Time, in UTC. `local` moves an instant so that its UTC clock shows the zone's, `from_local` back:
  // to the first of two midnights, and of other times that a clock shows twice to the one that engines take, unless told.
  truncate: { takes: ['instant'], with: ['step'], gives: 'instant' },
  part: { takes: ['instant'], with: ['part'], gives: 'integer' },
  // How many of the unit lie between 1970 and the instant.
  count_units: { takes: ['instant'], with: ['unit'], gives: 'integer' },
  // So many microseconds before.
  earlier: { takes: ['instant', 'integer'], gives: 'instant' },
  add_units: { takes: ['instant', 'integer'], with: ['unit'], gives: 'instant' },
  seconds: { takes: ['instant'], gives: 'integer' },
  milliseconds: { takes: ['instant'], gives: 'integer' },
  microseconds: { takes: ['instant'], gives: 'integer' },
  format: { takes: ['instant'], with: ['format'], gives: 'text' },
  local: { takes: ['instant'], with: ['zone'], gives: 'instant' },
  from_local: { takes: ['instant'], with: ['zone'], gives: 'instant' },
} as const satisfies Readonly<Record<string, Signature>>;

/** `list` is a list of any type, and `element` the type of its elements; so are `tuple` and `part`. */
export type Taken = Type | 'any' | 'list' | 'element' | 'tuple' | 'part';

export interface Signature {
  readonly takes: readonly Taken[];
  /** It takes any number of these, after the others. */
  readonly more?: Taken;
  readonly with?: readonly (keyof Parameters)[];
  /** The type of its expression over an element. */
  readonly each?: Taken;
  readonly gives: Taken;
}

export type Operator = keyof typeof OPERATORS;

export type Expression =
  | QueryField
  /** A value of the query's own; integers as decimal text, so that none loses a digit. */
  | { readonly constant: string | number | boolean | null; readonly type: Type }
  /** The end of the row's data interval: what `now()` is, so that every run of an interval gives the same bytes. */
  | { readonly now: true; readonly type: 'instant' }
  /** The element of the list that `map` or `filter` goes through: the `variable`-th of them, counted from outside. */
  | { readonly variable: number; readonly type: Scalar | Tuple }
  | {
      readonly operator: Operator;
      readonly of: readonly Expression[];
      readonly with?: Parameters;
      readonly each?: Expression;
      readonly type: Type;
    };

/** Returns the expressions that an expression is made of: of a column and a constant none. */
export function operandsOf(expression: Expression): readonly Expression[] {
  if (!('operator' in expression)) return [];
  return expression.each === undefined ? expression.of : [...expression.of, expression.each];
}

/** Returns the fields that expressions read, each node once; not those of queries in them. */
export function fieldsIn(expressions: readonly (Expression | undefined)[]): QueryField[] {
  const seen = new Set<Expression>();
  const walk = (one: Expression | undefined): void => {
    if (one === undefined || seen.has(one)) return;
    seen.add(one);
    operandsOf(one).forEach(walk);
  };
  expressions.forEach(walk);
  return [...seen].filter((one) => 'column' in one);
}

/** The default columns of the destination, where a query says `*`. */
export const ALL = { all: true } as const;

/** What a query has in its list. */
export type QueryColumn = Selected | typeof ALL;

/** A date is delivered as text, and of lists those of texts. */
type Delivered = Exclude<Scalar, 'date'> | 'texts';

/** A column that a query asks for: `expression` is of type `type`, which is none that is not delivered. */
export interface Selected {
  readonly name: string;
  readonly type: Delivered;
  readonly expression: Expression;
}

/*
 * The tree of a whole SELECT: relations with names of their own, columns by place, every expression checked.
 */

/** Where rows come from. Its columns are known by `as` and their own name. */
export type Source =
  /** A table of whoever has the query checked. */
  | { readonly table: string; readonly as: string }
  /** A query; its columns are `c0`, `c1` … */
  | { readonly query: Query; readonly as: string }
  /** An entry of `with` of the whole query, by its name there. */
  | { readonly named: string; readonly as: string };

export interface Join {
  readonly kind: 'inner' | 'left' | 'cross';
  readonly source: Source;
  /** Only what is true counts; here null equals nothing. Absent where the kind is `cross`. */
  readonly on?: Expression;
}

export type AggregateName =
  | 'count'
  | 'count_distinct'
  | 'sum'
  | 'sum_float'
  | 'avg'
  | 'avg_float'
  | 'min'
  | 'max'
  | 'any'
  | 'any_last'
  | 'arg_min'
  | 'arg_max'
  | 'quantile'
  | 'stddev_pop'
  | 'stddev_samp'
  | 'var_pop'
  | 'var_samp'
  | 'list'
  | 'list_distinct';

/** What rows come to together. What is missing does not count. */
export interface Aggregate {
  readonly aggregate: AggregateName;
  readonly of: readonly Expression[];
  /** The rows that count; absent: all. */
  readonly where?: Expression;
  /** From 0 to 1, for `quantile`; for lists how many elements they have at most, absent: all. */
  readonly at?: number;
  /** Whether it is 0 of no rows, for sums of what cannot be missing; absent: null. */
  readonly orZero?: true;
  /** The place of a row, for `list`: values are in that order; absent: in any. */
  readonly by?: Expression;
  readonly type: Type;
}

export type WindowName = 'row_number' | 'rank' | 'dense_rank' | 'lag' | 'lead' | 'first_value' | 'last_value';

/** What a row has of the rows around it. */
export interface Window {
  readonly window: WindowName | Aggregate['aggregate'];
  readonly of: readonly Expression[];
  /** Of `quantile` and of lists, as of an aggregate. */
  readonly at?: number;
  /** Of sums, as of an aggregate; a second argument is null in rows that do not count. */
  readonly orZero?: true;
  readonly partition: readonly Expression[];
  readonly order: readonly Order[];
  readonly frame?: Frame;
  readonly type: Type;
}

export interface Frame {
  readonly by: 'rows' | 'range';
  readonly from: Bound;
  readonly to: Bound;
}
/** Before the row where negative, after it where positive; `first` and `last` are the ends of the partition. */
export type Bound = 'first' | 'last' | number;

/** What is missing comes last, whichever way. */
export interface Order {
  readonly expression: Expression;
  readonly down: boolean;
  /** The column of the SELECT, from 0, that it is; absent: it is none, or stands in a window. */
  readonly column?: number;
}

export interface Column {
  readonly name: string;
  readonly type: Type;
  /** What ClickHouse calls the type. */
  readonly clickhouse: string;
  readonly expression: Expression;
}

/**
 * The parts are taken in this order: sources, list, condition, groups, condition of groups, windows, columns. Each part
 * reads columns of the relations before it.
 */
export interface Select {
  /** Absent: one row of nothing. */
  readonly from?: Source;
  readonly joins: readonly Join[];
  /** A list that each row is repeated for, once with each element: the column `c0` of the relation. */
  readonly unnest?: { readonly list: Expression; readonly as: string };
  readonly where?: Expression;
  /** A row for each combination of keys, which are its columns `k0`, `k1` …; aggregates are `a0`, `a1` … */
  readonly group?: {
    readonly keys: readonly Expression[];
    readonly aggregates: readonly Aggregate[];
    readonly as: string;
    /** Queries of one row, which stands beside each group. */
    readonly joins: readonly Join[];
  };
  readonly having?: Expression;
  /** Each is a column `w0`, `w1` … of the relation. */
  readonly windows?: { readonly all: readonly Window[]; readonly as: string };
  readonly columns: readonly Column[];
  readonly distinct: boolean;
  /** Where it is distinct, all of them are columns. */
  readonly order: readonly Order[];
  /** At most so many rows of those that are alike in the expressions. */
  readonly limitBy?: { readonly count: number; readonly offset: number; readonly of: readonly Expression[] };
  readonly limit?: number;
  readonly offset?: number;
}

/** Rows of queries behind one another, whose columns have the same types. */
interface Union {
  readonly union: readonly Query[];
  readonly limit?: number;
  readonly offset?: number;
}

export type Query = Select | Union;

/** A whole query, with the queries that it names, each of which may read those before it. */
export interface WholeQuery {
  readonly with: readonly { readonly name: string; readonly query: Query }[];
  readonly query: Query;
}
