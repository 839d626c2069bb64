/**
 * Hot properties are those of events that queries of insights name often. In the lake's files each has a column of its own
 * beside `properties`: a query reads it without what is around it. It holds what `properties.$browser` is in a query: a
 * text as it is, anything else as JSON, null where there is nothing or null. It only repeats what `properties` says, which
 * alone tells one from the other, and is made anew with each file; what is delivered comes of `properties`.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { identifier, literal, parquet, pathList } from '../duckdb/database.ts';
import { REPEATING } from '../duckdb/parquet.ts';
import { HOT_PROPERTIES } from './hot-properties.ts';

/** The column of a property. */
export const hotColumn = (property: string): string => `${REPEATING}${property}`;

/** The property that a column is of; undefined: of none. */
const propertyOf = (column: string): string | undefined =>
  column.startsWith(REPEATING) ? column.slice(REPEATING.length) : undefined;

/** SQL of the values of these properties, as a list. All at once: the document is parsed once. */
const valuesOf = (properties: readonly string[]): string =>
  `TRY(json_extract_string(properties, [${properties.map((property) => literal(`$."${property}"`)).join(', ')}]))`;

/** SQL of rows with these columns and those of properties, which are taken out of `properties`; the rows keep their order. */
function withColumnsOf(rows: string, columns: readonly string[], properties: readonly string[]): string {
  const values = properties.map((property, n) => `hot_[${n + 1}] AS ${identifier(hotColumn(property))}`);
  return `SELECT ${[...columns, ...values].join(', ')}
    FROM (SELECT *, ${valuesOf(properties)} AS hot_ FROM ${rows})`;
}

/** SQL of events as a file of the lake holds them: rows with these columns, the hot ones, and those of more properties. */
export const withHotColumns = (rows: string, columns: readonly string[], learned: readonly string[] = []): string =>
  withColumnsOf(rows, columns, [...HOT_PROPERTIES, ...learned]);

/** A property whose values are longer on average, in bytes of a row, has no column: it would be in a file twice. */
const LONG = 200;
/** So many rows tell how long values are. */
const SAMPLE = 1_000;

/** Returns those of the properties that are short in these rows, given as SQL that may stand behind FROM. */
export async function shortProperties(
  connection: DuckDBConnection,
  rows: string,
  properties: readonly string[],
): Promise<readonly string[]> {
  if (properties.length === 0) return [];
  const means = properties.map((_, n) => `coalesce(sum(strlen(v[${n + 1}])), 0) / count(*)`);
  const found = await connection.runAndReadAll(`SELECT ${means.join(', ')} FROM (
      SELECT ${valuesOf(properties)} AS v FROM ${rows} LIMIT ${SAMPLE})`);
  const [row = []] = found.getRows();
  return properties.filter((_, n) => Number(row[n]) <= LONG);
}

/** A file of events on the disk, and the properties that have columns in it. */
export interface HotFile {
  readonly path: string;
  readonly hot: ReadonlySet<string>;
}

/** Returns the properties that have columns in each of the files, whichever program wrote it. */
export async function hotPropertiesOf(
  connection: DuckDBConnection,
  paths: readonly string[],
): Promise<Map<string, ReadonlySet<string>>> {
  const found = new Map(paths.map((path) => [path, new Set<string>()]));
  const columns = await connection.runAndReadAll(
    `SELECT file_name, name FROM parquet_schema(${pathList(paths)}) WHERE starts_with(name, ${literal(REPEATING)})`,
  );
  for (const [path, column] of columns.getRows()) {
    const property = propertyOf(String(column));
    if (property !== undefined) found.get(String(path))?.add(property);
  }
  return found;
}

/**
 * Returns SQL, to stand after FROM, of the events in files with these columns of the lake and of properties. Files that
 * lack one of them have the same values out of `properties`. There must be a file.
 */
export function eventRows(files: readonly HotFile[], columns: ReadonlySet<string>): string {
  const properties = [...columns].flatMap((column) => propertyOf(column) ?? []);
  const plain = [...columns].filter((column) => propertyOf(column) === undefined);
  const { whole = [], partial = [] } = Object.groupBy(files, ({ hot }) =>
    properties.every((property) => hot.has(property)) ? 'whole' : 'partial',
  );
  const rowsOf = (some: readonly HotFile[]): string => parquet(some.map(({ path }) => path));
  if (partial.length === 0) return rowsOf(whole);
  const taken = withColumnsOf(rowsOf(partial), plain, properties);
  if (whole.length === 0) return `(${taken})`;
  const names = [...plain, ...properties.map((property) => identifier(hotColumn(property)))];
  return `(SELECT ${names.join(', ')} FROM ${rowsOf(whole)} UNION ALL ${taken})`;
}
