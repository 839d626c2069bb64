/** Rows as columns of a Parquet file, as SQL of DuckDB: all nullable, JSON as text, instants in microseconds of UTC. */
import { identifier } from '../duckdb/database.ts';
import { type Column, type ColumnType, fieldOf } from './columns.ts';

const VALUES: Readonly<Record<ColumnType, (value: string) => string>> = {
  text: (value) => `${value}::VARCHAR`,
  json: (value) => `${value}::VARCHAR`,
  texts: (value) => `from_json(${value}, '["VARCHAR"]')`,
  integer: (value) => `${value}::BIGINT`,
  float: (value) => `${value}::DOUBLE`,
  boolean: (value) => `${value}::BOOLEAN`,
  instant: (value) => `make_timestamptz(${value})`,
};

/** What a query selects for these columns. */
export const parquetColumns = (columns: readonly Column[]): string =>
  columns.map((column) => `${VALUES[column.type](`(${fieldOf(column)})`)} AS ${identifier(column.name)}`).join(', ');
