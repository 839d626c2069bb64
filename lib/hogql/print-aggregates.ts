/** What aggregates and windows of both dialects are written with. */
import type { Aggregate, Window } from './expression.ts';
import type { PrintedAggregate, PrintedWindow, SelectDialect } from './print-select.ts';

/** Squares beyond this have no sum: DuckDB fails for them. */
const MOST_SQUARED = '1e140';

/** Returns an aggregate of the rows of which the condition holds; an empty one: of all. */
export const filtered = (call: string, filter: string): string =>
  filter === '' ? call : `${call} FILTER (WHERE ${filter})`;

/** Returns the condition that both hold; the first may be empty. */
export const both = (filter: string, more: string): string => (filter === '' ? more : `${filter} AND ${more}`);

/** Returns the condition that none of these is null. */
export const present = (of: readonly string[]): string => of.map((one) => `${one} IS NOT NULL`).join(' AND ');

/** Returns what writes the first elements of a list, so many, by a function of a list, a place and a number; undefined: all. */
export const firstBy =
  (slice: string) =>
  (list: string, count: number | undefined): string =>
    count === undefined ? list : `${slice}(${list}, 1, ${count})`;

/** Returns the aggregate that has this name in SQL. */
export const plain =
  (name: string): PrintedAggregate =>
  (of, filter) =>
    filtered(`${name}(${of.join(', ')})`, filter);

/** Returns a sum that is 0, not null, where it says so and no row counts. */
const orZeroOf = (sum: string, rows: string, { orZero }: Pick<Aggregate, 'orZero'>): string =>
  orZero ? `CASE WHEN ${rows} = 0 THEN 0 ELSE ${sum} END` : sum;

/** Returns the sum of the rows of which the condition holds. */
export const summed = (x: string, filter: string, aggregate: Pick<Aggregate, 'orZero'>): string =>
  orZeroOf(filtered(`sum(${x})`, filter), filtered('count(*)', filter), aggregate);

/** Returns the sum of a window; `counted` is null in rows that do not count. */
export const summedOver = (x: string, counted: string, over: string, window: Pick<Window, 'orZero'>): string =>
  orZeroOf(`sum(${x}) OVER (${over})`, `count(${counted}) OVER (${over})`, window);

/** Returns an aggregate of squares, of those numbers that have them. */
const moment =
  (name: string): PrintedAggregate =>
  ([x], filter) =>
    filtered(`${name}(${x})`, both(filter, `abs(${x}) < ${MOST_SQUARED}`));

/** Aggregates that both dialects write alike. */
export const ALIKE = {
  count: ([x], filter) => filtered(`count(${x ?? '*'})`, filter),
  sum_float: ([x], filter, aggregate) => summed(`${x}`, filter, aggregate),
  avg_float: plain('avg'),
  min: plain('min'),
  max: plain('max'),
  stddev_pop: moment('stddev_pop'),
  stddev_samp: moment('stddev_samp'),
  var_pop: moment('var_pop'),
  var_samp: moment('var_samp'),
} satisfies Partial<SelectDialect['aggregates']>;

/** Returns a window of squares, of those numbers that have them. */
const momentOver =
  (name: string): PrintedWindow =>
  ([x], over) =>
    `${name}(CASE WHEN abs(${x}) < ${MOST_SQUARED} THEN ${x} END) OVER (${over})`;

/** Windows that are more than their name, and that both dialects write alike. */
export const WINDOWS_ALIKE = {
  count: ([x], over) => `count(${x ?? '*'}) OVER (${over})`,
  sum_float: ([x, counted = '*'], over, window) => summedOver(`${x}`, counted, over, window),
  avg_float: ([x], over) => `avg(${x}) OVER (${over})`,
  stddev_pop: momentOver('stddev_pop'),
  stddev_samp: momentOver('stddev_samp'),
  var_pop: momentOver('var_pop'),
  var_samp: momentOver('var_samp'),
} satisfies SelectDialect['windows'];
