import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DuckDBInstance } from '@duckdb/node-api';
import { type DatabasePool, databasePool } from '../../../lib/duckdb/pool.ts';
import { temporaryFolder } from '../../support/context.ts';
import { onEnd } from '../../support/on-end.ts';

function pool(places: readonly string[] = []): DatabasePool {
  const made = databasePool({ folder: temporaryFolder(), places, threads: 1 });
  onEnd(() => made.close());
  return made;
}

async function valueOf(database: DuckDBInstance, sql: string): Promise<unknown> {
  const connection = await database.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
  } finally {
    connection.closeSync();
  }
}

const tables = (database: DuckDBInstance) =>
  valueOf(database, 'SELECT list(table_name ORDER BY ALL) FROM duckdb_tables()');

const itself = async (database: DuckDBInstance) => database;

describe('Databases that are lent', () => {
  test('one job has the database of the one before, and none of its tables', async () => {
    const databases = pool();
    const first = await databases.use(async (database) => {
      await valueOf(database, 'CREATE TABLE "of a ""job""" AS SELECT 1');
      await valueOf(database, 'CREATE TABLE another AS SELECT 2');
      expect(await tables(database)).toMatchObject({ items: ['another', 'of a "job"'] });
      return database;
    });
    await databases.use(async (database) => {
      expect(database).toBe(first);
      expect(await tables(database)).toBeNull();
    });
  });

  test('two jobs at the same time have two', async () => {
    const databases = pool();
    const both = await databases.use(async (one) => {
      await valueOf(one, 'CREATE TABLE numbers AS SELECT 1 AS n');
      return databases.use(async (other) => {
        await valueOf(other, 'CREATE TABLE numbers AS SELECT 2 AS n');
        return [await valueOf(one, 'SELECT n FROM numbers'), await valueOf(other, 'SELECT n FROM numbers')];
      });
    });
    expect(both).toEqual([1, 2]);
  });

  test('of a job that fails the error is told, and its tables are gone', async () => {
    const databases = pool();
    const failing = databases.use(async (database) => {
      await valueOf(database, 'CREATE TABLE half AS SELECT 1');
      await valueOf(database, 'SELECT * FROM nowhere');
    });
    await expect(failing).rejects.toThrow('nowhere');
    expect(await databases.use(tables)).toBeNull();
  });

  test('one that cannot be emptied is lent to nobody', async () => {
    const databases = pool();
    const broken = await databases.use(async (database) => {
      database.closeSync();
      return database;
    });
    expect(await databases.use(itself)).not.toBe(broken);
  });

  test('they open what is in the folder and in the places and nothing else, and spill into the folder', async () => {
    const [place, elsewhere] = [temporaryFolder(), temporaryFolder()];
    const databases = pool([place]);
    for (const folder of [databases.folder, place, elsewhere]) writeFileSync(join(folder, 'one.csv'), 'n\n7\n');
    await databases.use(async (database) => {
      const read = (folder: string) => valueOf(database, `SELECT n FROM read_csv('${folder}/one.csv')`);
      expect([await read(databases.folder), await read(place)]).toEqual([7n, 7n]);
      await expect(read(elsewhere)).rejects.toThrow('disabled');
      expect(dirname(String(await valueOf(database, "SELECT current_setting('temp_directory')")))).toBe(
        databases.folder,
      );
    });
  });

  test('one that is given back after the end is closed', async () => {
    const databases = pool();
    const late = await databases.use(async (database) => {
      databases.close();
      return database;
    });
    await expect(late.connect()).rejects.toThrow('closed');
  });
});
