/**
 * What somebody asked to be forgotten: the events of a person, and what was known of them. Their distinct_ids are kept, as
 * hashes, so that nothing that happened before comes in again: not from the inbox, nor by importing a file once more.
 */
import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { literal, openDatabase, parquet } from '../../duckdb/database.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { type Item, MAX_TRANSACTION, type Op, type Table } from '../../ports/table/table.ts';
import { allFiles, personStates } from '../catalog.ts';
import { writeDayFiles } from '../day-files.ts';
import { intactCopies, intactFiles } from '../intact.ts';
import { learnedProperties } from '../learned-properties.ts';
import { type Lease, type Publishing, writeUnderLease } from '../lease.ts';
import { replaceFiles } from '../replace.ts';
import type { Model } from '../schema.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    forgotten: ForgottenItem;
  }
}

/** A distinct_id, by its hash, of which no event is taken that happened up to then. */
interface ForgottenItem extends Item {
  readonly sha256: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const sha256Of = (distinctId: string): string => hash('sha256', distinctId, 'hex');

/** SQL of the rows of what was forgotten, over `distinct_id` and `timestamp_us`; undefined: nothing was. */
export async function forgottenRows(table: Table, projectId: number): Promise<string | undefined> {
  const items = await listAll(table, ranges.forgotten(projectId));
  if (items.length === 0) return undefined;
  const cases = items.map(({ sha256, at }) => `WHEN ${literal(sha256)} THEN timestamp_us <= ${at * 1000}`);
  return `(CASE sha256(distinct_id) ${cases.join(' ')} ELSE false END)`;
}

/**
 * Takes the events of distinct_ids out of the lake, and what was known of their persons: all of it from the files that are
 * listed from now on; the old ones are removed two days later. It may be repeated after it died anywhere.
 */
export async function forget(
  context: Publishing,
  lease: Lease,
  distinctIds: readonly string[],
  temporaryFolder = tmpdir(),
): Promise<void> {
  const { lake, clock } = context;
  const { projectId } = lease;
  const at = clock();
  const marks = distinctIds.map((id): Op => {
    const sha256 = sha256Of(id);
    return { put: { ...keys.forgotten(projectId, sha256), sha256, at } };
  });
  for (let n = 0; n < marks.length; n += MAX_TRANSACTION - 1)
    await writeUnderLease(context, lease, marks.slice(n, n + MAX_TRANSACTION - 1));
  const folder = await mkdtemp(join(temporaryFolder, 'forgetting-'));
  const database = await openDatabase({
    memoryLimit: '225MB',
    threads: 2,
    tempDirectory: join(folder, 'spill'),
    places: [folder, lake.root],
  });
  const connection = await database.connect();
  try {
    const theirs = `distinct_id IN (${distinctIds.map(literal).join(', ')})`;
    const own = { connection, folder };
    const left = `NOT (${theirs})`;
    await rewrite(context, lease, { ...own, model: 'events', of: theirs, columns: '*', where: left });
    const known = `${theirs} AND properties <> '{}'`;
    const columns = `* REPLACE (CASE WHEN ${theirs} THEN '{}' ELSE properties END AS properties)`;
    await rewrite(context, lease, { ...own, model: 'persons', of: known, columns, where: 'true' });
    // It is made again of the files.
    await writeUnderLease(context, lease, [{ remove: keys.personsState(projectId) }]);
    await lake.remove(personStates(projectId));
  } finally {
    connection.closeSync();
    database.closeSync();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Rewriting {
  readonly connection: DuckDBConnection;
  readonly folder: string;
  readonly model: Model;
  /** SQL of the rows for which a file is written anew. */
  readonly of: string;
  /** SQL of the columns that it has then, and of its rows. */
  readonly columns: string;
  readonly where: string;
}

/** Writes each file anew that has such rows. What is joined meanwhile is looked at again. */
async function rewrite(
  context: Publishing,
  lease: Lease,
  { connection, folder, model, of, columns, where }: Rewriting,
) {
  const { table, lake } = context;
  const { projectId } = lease;
  for (let isAgain = true; isAgain; ) {
    isAgain = false;
    for (const file of await allFiles(table, projectId, model)) {
      lease.signal.throwIfAborted();
      const [copy = ''] = await intactCopies(lake, intactFiles(), [file], join(folder, 'copies'));
      const found = await connection.runAndReadAll(`SELECT 1 FROM ${parquet([copy])} WHERE ${of} LIMIT 1`);
      if (found.getRows().length === 0) continue;
      const rows = `(SELECT ${columns} FROM ${parquet([copy])} WHERE ${where})`;
      const isReplaced = await replaceFiles(context, { projectId, model, files: [file] }, async (target, name) => {
        const learned = await learnedProperties(table, projectId);
        const place = { scratch: join(folder, 'parquet'), folder: target, lake, nameOf: () => name, learned };
        return (await writeDayFiles(connection, model, rows, place))[0];
      });
      if (!isReplaced) isAgain = true;
    }
  }
}
