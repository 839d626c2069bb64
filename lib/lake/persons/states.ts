/**
 * Where the states of a project's persons are, for the next import: a snapshot of all of them in buckets, and the
 * change rows since. The snapshot only saves reading; it is made again when the changes exceed a tenth of it. Until then
 * many files of changes become one, so that what is written grows with the changes, not with the persons that there are.
 * Whoever holds the project's lease may use it, and nobody else.
 */
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { messageOf } from '../../basics/text.ts';
import { connected, literal, parquet } from '../../duckdb/database.ts';
import { isOutOfMemory } from '../../duckdb/failures.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Item, Table } from '../../ports/table/table.ts';
import { allFiles, type LakeFile, type PublishedFile, personStates, publishedAt } from '../catalog.ts';
import { fileForm, meanBytes } from '../day-files.ts';
import { digestOf, type FileDigest, type Intact, intactCopies } from '../intact.ts';
import { type Lease, type Publishing, writeUnderLease } from '../lease.ts';
import { BUCKET, COLUMNS, column, newestIn, type StateFiles } from './derive.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    personsState: PersonsStateItem;
  }
}

export interface PersonStates {
  /** When the newest change rows were published, milliseconds; -1: there are none. */
  newest(): number;
  files: StateFiles;
  /** Takes note of files that were just published. */
  add(files: readonly PublishedFile[]): void;
  /** Makes the snapshot again, if it is time for that. It stays as it was, and the log is told, where memory is too little. */
  renew(database: DuckDBInstance): Promise<void>;
}

/** What the table says of the snapshot. */
interface Snapshot {
  /** It holds what was published up to then, milliseconds. */
  readonly at: number;
  readonly rows: number;
  /** Each bucket's file, by its number. */
  readonly buckets: Readonly<Record<string, Bucket>>;
  /** The newest of the changes that were published since, up to then (milliseconds), in one file. */
  readonly recent: (Bucket & { readonly at: number }) | null;
}

/** The snapshot as stored. */
interface PersonsStateItem extends Item, Omit<Snapshot, 'buckets' | 'recent'> {
  readonly buckets: JsonText<Snapshot['buckets']>;
  /** Absent: there is none. */
  readonly recent?: JsonText<Snapshot['recent']>;
}

type Bucket = Stored & Pick<LakeFile, 'rows'>;

type Stored = Pick<LakeFile, 'path' | keyof FileDigest>;

/** Fewer changes than these, or files of them, are read as fast as a snapshot is written. */
const FEW = { rows: 10_000, files: 32 };
const TENTH = 0.1;

const numbersOf = async (connection: DuckDBConnection, sql: string): Promise<number[]> =>
  (await column(connection, sql)).map(Number);

/** Opens the states of the project whose lease this is. Copies of files go to `folder`, on the local disk. */
export async function openPersonStates(
  context: Publishing,
  lease: Lease,
  folder: string,
  isIntact: Intact,
): Promise<PersonStates> {
  const { table, lake, log } = context;
  const { projectId } = lease;
  const scratch = join(folder, 'renewed');
  let snapshot = snapshotOf(await table.get(keys.personsState(projectId)));
  let changes: LakeFile[] = [];
  const heldUpTo = (): number => snapshot.recent?.at ?? snapshot.at;
  let newest = heldUpTo();

  const add = (files: readonly LakeFile[]): void => {
    const later = files.filter((file) => publishedAt(file) > heldUpTo());
    changes = [...changes, ...later];
    newest = later.reduce((latest, file) => Math.max(latest, publishedAt(file)), newest);
  };
  add(await allFiles(table, projectId, 'persons'));

  const changed = (): readonly Bucket[] => [...(snapshot.recent === null ? [] : [snapshot.recent]), ...changes];
  const changedRows = (): number => changed().reduce((sum, file) => sum + file.rows, 0);
  const areMany = (): boolean => changedRows() > snapshot.rows * TENTH;
  const isTime = (): boolean => (changedRows() > FEW.rows && areMany()) || changes.length > FEW.files;

  const local = (files: readonly Stored[]): Promise<string[]> => intactCopies(lake, isIntact, files, folder);

  const put = async (connection: DuckDBConnection, name: string, rowsOf: string, mean: number): Promise<Bucket> => {
    lease.signal.throwIfAborted();
    const path = `${personStates(projectId)}at=${newest}/${name}.parquet`;
    const file = join(scratch, `${name.replace('/', '-')}.parquet`);
    await connection.run(`COPY (${rowsOf} ORDER BY distinct_id) TO ${literal(file)} (${fileForm(mean)})`);
    const [rows = 0] = await numbersOf(connection, `SELECT count(*) FROM ${parquet([file])}`);
    const { size: bytes } = await stat(file);
    const sha256 = await digestOf(file);
    await lake.take(file, path);
    return { path, rows, bytes, sha256 };
  };

  /** Writes the changes as one file beside the snapshot's buckets. */
  const writeRecent = async (connection: DuckDBConnection, mean: number): Promise<Snapshot> => {
    const file = await put(connection, 'recent', `SELECT ${COLUMNS} FROM person_renewed`, mean);
    return { ...snapshot, recent: { at: newest, ...file } };
  };

  /** Writes each bucket that has changes anew, with them. */
  const writeBuckets = async (connection: DuckDBConnection, mean: number): Promise<Snapshot> => {
    const buckets: Record<string, Bucket> = { ...snapshot.buckets };
    for (const bucket of await numbersOf(connection, 'SELECT DISTINCT bucket FROM person_renewed ORDER BY ALL')) {
      const sources = [
        `SELECT ${COLUMNS} FROM person_renewed WHERE bucket = ${bucket}`,
        ...(await local([buckets[bucket] ?? []].flat())).map(
          (before) => `SELECT ${COLUMNS} FROM ${newestIn([before])}
            WHERE distinct_id NOT IN (SELECT distinct_id FROM person_renewed WHERE bucket = ${bucket})`,
        ),
      ];
      const name = `bucket=${String(bucket).padStart(2, '0')}/0`;
      buckets[bucket] = await put(connection, name, sources.join(' UNION ALL '), mean);
    }
    const rows = Object.values(buckets).reduce((sum, bucket) => sum + bucket.rows, 0);
    return { at: newest, rows, buckets, recent: null };
  };

  const write = async (connection: DuckDBConnection): Promise<Snapshot> => {
    try {
      await mkdir(scratch, { recursive: true });
      // A file that took the place of others may hold rows that the snapshot holds, too.
      await connection.run(`CREATE OR REPLACE TABLE person_renewed AS
        SELECT *, ${BUCKET} AS bucket FROM ${newestIn(await local(changed()))} ORDER BY bucket, distinct_id`);
      const [mean = 0] = await numbersOf(connection, `SELECT ${meanBytes('persons')} FROM person_renewed`);
      return await (areMany() ? writeBuckets(connection, mean) : writeRecent(connection, mean));
    } finally {
      await connection.run('DROP TABLE IF EXISTS person_renewed');
      await rm(scratch, { recursive: true, force: true });
    }
  };

  /** Removes what no snapshot names: of the one before, and of any that was not finished. */
  const sweep = async (): Promise<void> => {
    const named = new Set(filesOf(snapshot).map(({ path }) => path));
    for await (const { path } of lake.list(personStates(projectId))) {
      const at = Number(/\/at=(\d+)\//.exec(path)?.[1]);
      // What is later than this snapshot is of a later holder of the lease.
      if (at <= heldUpTo() && !named.has(path)) await lake.remove(path);
    }
  };

  return {
    newest: () => newest,
    files: (numbers) => {
      const buckets = Object.entries(snapshot.buckets).filter(([n]) => numbers?.includes(Number(n)) ?? true);
      return local([...buckets.map(([, bucket]) => bucket), ...changed()]);
    },
    add: (files) => add(files.filter(({ model }) => model === 'persons')),
    renew: async (database) => {
      if (!isTime()) return;
      const made = await connected(database, write).catch((thrown: unknown) => {
        if (!isOutOfMemory(thrown)) throw thrown;
        const reason = messageOf(thrown);
        log.warning('there is too little memory to put the states of persons together', { project: projectId, reason });
      });
      if (made === undefined) return;
      const texts = { buckets: toJsonText(made.buckets), recent: toJsonText(made.recent) };
      const item = { ...keys.personsState(projectId), ...made, ...texts };
      await writeUnderLease(context, lease, [{ put: item }]);
      snapshot = made;
      changes = [];
      await sweep();
    },
  };
}

/** Returns the files of a project's snapshot, as the table names them now. */
export async function snapshotFiles(table: Table, projectId: number): Promise<Stored[]> {
  return filesOf(snapshotOf(await table.get(keys.personsState(projectId))));
}

const filesOf = ({ buckets, recent }: Snapshot): Stored[] => [
  ...Object.values(buckets),
  ...(recent === null ? [] : [recent]),
];

const snapshotOf = (item: PersonsStateItem | undefined): Snapshot =>
  item === undefined
    ? { at: -1, rows: 0, buckets: {}, recent: null }
    : {
        at: item.at,
        rows: item.rows,
        buckets: fromJsonText(item.buckets),
        recent: item.recent === undefined ? null : fromJsonText(item.recent),
      };
