/**
 * The tree as SQL of Trino, which is what Athena (engine version 3) runs, over the columns of the lake's table. The
 * values are those that DuckDB gives, but for what docs/hogql.md names.
 */
import type { Expression, FormatCode, Part, Path, Selected } from './expression.ts';
import {
  alike,
  boundBy,
  type Dialect,
  FLOAT_TEXT,
  formatText,
  heldTime,
  INSTANT_TEXT,
  print,
  typeText,
} from './print.ts';
import { MAX_RANGE } from './size.ts';

/** Codes of a date's format that are others here. */
const CODES: Partial<Record<FormatCode, string>> = { I: '%h', S: '%s' };

const PARTS: Partial<Record<Part, string>> = { day_of_month: 'day', iso_week: 'week' };

/** A text as a literal. A brace is written by its number: no constant is taken for the `{try}` of an UNLOAD. */
function trinoLiteral(text: string): string {
  const quoted = text.replaceAll("'", "''");
  if (!quoted.includes('{')) return `'${quoted}'`;
  return `U&'${quoted.replaceAll('\\', '\\\\').replaceAll('{', '\\007B')}'`;
}

/** Returns texts as literals, as IN takes them. */
export const trinoLiterals = (texts: readonly string[]): string => texts.map(trinoLiteral).join(', ');

/** A bigint holds nanoseconds of the years 1677 to 2262 only. */
const zoned = (instant: string): string => `from_unixtime_nanos(CAST(${instant} AS decimal(38, 0)) * 1000)`;
const time = (instant: string): string => `CAST(${zoned(instant)} AS timestamp(6))`;
/** Doubles hold microseconds exactly from the year 1684 to 2255 (2^53), and whole seconds beyond. */
const microseconds = (moment: string): string => `CAST(round(to_unixtime(${moment}) * 1e6) AS bigint)`;

const bound = boundBy((value, body) => `element_at(transform(ARRAY[${value}], bound -> ${body}), 1)`);

const pathText = (path: Path): string =>
  trinoLiteral(
    `$${path.map((key) => (typeof key === 'number' ? `[${key}]` : `["${key.replace(/["\\]/g, '\\$&')}"]`)).join('')}`,
  );

const atPath = (name: string, document: string, path: Path): string => `TRY(${name}(${document}, ${pathText(path)}))`;

/**
 * JSON at a path, as it is written there. Java writes the numbers of JSON anew, `1.7E9`: one is taken as the scalar, which
 * is its own text.
 */
const jsonText = (document: string, path: Path): string =>
  bound(document, (v) => {
    const written = `json_format(${atPath('json_extract', v, path)})`;
    const other = `regexp_extract(${written}, ${trinoLiteral(String.raw`(?s)^["{\[n].*`)})`;
    return `coalesce(${other}, ${atPath('json_extract_scalar', v, path)})`;
  });

const whole = (text: string, pattern: string): string => `regexp_extract(${text}, ${trinoLiteral(pattern)})`;

/** As `$1`, beginning with group `first`; a dollar or backslash of the text is escaped. */
const replacementOf = (pieces: readonly (string | number)[], first = 0): string =>
  pieces.map((piece) => (typeof piece === 'number' ? `$${piece + first}` : piece.replace(/[$\\]/g, '\\$&'))).join('');

/** Java wants a time of day, a T before it, minutes behind a colon in the offset; and there are no more than six digits of a second. */
const strictInstant = (text: string): string =>
  [
    [String.raw`^(.{10})\z`, '$1T00:00:00'],
    [String.raw`(:[0-9.]+[+-][0-9]{2})\z`, '$1:00'],
    [String.raw`([+-][0-9]{2})([0-9]{2})\z`, '$1:$2'],
    [String.raw`(\.[0-9]{6})[0-9]+`, '$1'],
  ].reduce(
    (found, [pattern = '', by]) => `regexp_replace(${found}, ${trinoLiteral(pattern)}, '${by}')`,
    `replace(${whole(text, INSTANT_TEXT)}, ' ', 'T')`,
  );

const notNull = (of: readonly string[]): string => `filter(ARRAY[${of.join(', ')}], bound -> bound IS NOT NULL)`;

const TYPES: Dialect['types'] = {
  text: 'varchar',
  json: 'varchar',
  integer: 'bigint',
  float: 'double',
  boolean: 'boolean',
  instant: 'bigint',
  date: 'bigint',
  list: (element) => `array(${element})`,
  tuple: (parts) => `row(${parts.map((part, n) => `f${n + 1} ${part}`).join(', ')})`,
};

export const TRINO: Dialect = {
  literal: trinoLiteral,
  types: TYPES,
  operators: {
    ...alike({
      slash: '/',
      startOf: (instant, unit) => microseconds(`date_trunc('${unit}', ${time(instant)})`),
      // Trino counts whole units: both ends must be the first instant of one.
      unitsSince1970: (instant, unit) =>
        `date_diff('${unit}', TIMESTAMP '1970-01-01', date_trunc('${unit}', ${time(instant)}))`,
      addMonths: (instant, months) => microseconds(`date_add('month', ${months}, ${time(instant)})`),
      local: (instant, zone) =>
        `TRY(${microseconds(`CAST(at_timezone(${zoned(instant)}, '${zone}') AS timestamp(6))`)})`,
      fromLocal: (local, zone) => `TRY(${microseconds(`with_timezone(${time(local)}, '${zone}')`)})`,
      bound,
      literal: trinoLiteral,
      whole,
      writtenInstant: (text) => `TRY(${microseconds(`from_iso8601_timestamp_nanos(${strictInstant(text)})`)})`,
      truncate: 'truncate',
    }),
    concat: (of) => `(${of.map((one) => (/^(?:U&)?'/.test(one) ? one : `coalesce(${one}, '')`)).join(' || ')})`,
    least: (of) => `array_min(${notNull(of)})`,
    greatest: (of) => `array_max(${notNull(of)})`,

    finite: ([x]) => `CASE WHEN is_finite(${x}) THEN ${x} END`,

    float_of_text: ([x]) => `TRY_CAST(${whole(x, FLOAT_TEXT)} AS double)`,
    // Java writes an exponent from 10^7 on and below 10^-3; DuckDB from 10^16 on and below 10^-4.
    text_of_float: ([x]) =>
      bound(x, (v) => {
        const written = `json_format(CAST(${v} AS json))`;
        const plain = `regexp_replace(CAST(CAST(${written} AS decimal(38, 20)) AS varchar), '\\.?0+\\z')`;
        const isPlain = `abs(${v}) >= 1e-4 AND abs(${v}) < 1e16`;
        return `CASE WHEN ${isPlain} THEN ${plain} ELSE regexp_replace(${written}, '\\.0$') END`;
      }),
    text_of_instant: ([x]) => `TRY(CAST(${time(x)} AS varchar))`,
    text_of_date: ([x]) => `TRY(date_format(${time(x)}, '%Y-%m-%d'))`,

    trim: ([x], { side }) => `trim(${{ both: 'BOTH', left: 'LEADING', right: 'TRAILING' }[side]} ' ' FROM ${x})`,
    bytes: ([x]) => `length(to_utf8(${x}))`,
    replace_pattern: ([x], { pattern, replacement }) =>
      `regexp_replace(${x}, ${trinoLiteral(pattern)}, ${trinoLiteral(replacementOf(replacement))})`,
    // Up to the first match, which is all that a pattern anchored to the beginning can find.
    replace_pattern_once: ([x], { pattern, replacement }) =>
      `regexp_replace(${x}, ${trinoLiteral(`(?s)^(.*?)(?:${pattern})`)}, ${trinoLiteral(`$1${replacementOf(replacement, 1)}`)})`,
    matches: ([x], { pattern }) => `regexp_like(${x}, ${trinoLiteral(pattern)})`,
    // No match is an empty text, and so is a group that took no part in one, but null stays null.
    extract: ([x], { pattern, group }) => {
      const found = `regexp_extract_all(${x}, ${trinoLiteral(pattern)}, ${group})`;
      return `element_at(concat(transform(${found}, bound -> coalesce(bound, '')), ARRAY['']), 1)`;
    },
    like: ([x], { like }) => `coalesce(${x} LIKE ${trinoLiteral(like)} ESCAPE '\\', FALSE)`,
    ends_with: (of) => `starts_with(${of.map((one) => `reverse(${one})`).join(', ')})`,

    split: ([x], { text }) => `split(${x}, ${trinoLiteral(text)})`,
    join: ([x], { text }) => `array_join(${x}, ${trinoLiteral(text)})`,
    list: (of, _, __, type) => `CAST(ARRAY[${of.join(', ')}] AS ${typeText(type, TYPES)})`,
    tuple: (of, _, __, type) => `CAST(ROW(${of.join(', ')}) AS ${typeText(type, TYPES)})`,
    tuple_part: ([x], { place }) => `(${x}).f${place}`,
    element: (of) => `TRY(element_at(${of.join(', ')}))`,
    has: (of) => `coalesce(contains(${of.join(', ')}), FALSE)`,
    has_any: (of) => `coalesce(cardinality(array_intersect(${of.join(', ')})) > 0, FALSE)`,
    has_all: ([x, those]) => `coalesce(cardinality(array_except(${those}, ${x})) = 0, FALSE)`,
    list_length: ([x]) => `cardinality(${x})`,
    map: ([x], _, each) => `transform(${x}, ${each.variable} -> ${each.body})`,
    filter: ([x], _, each) => `filter(${x}, ${each.variable} -> ${each.body})`,
    sort: ([x]) => `array_sort(${x})`,
    reverse: ([x]) => `reverse(${x})`,
    distinct: ([x]) => `filter(array_distinct(${x}), bound -> bound IS NOT NULL)`,
    list_uniq: ([x]) => `cardinality(array_distinct(${x}))`,
    // On the way it is exact.
    list_sum: ([x]) =>
      `TRY_CAST(reduce(${x}, CAST(0 AS decimal(38, 0)), (total, one) -> CAST(total + coalesce(one, 0) AS decimal(38, 0)), total -> total) AS bigint)`,
    list_sum_float: ([x]) => `reduce(${x}, DOUBLE '0', (total, one) -> total + coalesce(one, 0), total -> total)`,
    // Trino's ranges include their end.
    range: ([from, to]) =>
      bound(
        `CAST(ROW(${from}, ${to}) AS row(f1 bigint, f2 bigint))`,
        (v) =>
          `CASE WHEN TRY(${v}.f2 - ${v}.f1) BETWEEN 1 AND ${MAX_RANGE} THEN sequence(${v}.f1, ${v}.f2 - 1) WHEN ${v}.f2 <= ${v}.f1 THEN CAST(ARRAY[] AS array(bigint)) END`,
      ),

    property: ([x], { path }) => `regexp_replace(nullif(${jsonText(x, path)}, 'null'), '^"|"$')`,
    property_value: ([x], { path }) =>
      bound(x, (v) => {
        const written = `nullif(json_format(${atPath('json_extract', v, path)}), 'null')`;
        return `coalesce(${atPath('json_extract_scalar', v, path)}, ${written})`;
      }),
    json_raw: ([x], { path }) => jsonText(x, path),
    json_scalar: ([x], { path }) => atPath('json_extract_scalar', x, path),
    json_has: ([x], { path }) => `(${atPath('json_extract', x, path)} IS NOT NULL)`,
    json_length: ([x], { path }) => `coalesce(${atPath('json_size', x, path)}, 0)`,
    json_elements: ([x], { path }) =>
      `transform(TRY(CAST(${atPath('json_extract', x, path)} AS array(json))), bound -> json_format(bound))`,
    json_texts: ([x], { path }) =>
      `transform(TRY(CAST(${atPath('json_extract', x, path)} AS array(json))), bound -> coalesce(json_extract_scalar(bound, '$'), nullif(json_format(bound), 'null'), ''))`,
    json_keys: ([x], { path }) => `map_keys(TRY(CAST(${atPath('json_extract', x, path)} AS map(varchar, json))))`,

    part: ([x], { part }) => `TRY(${PARTS[part] ?? part}(${time(x)}))`,
    format: ([x], { format }) => `TRY(date_format(${time(x)}, ${trinoLiteral(formatText(format, CODES))}))`,
  },
};

/** An expression as Trino's SQL; `now` is the SQL of the end of the row's data interval in microseconds. */
export const trinoText = (expression: Expression, now: string): string => print(expression, TRINO, now);

/** The value that a column unloads: instants in microseconds or null, numbers finite or null, lists as JSON text. */
export function trinoColumn({ expression, type }: Selected, now: string): string {
  const text = trinoText(expression, now);
  if (type === 'float') return `CASE WHEN is_finite(${text}) THEN ${text} END`;
  if (type === 'instant') return bound(text, heldTime);
  return type === 'texts' ? `json_format(CAST(${text} AS json))` : text;
}
