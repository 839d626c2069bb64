/** Property filters, as PostHog's clients send them, to one condition of the checked tree. */

import { inQuotes } from '../../basics/text.ts';
import { anyOf, column, converted, operation, textConstant } from '../../hogql/build.ts';
import type { Expression, QueryTable } from '../../hogql/expression.ts';
import { like, matches } from '../../hogql/functions/texts.ts';
import { equal, less, lessOrEqual } from '../../hogql/functions/values.ts';
import type { Parser } from '../../hogql/parse.ts';
import { likeHolding, namesNumber, namesTime } from '../../hogql/patterns.ts';
import { refuse } from '../../hogql/refusal.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { checkedCondition } from './events-query.ts';

const TYPES = ['event', 'hogql', 'person'] as const;
const MAX_FILTERS = 100;
/** Each has to be parsed. */
const MAX_EXPRESSIONS = 20;
const MAX_VALUES = 1000;

/**
 * The condition over a table that all of the filters hold; null: there is none. `reader` is whose filters they are, in the
 * plural, for the texts of refusals.
 */
export async function filterCondition(
  parser: Parser,
  table: QueryTable,
  filters: unknown,
  reader: string,
): Promise<Expression | null> {
  if (filters === undefined || filters === null) return null;
  if (!Array.isArray(filters)) return refuse("'filters' should be an array of filters");
  if (filters.length > MAX_FILTERS) refuse(`There are more than ${MAX_FILTERS} filters`);
  const checked = filters.map(checkedFilter);
  const keys = checked.flatMap(({ type, key }) => (type === 'hogql' ? [key] : []));
  if (keys.length > MAX_EXPRESSIONS) refuse(`There are more than ${MAX_EXPRESSIONS} filters of type 'hogql'`);
  const parsed = keys.length === 0 ? [] : await parser.expressions(keys);
  let next = 0;
  const conditions = checked.map((filter) =>
    filter.type === 'hogql' ? checkedCondition(parsed[next++] as Syntax, table, reader) : conditionOf(table, filter),
  );
  return conditions.length > 1 ? operation('and', conditions) : (conditions[0] ?? null);
}

interface Filter {
  readonly type: (typeof TYPES)[number];
  /** Of a property; of type hogql, an expression. */
  readonly key: string;
  readonly operator: unknown;
  readonly value: unknown;
}

function checkedFilter(filter: unknown): Filter {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter))
    return refuse('Each filter must be an object');
  const { type, key, operator = 'exact', value } = filter as Readonly<Record<string, unknown>>;
  const known = TYPES.find((one) => one === type);
  if (known === undefined) return refuse(`Each filter must have a 'type' of one of: ${inQuotes(TYPES)}`);
  if (typeof key !== 'string' || key.trim() === '') return refuse("Each filter must have a 'key'");
  if (key.includes('\0') || !key.isWellFormed()) return refuse('Null characters are not allowed');
  return { type: known, key, operator, value };
}

function conditionOf(table: QueryTable, { type, key, operator, value }: Filter): Expression {
  if (typeof operator !== 'string' || !Object.hasOwn(OPERATORS, operator)) {
    return refuse(`Each filter must have an 'operator' of one of: ${inQuotes(FILTER_OPERATORS)}`);
  }
  const document = column(table, type === 'event' ? 'properties' : 'person_properties');
  const property = operation('property', [document], { path: [key] });
  return (OPERATORS[operator] as Compare)(property, value, operator);
}

type Compare = (property: Expression, value: unknown, operator: string) => Expression;

/** The values that a filter names, as texts. A number may be written in any way in the event: it is compared as one. */
type Scalar = string | number | boolean;

function scalars(value: unknown, operator: string): Scalar[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > MAX_VALUES)
    refuse(`The value of a filter '${operator}' must have 1 to ${MAX_VALUES} entries`);
  return list.map((one) => {
    if (typeof one === 'string' && (one.includes('\0') || !one.isWellFormed()))
      return refuse('Null characters are not allowed');
    if (typeof one === 'string' || typeof one === 'boolean' || (typeof one === 'number' && Number.isFinite(one)))
      return one;
    return refuse(`The value of a filter '${operator}' must be a text, a number or a boolean, or a list of them`);
  });
}

function only(value: unknown, operator: string): Scalar {
  const [first, ...rest] = scalars(value, operator);
  return first === undefined || rest.length > 0
    ? refuse(`The value of a filter '${operator}' must be one value`)
    : first;
}

const float = (value: number): Expression => ({ constant: String(value), type: 'float' });

const opposite =
  (compare: Compare): Compare =>
  (property, value, operator) =>
    operation('not', [compare(property, value, operator)]);

const exact: Compare = (property, value, operator) =>
  anyOf(
    scalars(value, operator).map((one) =>
      equal([property, typeof one === 'number' ? float(one) : textConstant(String(one))], operator),
    ),
  );
const holding: Compare = (property, value, operator) =>
  anyOf(
    scalars(value, operator).map((one) =>
      like(property, textConstant(likeHolding(String(one))), operator, { anyCase: true }),
    ),
  );
const matching: Compare = (property, value, operator) =>
  anyOf(scalars(value, operator).map((one) => matches(property, textConstant(String(one)), operator)));

/** The value to compare sizes with: a number where it is one, even as a text. */
function sized(value: Scalar): Expression {
  return typeof value === 'number' || (typeof value === 'string' && namesNumber(value))
    ? float(Number(value))
    : textConstant(String(value));
}
const greater: Compare = (property, value, operator) => less([sized(only(value, operator)), property], operator);
const smaller: Compare = (property, value, operator) => less([property, sized(only(value, operator))], operator);
const atLeast: Compare = (property, value, operator) => lessOrEqual([sized(only(value, operator)), property], operator);
const atMost: Compare = (property, value, operator) => lessOrEqual([property, sized(only(value, operator))], operator);

function range(value: unknown, operator: string): [Expression, Expression] {
  const [low, high, ...rest] = scalars(value, operator);
  if (low === undefined || high === undefined || rest.length > 0)
    return refuse(`The value of a filter '${operator}' must be a list of two values`);
  return [sized(low), sized(high)];
}
const between: Compare = (property, value, operator) => {
  const [low, high] = range(value, operator);
  return operation('and', [lessOrEqual([low, property], operator), lessOrEqual([property, high], operator)]);
};

function moment(value: unknown, operator: string): { at: Expression; isDay: boolean } {
  const one = only(value, operator);
  if (typeof one !== 'string' || !namesTime(one)) {
    return refuse(`The value of a filter '${operator}' must be a date such as 2026-11-21 or 2026-11-21T10:00:00Z`);
  }
  return { at: converted(textConstant(one), 'instant', operator), isDay: one.length === '2026-11-21'.length };
}
const isNull: Compare = (property) => operation('is_null', [property]);
const time = (property: Expression, operator: string): Expression => converted(property, 'instant', operator);
const day = (instant: Expression): Expression => operation('date_of_instant', [instant]);

/** By the names that clients send. What an event lacks is like nothing, and different from everything. */
const OPERATORS: Readonly<Record<string, Compare>> = {
  exact,
  is_not: opposite(exact),
  icontains: holding,
  not_icontains: opposite(holding),
  regex: matching,
  not_regex: opposite(matching),
  gt: greater,
  gte: atLeast,
  lt: smaller,
  lte: atMost,
  min: atLeast,
  max: atMost,
  between,
  not_between: opposite(between),
  in: exact,
  not_in: opposite(exact),
  is_set: opposite(isNull),
  is_not_set: isNull,
  is_date_exact: (property, value, operator) => {
    const { at, isDay } = moment(value, operator);
    const found = time(property, operator);
    return equal(isDay ? [day(found), day(at)] : [found, at], operator);
  },
  is_date_before: (property, value, operator) => less([time(property, operator), moment(value, operator).at], operator),
  is_date_after: (property, value, operator) => {
    const { at, isDay } = moment(value, operator);
    const found = time(property, operator);
    return less(isDay ? [day(at), day(found)] : [at, found], operator);
  },
};

export const FILTER_OPERATORS: readonly string[] = Object.keys(OPERATORS);
