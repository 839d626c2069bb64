/**
 * One row as one line of PostgreSQL's COPY text format, as an SQL expression of DuckDB: columns between tabs, `\N` for
 * null, instants as ISO 8601 with microseconds. What no PostgreSQL can hold is left out: the character NUL, and in JSON
 * (where jsonb refuses their escapes) half surrogate pairs too.
 */
import { type Column, type ColumnType, fieldOf } from './columns.ts';

const escaped = (value: string): string =>
  `CASE WHEN regexp_matches(${value}, '[\\\\\\x00\\t\\n\\r]') THEN replace(replace(replace(replace(replace(` +
  `${value}, chr(0), ''), '\\', '\\\\'), chr(9), '\\t'), chr(10), '\\n'), chr(13), '\\r') ELSE ${value} END`;

/** Escaped backslashes and whole pairs are kept: they are what the first two groups take. */
const UNSTORABLE = '(\\\\\\\\)|(\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]..)|\\\\u(?:0000|[dD][89a-fA-F]..)';

/** JSON text that jsonb takes; what is not JSON becomes a string. */
const storable = (value: string): string =>
  `CASE WHEN NOT json_valid(${value}) THEN to_json(replace(${value}, chr(0), ''))::VARCHAR ` +
  `WHEN regexp_matches(${value}, '\\\\u(0000|[dD][89a-fA-F])') ` +
  `THEN regexp_replace(${value}, '${UNSTORABLE}', '\\1\\2', 'g') ELSE ${value} END`;

const json = (value: string): string => escaped(`(${storable(value)})`);

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
