/**
 * One row as one line of PostgreSQL's COPY text format, as an SQL expression of DuckDB: columns between tabs, `\N` for
 * null, instants as ISO 8601 with microseconds. What no PostgreSQL can hold is left out: the character NUL, and in JSON
 * (where jsonb refuses their escapes) half surrogate pairs too. Numbers in JSON that are too large become strings.
 */
import { type Column, type ColumnType, fieldOf } from './columns.ts';

/** Looked for one by one: that takes a sixth of the time of a pattern with all of them. */
const isOdd = (value: string): string =>
  `(${["'\\'", 'chr(0)', 'chr(9)', 'chr(10)', 'chr(13)'].map((odd) => `contains(${value}, ${odd})`).join(' OR ')})`;

const withEscapes = (value: string): string =>
  `replace(replace(replace(replace(replace(${value}, chr(0), ''), '\\', '\\\\'), chr(9), '\\t'), chr(10), '\\n'), chr(13), '\\r')`;

const escaped = (value: string): string => `CASE WHEN ${isOdd(value)} THEN ${withEscapes(value)} ELSE ${value} END`;

/** Escaped backslashes and whole pairs are kept: they are what the first two groups take. */
const UNSTORABLE = '(\\\\\\\\)|(\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]..)|\\\\u(?:0000|[dD][89a-fA-F]..)';

/**
 * jsonb keeps a number as a numeric, with 131,072 digits before the point and 16,383 behind it. One of at most so many
 * bytes, and with a power of ten of at most three digits, fits.
 */
const LONGEST_NUMBER = 15_000;

/** May a JSON text have a number that does not fit? The first pattern takes a third of the time of the second. */
const mayBeHuge = (value: string): string =>
  `(regexp_matches(${value}, '[eE][+-]?[0-9]{4}') ` +
  `AND regexp_matches(${value}, '(?:^|[:,\\[])\\s*-?[0-9.]+[eE][+-]?[0-9]{4}') ` +
  `OR strlen(${value}) > ${LONGEST_NUMBER} AND regexp_matches(${value}, '[0-9]{1000}'))`;

const IS_HUGE =
  `regexp_matches(token, '^-?[0-9]') ` +
  `AND (strlen(token) > ${LONGEST_NUMBER} OR regexp_matches(token, '[eE][+-]?0*[1-9][0-9]{3}'))`;

/** Strings, numbers, and what is between them. */
const TOKENS = '"(?:[^"\\\\]|\\\\.)*"|-?[0-9][-+.0-9eE]*|[^"0-9-]+';

const withoutHuge = (value: string): string =>
  `array_to_string([CASE WHEN ${IS_HUGE} THEN concat('"', token, '"') ELSE token END ` +
  `FOR token IN regexp_extract_all(${value}, '${TOKENS}')], '')`;

const storable = (text: string): string => withEscapes(`regexp_replace(${text}, '${UNSTORABLE}', '\\1\\2', 'g')`);

/** JSON text that jsonb takes: numbers that do not fit, and what is not JSON, become strings. */
const json = (value: string): string =>
  `CASE WHEN NOT json_valid(${value}) THEN ${escaped(`to_json(replace(${value}, chr(0), ''))::VARCHAR`)} ` +
  `WHEN ${mayBeHuge(value)} THEN ${storable(withoutHuge(value))} ` +
  `WHEN regexp_matches(${value}, '\\\\u(0000|[dD][89a-fA-F])') THEN ${storable(value)} ` +
  `ELSE ${escaped(value)} END`;

const VALUES: Readonly<Record<ColumnType, (value: string) => string>> = {
  text: escaped,
  json,
  texts: json,
  integer: (value) => `${value}::VARCHAR`,
  float: (value) => `${value}::VARCHAR`,
  boolean: (value) => `CASE WHEN ${value} THEN 't' WHEN NOT ${value} THEN 'f' END`,
  instant: (value) => `strftime(make_timestamp(${value}), '%Y-%m-%dT%H:%M:%S.%fZ')`,
};

/** The line with its line end. */
export const copyLine = (columns: readonly Column[]): string =>
  `concat(${columns
    .map((column) => `coalesce(${VALUES[column.type](`(${fieldOf(column)})`)}, '\\N')`)
    .join(', chr(9), ')}, chr(10))`;
