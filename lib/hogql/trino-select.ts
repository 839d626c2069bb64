/** A whole SELECT as SQL of Trino. The values are those that DuckDB gives, but for what docs/hogql.md names. */
import { elementType, isList, isTuple, partTypes, type Tuple, type Type, type WholeQuery } from './expression.ts';
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
import { type PrintedAggregate, printSelect, type RelationOf, type SelectDialect } from './print-select.ts';
import { TRINO } from './trino.ts';

/** The value of least or greatest order, of the rows that have both. */
const by =
  (name: string): PrintedAggregate =>
  (of, filter) =>
    filtered(`${name}(${of.join(', ')})`, both(filter, present(of)));

/** Sums of integers are exact on the way; one beyond 64 bits is null. */
const wide = (x: string | undefined): string => `CAST(${x} AS decimal(38, 0))`;

/** Of sorted values: the one at a place between 0 and 1, or in proportion between its neighbours. */
function quantileOf(values: string, at: number): string {
  const place = `(cardinality(v) - 1) * DOUBLE '${at}'`;
  const value = (rounded: string): string => `element_at(v, CAST(${rounded}(${place}) AS bigint) + 1)`;
  const between = `${value('floor')} + (${value('ceil')} - ${value('floor')}) * (${place} - floor(${place}))`;
  return `element_at(transform(ARRAY[${values}], v -> CASE WHEN cardinality(v) > 0 THEN ${between} END), 1)`;
}

const firstOf = firstBy('slice');

const SELECT: SelectDialect = {
  dialect: TRINO,
  aggregates: {
    ...ALIKE,
    count_distinct: (of, filter) =>
      of.length === 1
        ? filtered(`count(DISTINCT ${of[0]})`, filter)
        : filtered(`count(DISTINCT ROW(${of.join(', ')}))`, both(filter, present(of))),
    sum: ([x], filter, aggregate) => `TRY_CAST(${summed(wide(x), filter, aggregate)} AS bigint)`,
    // Its own adds doubles, of integers too.
    avg: ([x], filter) => `CAST(${filtered(`sum(${wide(x)})`, filter)} AS double) / ${filtered(`count(${x})`, filter)}`,
    any: plain('arbitrary'),
    any_last: plain('arbitrary'),
    arg_min: by('min_by'),
    arg_max: by('max_by'),
    quantile: ([x], filter, { at = 0.5 }) =>
      quantileOf(`array_sort(${filtered(`array_agg(${x})`, both(filter, present([String(x)])))})`, at),
    list: ([x], filter, { at }, by) => {
      const values = by === undefined ? x : `${x} ORDER BY ${by}`;
      return firstOf(`coalesce(${filtered(`array_agg(${values})`, both(filter, present([String(x)])))}, ARRAY[])`, at);
    },
    list_distinct: ([x], filter, { at }) =>
      firstOf(`coalesce(${filtered(`array_agg(DISTINCT ${x})`, both(filter, present([String(x)])))}, ARRAY[])`, at),
  },
  windows: {
    ...WINDOWS_ALIKE,
    sum: ([x, counted = '*'], over, window) => `TRY_CAST(${summedOver(wide(x), counted, over, window)} AS bigint)`,
    avg: ([x], over) => `CAST(sum(${wide(x)}) OVER (${over}) AS double) / count(${x}) OVER (${over})`,
    any: ([x], over) => `arbitrary(${x}) OVER (${over})`,
    first_value: ([x], over) => `first_value(${x}) IGNORE NULLS OVER (${over})`,
    last_value: ([x], over) => `last_value(${x}) IGNORE NULLS OVER (${over})`,
    quantile: ([x], over, { at = 0.5 }) => quantileOf(`array_sort(${listOver(x, over)})`, at),
    list: ([x], over, { at }) => firstOf(listOver(x, over), at),
  },
  // What is made of a row stands behind it as a list. Of a row in the list UNNEST makes columns, but for one around it.
  unnested: (list, columns, from, type) =>
    `SELECT ${[...columns.map((column) => column.replace(/^.* AS /s, 'rows_.')), 'elements_.c0'].join(', ')} FROM (SELECT ${[...columns, `${type.startsWith('tuples(') ? `transform(${list}, v -> ROW(v))` : list} AS list_`].join(', ')}${from}) AS rows_ CROSS JOIN UNNEST(rows_.list_) AS elements_(c0)`,
  // Athena writes lists in a way that cannot be read again; the elements of JSON are texts, for it keeps no large number.
  told,
};

const asJson = (value: string): string => `json_format(CAST(${value} AS json))`;
const listAsJson = (list: string): string => asJson(`CAST(${list} AS array(varchar))`);

/** The parts of a tuple as texts; null where there is none. */
function textsOf(value: string, tuple: Tuple): string {
  const parts = partTypes(tuple).map((type, n) => {
    const part = `(${value}).f${n + 1}`;
    return isList(type) ? listAsJson(part) : `CAST(${part} AS varchar)`;
  });
  return `CASE WHEN ${value} IS NOT NULL THEN ARRAY[${parts.join(', ')}] END`;
}

function told(value: string, type: Type): string {
  if (isTuple(type)) return asJson(textsOf(value, type));
  if (!isList(type)) return value;
  const element = elementType(type);
  return isTuple(element) ? asJson(`transform(${value}, v -> ${textsOf('v', element)})`) : listAsJson(value);
}

const listOver = (x: string | undefined, over: string): string =>
  `filter(coalesce(array_agg(${x}) OVER (${over}), ARRAY[]), v -> v IS NOT NULL)`;

/**
 * Returns the query as Trino's SQL, with columns `c0`, `c1` … as DuckDB has them, but for lists, which are told as JSON
 * lists of texts. `now` is in microseconds.
 */
export function trinoSelect(query: WholeQuery, relation: RelationOf, now: bigint): string {
  return printSelect(query, SELECT, relation, `BIGINT '${now}'`);
}
