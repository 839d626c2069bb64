import type { DuckDBConnection } from '@duckdb/node-api';
import { openDatabase } from '../../lib/duckdb/database.ts';
import { onEnd } from './on-end.ts';

let opened: ReturnType<typeof openDatabase> | undefined;

/**
 * Returns what `work` does with a connection that reads and writes any file. All in a test file have one DuckDB, which
 * takes 15 ms of processor time to open; tables that are to be their own are temporary.
 */
export async function onAnyFile<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  opened ??= open();
  const connection = await (await opened).connect();
  try {
    return await work(connection);
  } finally {
    connection.closeSync();
  }
}

async function open(): ReturnType<typeof openDatabase> {
  const database = await openDatabase({ places: ['/'] });
  onEnd(() => {
    opened = undefined;
    database.closeSync();
  });
  return database;
}
