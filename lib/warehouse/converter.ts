import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../basics/text.ts';
import { type DatabaseLimits, parquet } from '../duckdb/database.ts';
import { LAKE_MODELS, type Model } from '../lake/schema.ts';
import { Permanent } from '../ports/errors.ts';
import type { FileStore } from '../ports/files/files.ts';
import { collectBuffersRarely } from '../workers/buffers.ts';
import type { PoolTask, WorkerPool } from '../workers/pool.ts';
import type { Converter } from './athena.ts';
import { lineDatabase, linesOf, type Rows } from './line-database.ts';
import { packed, packingOf } from './packing.ts';
import { formedFiles, piecesOf } from './parts.ts';
import type { Form, FrozenPlan, LineForm, ParquetForm } from './warehouse.ts';

interface ConverterOptions {
  readonly runFiles: Pick<FileStore, 'save'>;
  /** Its workers run `convert-worker.ts`. */
  readonly pool: WorkerPool;
  /** Where an interval's files are while they are read: the place of its workers. */
  readonly folder: string;
}

/** What a worker is asked for: rows of files on its disk. */
interface ConvertWanted {
  readonly model: Model;
  readonly files: readonly string[];
}

/** As lines. */
interface LinesWanted extends ConvertWanted {
  readonly form: LineForm;
}

/** As files. */
interface FilesWanted extends ConvertWanted {
  readonly form: ParquetForm;
}

/** What DuckDB, Node and a worker say where memory or disk end. */
const TOO_LARGE = /Out of Memory|takes more memory|No space left on device|ENOSPC|disk of the service is full/;

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
 * DuckDB, in a worker process, over an interval's unloaded files, copied to the disk first. They have no order, so rows
 * are sorted, and spilled where memory ends. The files of the latest interval are kept; one interval at a time may be
 * asked for. `Permanent` when it is too large.
 */
export function pooledConverter(options: ConverterOptions): Converter & { close(): Promise<void> } {
  collectBuffersRarely();
  const { runFiles, pool, folder } = options;
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

  const task = async (
    name: keyof ReturnType<typeof conversions>,
    { organizationId: owner, model }: FrozenPlan,
    paths: readonly string[],
    signal: AbortSignal,
    form?: Form,
  ): Promise<PoolTask> => {
    const input = { model, files: await onDisk(paths), ...(form && { form }) } satisfies ConvertWanted;
    return { name, input, owner, signal };
  };

  return {
    count: async (plan, paths, signal) => {
      try {
        return (await pool.run(await task('count', plan, paths, signal))) as number;
      } catch (error) {
        throw explained(error);
      }
    },
    read: async function* (plan, paths, form, signal) {
      try {
        yield* piecesOf(pool.stream(await task('read', plan, paths, signal, form)), form);
      } catch (error) {
        throw explained(error);
      }
    },
    files: async function* (plan, paths, form, signal) {
      try {
        yield* formedFiles(pool.stream(await task('files', plan, paths, signal, form)));
      } catch (error) {
        throw explained(error);
      }
    },
    close: async () => {
      await pool.close();
      kept = undefined;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const never = new AbortController().signal;

const inOrder = ({ model, files }: ConvertWanted): Rows => ({
  sql: `SELECT * FROM ${parquet(files)} ORDER BY ${LAKE_MODELS[model].order.join(', ')}`,
  paths: files,
});

/** Returns what a worker does of it. */
export function conversions(limits: DatabaseLimits) {
  const database = lineDatabase(limits);
  return {
    count: ({ files }: ConvertWanted) => database.number(`SELECT count(*) FROM ${parquet(files)}`, never),
    read: async function* ({ form, ...wanted }: LinesWanted) {
      const lines = database.during(never, (connection) => linesOf(connection, inOrder(wanted), form, never));
      yield* packed(lines, packingOf(form));
    },
    files: async function* ({ form, ...wanted }: FilesWanted) {
      yield* database.during(never, (connection) => database.files(connection, inOrder(wanted), form));
    },
  };
}
