import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { literal, openDatabase, parquet } from '../../../lib/duckdb/database.ts';
import { temporaryFolder } from '../../support/context.ts';

test('a file is never taken for the one that lay in its place before, though it is of the same size', async () => {
  const folder = temporaryFolder();
  const database = await openDatabase({ places: ['/'] });
  const connection = await database.connect();
  const filesBySize = new Map<number, number[]>();
  for (let n = 0; n < 100; n += 1) {
    const path = join(folder, `${n}.parquet`);
    const rows = `SELECT ${n} AS n, i, md5((${n} * 1000 + i)::VARCHAR) AS noise FROM range(10) AS numbers (i)`;
    await connection.run(`COPY (${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION snappy)`);
    const { size } = statSync(path);
    filesBySize.set(size, [...(filesBySize.get(size) ?? []), n]);
  }
  const alike = [...filesBySize.values()].toSorted((a, b) => b.length - a.length)[0] ?? [];
  expect(alike.length).toBeGreaterThan(5);
  const inTurn = Array.from({ length: 100 }, (_, turn) => alike[turn % alike.length] as number);
  const place = join(folder, 'place.parquet');
  const read: number[] = [];
  for (const n of inTurn) {
    rmSync(place, { force: true });
    copyFileSync(join(folder, `${n}.parquet`), place);
    const rows = await connection.runAndReadAll(`SELECT n, noise FROM read_parquet([${literal(place)}]) ORDER BY i`);
    read.push(Number(rows.getRows()[0]?.[0]));
  }
  connection.closeSync();
  database.closeSync();
  expect(read).toEqual(inTurn);
});

test('the metadata of a file is kept as long as nobody touches it, where that is wanted', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'file.parquet');
  const other = join(folder, 'other.parquet');
  const writing = await openDatabase({ places: [folder] });
  const writer = await writing.connect();
  await writer.run(`COPY (SELECT i AS n FROM range(3) AS r(i)) TO ${literal(path)} (FORMAT parquet)`);
  await writer.run(
    `COPY (SELECT 'x' AS n, md5(i::VARCHAR) AS m FROM range(90) AS r(i)) TO ${literal(other)} (FORMAT parquet)`,
  );
  writer.closeSync();
  writing.closeSync();
  const [long, hour] = [2 * 3_600, 3_600].map((seconds) => Date.now() / 1000 - seconds) as [number, number];
  utimesSync(path, long, long);
  const good = readFileSync(path);

  const readings = async (keepsMetadata: boolean) => {
    const database = await openDatabase({ places: [folder], keepsMetadata });
    const connection = await database.connect();
    const read = async (touched: number, bytes?: Buffer): Promise<unknown> => {
      if (bytes !== undefined) writeFileSync(path, bytes);
      utimesSync(path, touched, touched);
      const rows = connection.runAndReadAll(`SELECT count(*) FROM read_parquet([${literal(path)}])`);
      return rows.then((found) => Number(found.getRows()[0]?.[0])).catch(() => 'not read');
    };
    const emptied = Buffer.concat([good.subarray(0, -8), Buffer.alloc(8)]);
    const found = [
      await read(long, good),
      // Its end, which is its metadata, is gone, but the times say that nobody has touched it.
      await read(long, emptied),
      await read(hour, emptied),
      await read(hour, readFileSync(other)),
      await read(long, good),
    ];
    rmSync(path);
    const gone = await connection.run(`SELECT count(*) FROM read_parquet([${literal(path)}])`).catch(() => 'not read');
    connection.closeSync();
    database.closeSync();
    return [...found, gone];
  };
  expect(await readings(true)).toEqual([3, 3, 'not read', 90, 3, 'not read']);
  expect(await readings(false)).toEqual([3, 'not read', 'not read', 90, 3, 'not read']);
});

describe('a database opens its places, and nothing else', () => {
  const folder = temporaryFolder();
  const at = (name: string) => literal(join(folder, name));
  const one = '(SELECT 1 AS n)';
  const file = (name: string) => `COPY ${one} TO ${at(name)} (FORMAT parquet)`;
  let run: (sql: string) => Promise<unknown>;
  let close: () => void;

  beforeAll(async () => {
    for (const name of ['real', 'other', 'odd [1]*']) mkdirSync(join(folder, name));
    symlinkSync(join(folder, 'real'), join(folder, 'link'));
    symlinkSync(join(folder, 'other'), join(folder, 'real', 'out'));
    const places = ['link', 'odd [1]*', 'later/made', 'one.parquet'].map((name) => join(folder, name));
    const database = await openDatabase({ places, tempDirectory: join(folder, 'spill') });
    const connection = await database.connect();
    run = (sql) => connection.run(sql);
    close = () => {
      connection.closeSync();
      database.closeSync();
    };
  });
  afterAll(() => close());

  test('a folder behind a link, one with the characters of patterns, one that is made later, a file', async () => {
    mkdirSync(join(folder, 'later', 'made'), { recursive: true });
    for (const name of ['link/a.parquet', 'odd [1]*/a.parquet', 'later/made/a.parquet', 'one.parquet']) {
      await run(file(name));
      await expect(run(`SELECT * FROM ${parquet([join(folder, name)])}`)).resolves.toBeDefined();
    }
  });

  test.each([
    ['reads another file', "SELECT * FROM read_text('/etc/hostname')", 'Permission Error'],
    ['looks for files', "SELECT * FROM glob('/etc/*')", 'Permission Error'],
    ['writes another file', file('other/a.parquet'), 'Permission Error'],
    ['goes out by dots', file('real/../other/a.parquet'), 'Permission Error'],
    ['goes out by a link', file('real/out/a.parquet'), 'Permission Error'],
    ['attaches a database', `ATTACH ${at('other/a.db')}`, 'Permission Error'],
    ['exports', `EXPORT DATABASE ${at('other/all')}`, 'Permission Error'],
    ['loads an extension', 'LOAD httpfs', 'Permission Error'],
    ['asks the network', "SELECT * FROM read_parquet('http://127.0.0.1:9/a.parquet')", 'Error'],
    ['allows more', "SET GLOBAL allowed_directories = ['/']", 'configuration has been locked'],
    ['unlocks', 'SET GLOBAL lock_configuration = false', 'configuration has been locked'],
    ['takes more memory', "SET memory_limit = '64GB'", 'configuration has been locked'],
    ['writes a profile', `PRAGMA profile_output = ${at('other/profile')}`, 'configuration has been locked'],
  ])('refuses a statement that %s', async (_, sql, message) => {
    await expect(run(sql)).rejects.toThrow(message);
    for (const name of ['a.parquet', 'a.db', 'all', 'profile'])
      expect(existsSync(join(folder, 'other', name))).toBe(false);
  });
});
