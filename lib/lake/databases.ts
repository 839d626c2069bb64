import { type DatabasePool, databasePool } from '../duckdb/pool.ts';
import type { FileStore } from '../ports/files/files.ts';

/**
 * Of a million events that all change persons, an import holds 680 MB at most: 290 are Node's, what DuckDB does not
 * count (pieces of files, texts on their way) is the rest. More threads need more: each builds a row group.
 */
const LIMITS = { memoryLimit: '225MB', threads: 2 };

interface LakeDatabasesOptions {
  /**
   * For the files of jobs: of an import some 500 bytes for each of a million rows, and of a lake that is not on this machine
   * copies of the files that are read. Default: the system's temporary folder.
   */
  readonly folder?: string;
  /** What the databases may open beside it and the lake. */
  readonly places?: readonly string[];
}

/** Returns the databases of a process with which files of a lake are made: by imports, landings, joins and deletions. */
export const lakeDatabases = (lake: FileStore, { folder, places = [] }: LakeDatabasesOptions = {}): DatabasePool =>
  databasePool({ ...LIMITS, folder, places: [lake.root, ...places] });
