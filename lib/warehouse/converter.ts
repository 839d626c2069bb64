import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DatabaseLimits, parquet } from '../duckdb/database.ts';
import { LAKE_MODELS } from '../lake/schema.ts';
import { messageOf, Permanent } from '../ports/errors.ts';
import type { FileStore } from '../ports/files/files.ts';
import type { Converter } from './athena.ts';
import { lineDatabase } from './line-database.ts';

interface ConverterOptions extends DatabaseLimits {
  readonly runFiles: Pick<FileStore, 'save'>;
  /** Where an interval's files are while they are read. Default: a folder of this process below the system's temporary one. */
  readonly folder?: string;
}

/** What DuckDB and Node say where memory or disk end. */
const TOO_LARGE = /Out of Memory|No space left on device|ENOSPC/;

/**
 * Where an interval has a function to itself, what does not fit into its memory and disk never will. Any other error is
 * as it was.
 */
function explained(error: unknown): unknown {
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  if (![error, cause].some((one) => TOO_LARGE.test(messageOf(one)))) return error;
  return new Permanent(
    'The interval holds more than one run can deliver: its rows do not fit into the memory and the disk of a function. ' +
      'Set a shorter interval for the batch export, split its events among several by include_events, or select fewer columns.',
    { cause: error },
  );
}

/**
 * DuckDB over an interval's unloaded files, copied to the disk first. They have no order, so rows are sorted, and spilled
 * where memory ends. The files of the latest interval are kept; one interval at a time may be asked for. `Permanent` when
 * it is too large.
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
    count: async (paths, signal) => {
      try {
        return await database.number(`SELECT count(*) FROM ${parquet(await onDisk(paths))}`, signal);
      } catch (error) {
        throw explained(error);
      }
    },
    read: async function* (model, paths, form, signal) {
      try {
        const files = await onDisk(paths);
        const sql = `SELECT * FROM ${parquet(files)} ORDER BY ${LAKE_MODELS[model].order.join(', ')}`;
        const rows = { sql, paths: files };
        yield* database.during(signal, (connection) => database.formed(connection, rows, form, signal));
      } catch (error) {
        throw explained(error);
      }
    },
    close: async () => {
      await database.close();
      kept = undefined;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
