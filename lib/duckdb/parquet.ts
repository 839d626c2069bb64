/** The row groups of Parquet files: how large they are made, and what their metadata tells. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { MIB } from '../basics/units.ts';
import { literal, pathList } from './database.ts';

/** How the pages of a file are packed; null: not at all. */
export type ParquetCompression = 'zstd' | 'lz4' | 'snappy' | 'gzip' | 'brotli' | null;

/** Columns whose names begin so repeat what another column of the file says. */
export const REPEATING = 'properties.';

/** A row group of a file: the arrivals that it holds (microseconds, inclusive), and its size. */
export interface RowGroup {
  readonly path: string;
  readonly min: bigint;
  readonly max: bigint;
  readonly rows: number;
  /** Uncompressed, without columns that repeat others. */
  readonly bytes: number;
}

/** A row group is built in memory, by each thread one, so of long rows it has about so many bytes. */
const ROW_GROUP_BYTES = 16 * MIB;

/** How many rows a row group has when its rows have so many bytes, and never more than `most`. */
export const rowsPerGroup = (rowBytes: number, most: number): number =>
  Math.min(most, Math.max(1, Math.floor(ROW_GROUP_BYTES / Math.max(1, rowBytes))));

/** The row groups of files of the lake, as their metadata tells, of each file in their order. */
export async function rowGroups(connection: DuckDBConnection, paths: readonly string[]): Promise<RowGroup[]> {
  const answer = await connection.runAndReadAll(`
    SELECT file_name AS path, any_value(row_group_num_rows)::DOUBLE AS rows,
      (sum(total_uncompressed_size) FILTER (NOT starts_with(path_in_schema, ${literal(REPEATING)})))::DOUBLE AS bytes,
      (any_value(stats_min_value) FILTER (path_in_schema = 'inserted_us'))::BIGINT AS min,
      (any_value(stats_max_value) FILTER (path_in_schema = 'inserted_us'))::BIGINT AS max
    FROM parquet_metadata(${pathList(paths)}) GROUP BY file_name, row_group_id ORDER BY file_name, row_group_id`);
  return answer.getRowObjects() as unknown as RowGroup[];
}

/**
 * How long a row of the groups is, in bytes: the mean over all bytes, not over all rows, so that long rows count among
 * many short ones. 0: there are no rows.
 */
export function rowBytesIn(groups: readonly RowGroup[]): number {
  let [bytes, weight] = [0, 0];
  for (const group of groups) {
    bytes += group.bytes;
    if (group.rows > 0) weight += group.bytes ** 2 / group.rows;
  }
  return bytes > 0 ? weight / bytes : 0;
}
