/**
 * Which rows of persons an interval delivers: of each distinct_id the newest that arrived in it. A bit for each row
 * of its files marks them: files are read in their order, and what is held grows with rows, not with properties.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { parquet, pathList } from '../duckdb/database.ts';

/**
 * Marks the newest rows among those of these files for which `where` (SQL) holds. Answers the SQL of a condition that
 * holds for them when some of the files are read, on this connection, by `parquet`; until the next call.
 */
export async function newestRows(
  connection: DuckDBConnection,
  paths: readonly string[],
  where: string,
): Promise<(some: readonly string[]) => string> {
  const answer = await connection.runAndReadAll(
    `SELECT file_name, num_rows::DOUBLE FROM parquet_file_metadata(${pathList(paths)})`,
  );
  const rows = new Map(answer.getRows() as [path: string, rows: number][]);
  const offsets = new Map<string, number>();
  let total = 0;
  for (const path of paths) {
    offsets.set(path, total);
    total += rows.get(path) ?? 0;
  }
  const place = (some: readonly string[]): string =>
    `([${some.map((path) => offsets.get(path)).join(', ')}])[file_index::BIGINT + 1] + file_row_number`;
  await connection.run(`SET VARIABLE newest = (
    SELECT bitstring_agg(place, 0::BIGINT, ${total - 1}::BIGINT) FROM (
      SELECT (arg_max(${place(paths)}, inserted_us))::BIGINT AS place FROM ${parquet(paths)} WHERE ${where} GROUP BY distinct_id))`);
  return (some) => `get_bit(getvariable('newest'), (${place(some)})::INTEGER) = 1`;
}
