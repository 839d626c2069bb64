/** What a full or broken disk makes libraries throw is real where a test can bring it about. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DuckDBInstance } from '@duckdb/node-api';
import { inWords } from '../../../lib/ports/disk-failures.ts';
import { Permanent, Transient } from '../../../lib/ports/errors.ts';
import { temporaryFolder } from '../../support/context.ts';

/** A device of Linux on which every write fails for want of space. */
const FULL = '/dev/full';

const thrownBy = async (work: () => unknown): Promise<unknown> => {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error('it went well');
};

function sqlite(limit: string): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  database.exec(`CREATE TABLE t (x); ${limit}`);
  return database;
}

async function duckdb(sql: string): Promise<void> {
  const database = await DuckDBInstance.create(':memory:', {
    memory_limit: '20MB',
    threads: '1',
    temp_directory: temporaryFolder(),
  });
  const connection = await database.connect();
  try {
    await connection.run(`SET max_temp_directory_size = '1MB'`);
    await connection.run(sql);
  } finally {
    connection.closeSync();
    database.closeSync();
  }
}

const code = (name: string) => Object.assign(new Error(name), { code: name });

test.each([
  ['a file on a full disk', () => writeFileSync(FULL, 'x'), /^The disk of the service is full/],
  [
    'a table on a full disk',
    () => sqlite('PRAGMA max_page_count = 2').exec('INSERT INTO t VALUES (hex(zeroblob(9000)))'),
    /is full/,
  ],
  ['a table that may only be read', () => sqlite('PRAGMA query_only = 1').exec('DELETE FROM t'), /is read-only/],
  [
    'a table that cannot be opened',
    () => new DatabaseSync(join(temporaryFolder(), 'nowhere', 'table.db')),
    /could not open a file/,
  ],
  [
    'rows that are written to a full disk',
    () => duckdb(`COPY (SELECT range FROM range(100000)) TO '${FULL}' (FORMAT csv, USE_TMP_FILE false)`),
    /is full/,
  ],
  [
    'rows that are spilled to a full disk',
    () => duckdb('CREATE TABLE sorted AS SELECT sha256(range::VARCHAR) AS x FROM range(400000) ORDER BY x'),
    /is full/,
  ],
  ['a quota', () => Promise.reject(code('EDQUOT')), /quota of the service is used up/],
  ['too many open files', () => Promise.reject(code('EMFILE')), /too many files open/],
  [
    'a full disk of another process',
    () => Promise.reject(new Error('ENOSPC: no space left on device, write')),
    /is full/,
  ],
  ['a disk that gives errors', () => Promise.reject(code('EIO')), /gives errors/],
])('%s may pass, and is told in words', async (_, work, words) => {
  const told = inWords(await thrownBy(work)) as Error;
  expect(told).toBeInstanceOf(Transient);
  expect(told.message).toMatch(words);
});

test.each([
  ['a file that is not there', code('ENOENT')],
  ['a mistake', new TypeError('No space left on device')],
  ['what only a person can mend', new Permanent('The disk is full.')],
  ['nothing', undefined],
])('%s stays as it is', (_, error) => {
  expect(inWords(error)).toBe(error);
});
