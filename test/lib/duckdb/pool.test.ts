import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DuckDBInstance } from '@duckdb/node-api';
import { connected } from '../../../lib/duckdb/database.ts';
import { type DatabaseJob, type DatabasePool, databasePool } from '../../../lib/duckdb/pool.ts';
import { temporaryFolder } from '../../support/context.ts';
import { onEnd } from '../../support/on-end.ts';

function pool(folder = temporaryFolder(), places: readonly string[] = []): DatabasePool {
  const made = databasePool({ folder, places, threads: 1 });
  onEnd(() => made.close());
  return made;
}

const valueOf = (database: DuckDBInstance, sql: string): Promise<unknown> =>
  connected(database, async (connection) => (await connection.runAndReadAll(sql)).getRows()[0]?.[0]);

const tables = ({ database }: DatabaseJob) =>
  valueOf(database, 'SELECT list(table_name ORDER BY ALL) FROM duckdb_tables()');

const itself = async ({ database }: DatabaseJob) => database;

describe('Databases that are lent', () => {
  test('one job has the database of the one before, and none of its tables', async () => {
    const databases = pool();
    const first = await databases.use(async (job) => {
      await valueOf(job.database, 'CREATE TABLE "of a ""job""" AS SELECT 1');
      await job.connection.run('CREATE TABLE another AS SELECT 2');
      expect(await tables(job)).toMatchObject({ items: ['another', 'of a "job"'] });
      return job.database;
    });
    await databases.use(async (job) => {
      expect(job.database).toBe(first);
      expect(await tables(job)).toBeNull();
    });
  });

  test('two jobs at the same time have two', async () => {
    const databases = pool();
    const both = await databases.use(async ({ database: one }) => {
      await valueOf(one, 'CREATE TABLE numbers AS SELECT 1 AS n');
      return databases.use(async ({ database: other }) => {
        await valueOf(other, 'CREATE TABLE numbers AS SELECT 2 AS n');
        return [await valueOf(one, 'SELECT n FROM numbers'), await valueOf(other, 'SELECT n FROM numbers')];
      });
    });
    expect(both).toEqual([1, 2]);
  });

  test('of a job that fails the error is told, and its tables and its files are gone', async () => {
    const folder = temporaryFolder();
    const databases = pool(folder);
    const failing = databases.use(async (job) => {
      writeFileSync(join(job.folder, 'half'), '');
      await valueOf(job.database, 'CREATE TABLE half AS SELECT 1');
      await valueOf(job.database, 'SELECT * FROM nowhere');
    });
    await expect(failing).rejects.toThrow('nowhere');
    expect(readdirSync(folder)).toEqual([]);
    expect(await databases.use(tables)).toBeNull();
  });

  test('one that cannot be emptied is lent to nobody', async () => {
    const databases = pool();
    const broken = await databases.use(async ({ database }) => {
      database.closeSync();
      return database;
    });
    expect(await databases.use(itself)).not.toBe(broken);
  });

  test('they open what is in the folder and in the places and nothing else, and spill into the folder', async () => {
    const [folder, place, elsewhere] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
    await pool(folder, [place]).use(async ({ database, folder: own }) => {
      for (const one of [folder, own, place, elsewhere]) writeFileSync(join(one, 'one.csv'), 'n\n7\n');
      const read = (one: string) => valueOf(database, `SELECT n FROM read_csv('${one}/one.csv')`);
      expect([await read(folder), await read(own), await read(place)]).toEqual([7n, 7n, 7n]);
      await expect(read(elsewhere)).rejects.toThrow('disabled');
      expect(dirname(String(await valueOf(database, "SELECT current_setting('temp_directory')")))).toBe(folder);
    });
  });

  test('a folder is of one job alone, and is gone when it ends', async () => {
    const databases = pool();
    const [one, other] = await databases.use(({ folder }) => databases.use(async (inner) => [folder, inner.folder]));
    expect(one).not.toBe(other);
    expect([one, other].map((folder) => existsSync(folder))).toEqual([false, false]);
  });

  test('one that is given back after the end is closed', async () => {
    const databases = pool();
    const late = await databases.use(async ({ database }) => {
      databases.close();
      return database;
    });
    await expect(late.connect()).rejects.toThrow('closed');
  });
});
