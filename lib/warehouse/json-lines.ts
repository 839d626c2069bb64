/** One row as a line of JSON, in SQL of DuckDB. Joining text takes half the time of building and printing a struct. */
import { literal } from '../duckdb/database.ts';
import { type Column, type ColumnType, fieldOf } from './columns.ts';

/** JSON text as a nested value; what is not JSON (no batch should hold any) becomes a string, so that no run breaks. */
const nested = (value: string): string =>
  `CASE WHEN NOT json_valid(${value}) THEN to_json(${value})::VARCHAR ` +
  `WHEN contains(${value}, chr(10)) THEN json(${value})::VARCHAR ELSE ${value} END`;

const VALUES: Readonly<Record<ColumnType, (value: string) => string>> = {
  text: (value) => `to_json(${value})::VARCHAR`,
  json: nested,
  texts: nested,
  integer: (value) => `${value}::VARCHAR`,
  // JSON has no words for what is not a number, nor for what is infinite.
  float: (value) => `CASE WHEN isfinite(${value}) THEN to_json(${value})::VARCHAR END`,
  boolean: (value) => `${value}::VARCHAR`,
  // `2015-05-17T10:05:03.000000Z`
  instant: (value) => `strftime(make_timestamp(${value}), '"%Y-%m-%dT%H:%M:%S.%fZ"')`,
};

/** The line with its line end. */
export function jsonLine(columns: readonly Column[]): string {
  const members = columns.map((column, n) => {
    const name = literal(`${n === 0 ? '{' : ','}${JSON.stringify(column.name)}:`);
    return `${name}, coalesce(${VALUES[column.type](`(${fieldOf(column)})`)}, 'null')`;
  });
  return `concat(${members.join(', ')}, '}', chr(10))`;
}
