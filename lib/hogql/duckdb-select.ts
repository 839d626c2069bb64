/** A whole SELECT as SQL of DuckDB. */
import { DUCKDB } from './duckdb.ts';
import type { WholeQuery } from './expression.ts';
import {
  ALIKE,
  both,
  filtered,
  firstBy,
  plain,
  present,
  summed,
  summedOver,
  WINDOWS_ALIKE,
} from './print-aggregates.ts';
import { printSelect, type RelationOf, type SelectDialect } from './print-select.ts';

const firstOf = firstBy('list_slice');

const SELECT: SelectDialect = {
  dialect: DUCKDB,
  aggregates: {
    ...ALIKE,
    count_distinct: (of, filter) =>
      of.length === 1
        ? filtered(`count(DISTINCT ${of[0]})`, filter)
        : filtered(`count(DISTINCT (${of.join(', ')}))`, both(filter, present(of))),
    sum: ([x], filter, aggregate) => `TRY_CAST(${summed(`${x}`, filter, aggregate)} AS BIGINT)`,
    // Of integers it adds 128 bits, and divides once.
    avg: plain('avg'),
    any: plain('any_value'),
    any_last: plain('any_value'),
    arg_min: plain('arg_min'),
    arg_max: plain('arg_max'),
    quantile: ([x], filter, { at }) => filtered(`quantile_cont(${x}, ${at})`, filter),
    // It holds far less than `list(x ORDER BY …)`, which fails of some 1,000,000 rows.
    list: ([x], filter, { at }, by) => {
      const listed = (value: string): string => filtered(`list(${value})`, both(filter, present([String(x)])));
      const values = by
        ? `list_transform(list_sort(${listed(`{o: ${by}, x: ${x}}`)}), lambda one: one.x)`
        : listed(`${x}`);
      return firstOf(`coalesce(${values}, [])`, at);
    },
    list_distinct: ([x], filter, { at }) =>
      firstOf(`coalesce(${filtered(`list(DISTINCT ${x})`, both(filter, present([String(x)])))}, [])`, at),
  },
  windows: {
    ...WINDOWS_ALIKE,
    sum: ([x, counted = '*'], over, window) => `TRY_CAST(${summedOver(`${x}`, counted, over, window)} AS BIGINT)`,
    any: ([x], over) => `any_value(${x}) OVER (${over})`,
    first_value: ([x], over) => `first_value(${x} IGNORE NULLS) OVER (${over})`,
    last_value: ([x], over) => `last_value(${x} IGNORE NULLS) OVER (${over})`,
    quantile: ([x], over, { at }) => `quantile_cont(${x}, ${at}) OVER (${over})`,
    list: ([x], over, { at }) => firstOf(`coalesce(list(${x}) FILTER (WHERE ${x} IS NOT NULL) OVER (${over}), [])`, at),
  },
  unnested: (list, columns, from) => `SELECT ${[...columns, `unnest(${list}) AS c0`].join(', ')}${from}`,
};

/**
 * Returns the query as DuckDB's SQL, with columns `c0`, `c1` …: instants and dates are microseconds since 1970, floats
 * finite or null. `now` is in microseconds.
 */
export function duckdbSelect(query: WholeQuery, relation: RelationOf, now: bigint): string {
  return printSelect(query, SELECT, relation, `BIGINT '${now}'`);
}
