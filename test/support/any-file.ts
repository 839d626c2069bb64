import type { DuckDBConnection } from '@duckdb/node-api';
import { connected, openDatabase } from '../../lib/duckdb/database.ts';
import { onePerFile } from './on-end.ts';

const databaseOfFile = onePerFile(
  () => openDatabase({ places: ['/'] }),
  async (database) => (await database).closeSync(),
);

/**
 * Returns what `work` does with a connection that reads and writes any file. All in a test file have one DuckDB, which
 * takes 15 ms of processor time to open; tables that are to be their own are temporary.
 */
export async function onAnyFile<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  return connected(await databaseOfFile(), work);
}
