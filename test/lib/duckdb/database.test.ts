import { copyFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { temporaryFolder } from '../../support/context.ts';

test('a file is never taken for the one that lay in its place before, though it is of the same size', async () => {
  const folder = temporaryFolder();
  const database = await openDatabase({});
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
