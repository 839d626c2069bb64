import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DatabaseLimits, parquet } from '../duckdb/database.ts';
import { LAKE_MODELS } from '../lake/schema.ts';
import type { FileStore } from '../ports/files/files.ts';
import type { Converter } from './athena.ts';
import { lineDatabase } from './line-database.ts';

interface ConverterOptions extends DatabaseLimits {
  readonly runFiles: Pick<FileStore, 'save'>;
  /** Where an interval's files are while they are read. Default: a folder of this process below the system's temporary one. */
  readonly folder?: string;
}

/**
 * DuckDB over an interval's unloaded files, copied to the disk first. They have no order, so rows are sorted, and spilled
 * where memory ends. The files of the latest interval are kept; one interval at a time may be asked for.
 */
export function duckdbConverter(options: ConverterOptions): Converter & { close(): Promise<void> } {
  const { runFiles, folder = join(tmpdir(), `unloaded-${process.pid}`) } = options;
  const database = lineDatabase({ ...options, places: [folder] });
  let kept: { readonly key: string; readonly files: Promise<string[]> } | undefined;

  const copied = async (paths: readonly string[]): Promise<string[]> => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const files: string[] = [];
    for (const [n, path] of paths.entries()) {
      const file = join(folder, `${n}.parquet`);
      await runFiles.save(path, file);
      files.push(file);
    }
    return files;
  };

  const onDisk = (paths: readonly string[]): Promise<string[]> => {
    const key = JSON.stringify(paths);
    if (kept?.key !== key) kept = { key, files: copied(paths) };
    return kept.files.catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
  };

  return {
    count: async (paths, signal) => database.number(`SELECT count(*) FROM ${parquet(await onDisk(paths))}`, signal),
    read: async function* (model, paths, form, signal) {
      const files = await onDisk(paths);
      const sql = `SELECT * FROM ${parquet(files)} ORDER BY ${LAKE_MODELS[model].order.join(', ')}`;
      yield* database.during(signal, (connection) => database.formed(connection, { sql, paths: files }, form, signal));
    },
    close: async () => {
      await database.close();
      kept = undefined;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
