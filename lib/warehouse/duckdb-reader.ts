/** The reader itself: DuckDB over the lake's files, as they lie there. */
import { parquet } from '../duckdb/database.ts';
import { intactFiles } from '../lake/intact.ts';
import type { FileStore } from '../ports/files/files.ts';
import { lineDatabase } from './line-database.ts';
import { LAKE_ROWS, MOST_READ_BYTES, type Reader } from './reader.ts';

/** Reads in this process: what a worker does. */
export function duckdbReader(options: {
  readonly lake: Pick<FileStore, 'address' | 'root'>;
  readonly tempDirectory?: string;
  readonly memoryLimit?: string;
}): Reader & { close(): Promise<void> } {
  const { lake } = options;
  let database: ReturnType<typeof lineDatabase> | undefined;
  const isIntact = intactFiles();
  return {
    read: async ({ files, sql, parameters }, { signal }) => {
      const paths = files.map(({ path }) => lake.address(path));
      for (const [n, file] of files.entries()) await isIntact({ ...file, local: paths[n] as string }, signal);
      const rows: Record<string, unknown>[] = [];
      let bytes = 0;
      database ??= lineDatabase({ ...options, places: [lake.root] });
      const lines = database.during(signal, async function* (connection) {
        await connection.run(`CREATE OR REPLACE TEMP VIEW ${LAKE_ROWS} AS SELECT * FROM ${parquet(paths)}`);
        const found = await connection.stream(`SELECT to_json(found)::VARCHAR FROM (${sql}) AS found`, parameters);
        for await (const chunk of found) yield* chunk.getColumnValues(0) as string[];
      });
      for await (const line of lines) {
        bytes += Buffer.byteLength(line);
        if (bytes > MOST_READ_BYTES && rows.length > 0) return { rows, isCut: true };
        rows.push(JSON.parse(line));
      }
      return { rows, isCut: false };
    },
    close: async () => database?.close(),
  };
}
