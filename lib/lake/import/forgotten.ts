/**
 * What somebody asked to be forgotten: the events of a person, and what was known of them. Their distinct_ids are kept, as
 * hashes, so that nothing that happened before comes in again: not from the inbox, nor by importing a file once more.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { makeTable, parquet } from '../../duckdb/database.ts';
import type { DatabaseJob } from '../../duckdb/pool.ts';
import { idsIn, keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { type Item, MAX_TRANSACTION, type Op, type Table } from '../../ports/table/table.ts';
import { allFiles, type LakeFileItem, personStates } from '../catalog.ts';
import { writeDayFiles } from '../day-files.ts';
import { intactCopies, intactFiles } from '../intact.ts';
import { learnedProperties } from '../learned-properties.ts';
import { type LakeWriter, type Lease, type Publishing, writeUnderLease } from '../lease.ts';
import type { FoundPerson } from '../persons/change.ts';
import { forgottenId } from '../persons/forgotten-id.ts';
import { replaceFiles } from '../replace.ts';
import type { Model } from '../schema.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    forgotten: ForgottenItem;
  }
}

/** A distinct_id, by its hash, of which no event is taken that happened up to then. */
export interface Forgotten {
  readonly sha256: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

type ForgottenItem = Item & Forgotten;

/** A person as they were found, and those of their distinct_ids that are forgotten. */
export interface ForgottenPerson {
  readonly person: FoundPerson;
  readonly forgotten: readonly Forgotten[];
}

/** Returns what is kept of a distinct_id that is forgotten. */
export const forgottenOf = (distinctId: string, at: number): Forgotten => ({ sha256: forgottenId(distinctId), at });

/** So many that are forgotten are read at once, and so many hashes are asked for one by one at most. */
const FEW = 1_000;
const MANY = 20_000;

/**
 * Returns what is forgotten of a project, at least where it has one of these hashes. A project may forget many more than
 * it hears of at a time: then only these are read.
 */
export async function forgottenAmong(
  table: Table,
  projectId: number,
  hashes: () => Promise<readonly string[]>,
): Promise<readonly Forgotten[]> {
  const range = ranges.forgotten(projectId);
  const { items, cursor } = await table.list(range, { limit: FEW });
  if (cursor === undefined) return items;
  const sought = await hashes();
  if (sought.length > MANY) return listAll(table, range);
  const found = await table.many(sought.map((sha256) => keys.forgotten(projectId, sha256)));
  return found.filter((one) => one !== undefined);
}

/** Puts them into a table `forgotten`: `sha256`, and `at_us`, microseconds since 1970. They may be many: rows are joined to it. */
export const makeForgottenTable = (connection: DuckDBConnection, forgotten: readonly Forgotten[]): Promise<void> =>
  makeTable(
    connection,
    'forgotten',
    'sha256 VARCHAR, at_us BIGINT',
    forgotten.map(({ sha256, at }) => [sha256, at * 1000]),
  );

/** SQL of whether a row is forgotten that happened at this time, in microseconds since 1970, beside `forgotten`. */
export const isForgotten = (time: string): string =>
  `EXISTS (SELECT 1 FROM forgotten WHERE forgotten.sha256 = sha256(distinct_id) AND ${time} <= at_us)`;

/**
 * Has nothing of them taken from now on, whoever adds to the project. What is forgotten until later than that stays so: a
 * deletion may be done once more after one that was asked for since.
 */
export async function markForgotten(context: Publishing, lease: Lease, forgotten: readonly Forgotten[]): Promise<void> {
  const known = await context.table.many(forgotten.map(({ sha256 }) => keys.forgotten(lease.projectId, sha256)));
  const raised = forgotten.filter(({ at }, n) => at > (known[n]?.at ?? Number.NEGATIVE_INFINITY));
  for (let n = 0; n < raised.length; n += MAX_TRANSACTION - 1) {
    const marks = raised.slice(n, n + MAX_TRANSACTION - 1);
    const ops = marks.map((one): Op => ({ put: { ...keys.forgotten(lease.projectId, one.sha256), ...one } }));
    await writeUnderLease(context, lease, ops);
  }
}

/** A walk through files that may be cut, and goes on where it was. */
export interface Walk {
  /** Where a walk before was cut. Default, and null: this is the first. */
  readonly place?: string | null;
  /** It begins no other file then, milliseconds since 1970. Default: it goes on to the end. */
  readonly until?: number;
}

/**
 * Takes the events of what is forgotten out of the files that are listed from now on; the old ones are removed two days
 * later. They are marked (`markForgotten`), so no file that comes now has any: this needs no lease, and may be repeated
 * after it died anywhere. Returns the place at which its time was over; null: all is done.
 */
export async function forgetEvents(
  context: LakeWriter,
  projectId: number,
  forgotten: readonly Forgotten[],
  walk: Walk = {},
): Promise<string | null> {
  // What has arrived since is of the persons that they have become.
  const isTheirs = isForgotten('least(timestamp_us, inserted_us)');
  const rewriting = { model: 'events', of: isTheirs, columns: '*', where: `NOT ${isTheirs}`, ...walk } as const;
  return context.databases.use(async (job) => {
    await makeForgottenTable(job.connection, forgotten);
    return rewritten(context, projectId, rewriting, job);
  });
}

/**
 * SQL of whether a row is a state of a forgotten person, beside `forgotten_persons`: any until they were found, and of those
 * since the ones that are theirs. Who has taken a distinct_id over since, and who was made anew with the id, keeps their states.
 * `IN` says nothing that `EXISTS` does not; it is looked up first, and few rows pass it.
 */
const IS_THEIRS = `sha256(distinct_id) IN (SELECT sha256 FROM forgotten_persons) AND EXISTS (SELECT 1 FROM forgotten_persons found WHERE found.sha256 = sha256(distinct_id) AND
  (inserted_us <= found.found_version OR (person_id = found.found_id AND person_distinct_id_version <= found.found_version)))`;

/**
 * Takes what was known of persons out of the files that are listed from now on, as `forgetEvents` does; under the lease, as
 * states that come meanwhile would be made of it.
 */
export async function forgetProperties(
  context: LakeWriter,
  lease: Lease,
  persons: readonly ForgottenPerson[],
): Promise<void> {
  const { projectId, signal } = lease;
  const of = `properties <> '{}' AND ${IS_THEIRS}`;
  const columns = `* REPLACE (CASE WHEN ${IS_THEIRS} THEN '{}' ELSE properties END AS properties)`;
  const rewriting = { model: 'persons', of, columns, where: 'true', signal } as const;
  await context.databases.use(async (job) => {
    const theirs = persons.flatMap(({ person: { id, version }, forgotten }) =>
      forgotten.map(({ sha256 }) => [sha256, id, version]),
    );
    const theirColumns = 'sha256 VARCHAR, found_id VARCHAR, found_version BIGINT';
    await makeTable(job.connection, 'forgotten_persons', theirColumns, theirs);
    await rewritten(context, projectId, rewriting, job);
  });
  // It is made again of the files.
  await writeUnderLease(context, lease, [{ remove: keys.personsState(projectId) }]);
  await context.lake.remove(personStates(projectId));
}

/** Its SQL stands beside the table of what is forgotten. */
interface Rewriting extends Walk {
  readonly model: Model;
  /** SQL of the rows for which a file is written anew. */
  readonly of: string;
  /** SQL of the columns that it has then, and of its rows. */
  readonly columns: string;
  readonly where: string;
  readonly signal?: AbortSignal;
}

/** Writes each file anew that has such rows. What is joined meanwhile is looked at again. Returns where it was cut. */
async function rewritten(
  context: LakeWriter,
  projectId: number,
  { model, of, columns, where, place = null, until = Number.POSITIVE_INFINITY, signal }: Rewriting,
  { connection, folder }: DatabaseJob,
): Promise<string | null> {
  const { table, lake, clock } = context;
  const learned = await learnedProperties(table, projectId);
  /** Returns whether the file has none of them, or another has taken its place that has none. */
  const isWithout = async (file: LakeFileItem): Promise<boolean> => {
    const copies = join(folder, 'copies');
    const [copy = ''] = await intactCopies(lake, intactFiles(), [file], copies);
    try {
      const found = await connection.runAndReadAll(`SELECT 1 FROM ${parquet([copy])} WHERE ${of} LIMIT 1`);
      if (found.getRows().length === 0) return true;
      const rows = `(SELECT ${columns} FROM ${parquet([copy])} WHERE ${where})`;
      return await replaceFiles(context, { projectId, model, files: [file] }, async (target, name) => {
        const made = { scratch: join(folder, 'parquet'), folder: target, lake, nameOf: () => name, learned };
        return (await writeDayFiles(connection, model, rows, made))[0];
      });
    } finally {
      await rm(copies, { recursive: true, force: true });
    }
  };
  const done = new Set<string>();
  for (let from = place ?? '', isAgain = true; isAgain; ) {
    isAgain = false;
    for (const file of await allFiles(table, projectId, model)) {
      if (file.sk < from || done.has(file.path)) continue;
      signal?.throwIfAborted();
      // What may take its place meanwhile comes no earlier: it is as late as the latest of what it replaces.
      from = idsIn.lakePlace(file);
      if (clock() >= until) return from;
      isAgain = !(await isWithout(file));
      if (isAgain) break;
      done.add(file.path);
    }
  }
  return null;
}
