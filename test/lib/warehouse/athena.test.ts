import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { HOUR_MS } from '../../../lib/basics/units.ts';
import { openDatabase } from '../../../lib/duckdb/database.ts';
import { FILE_COLUMNS } from '../../../lib/exports/destinations/files/config.ts';
import { EVENT_COLUMNS } from '../../../lib/lake/schema.ts';
import { Permanent, Transient } from '../../../lib/ports/errors.ts';
import type { FileStore } from '../../../lib/ports/files/files.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { athenaWarehouse } from '../../../lib/warehouse/athena.ts';
import { pooledConverter } from '../../../lib/warehouse/converter.ts';
import { duckdbWarehouse } from '../../../lib/warehouse/duckdb.ts';
import type { FrozenPlan, Warehouse } from '../../../lib/warehouse/warehouse.ts';
import { workerPool } from '../../../lib/workers/pool.ts';
import { temporaryFolder } from '../../support/context.ts';
import { type PersonRow, type Row, writePersons, writeRows } from '../../support/lake-rows.ts';

const START = Date.UTC(2026, 0, 1);
const converterOf = (runFiles: Pick<FileStore, 'save'>, folder: string, memoryLimit = '400MB') =>
  pooledConverter({
    runFiles,
    folder: join(folder, 'unloaded'),
    pool: workerPool({
      program: join(import.meta.dirname, '../../../lib/warehouse/convert-worker.ts'),
      options: { memoryLimit, place: join(folder, 'unloaded') },
      what: 'Forming its rows',
      turns: { atOnce: 1, each: 1 },
      memory: { each: 1_000, all: 1_000 },
      silenceMs: 60_000,
      folder,
      log: { warning: () => {} },
    }),
  });

const never = new AbortController().signal;
const hour = (n: number) => ({ start: START + n * HOUR_MS, end: START + (n + 1) * HOUR_MS });

const PLAN: FrozenPlan = {
  attempt: 'e-3',
  exportId: 'e',
  organizationId: 'o',
  teamId: 7,
  model: 'events',
  query: { includeEvents: ['paid', "it's {try}"], excludeEvents: ['$pageview'] },
  files: [{ path: 'events/team_id=7/day=2026-01-01/gen=0/0.parquet', from: START, to: START + HOUR_MS }],
  intervals: [hour(0), hour(1)],
};

const inBucket = (bucket: string): Pick<FileStore, 'address'> => ({ address: (path) => `s3://${bucket}/${path}` });
const nothing = { ...inBucket('runFiles'), list: async function* () {} };
const ATHENA = { database: 'dev', workGroup: 'dev-exports', lake: inBucket('lake'), runFiles: nothing };
const queryOf = async (plan: FrozenPlan): Promise<string> =>
  (await athenaWarehouse(ATHENA).unload(plan, [...plan.intervals.keys()]))?.QueryString ?? '';

describe('what Athena is asked', () => {
  test('is one UNLOAD of a batch, with a folder for each interval', async () => {
    expect(await athenaWarehouse(ATHENA).unload(PLAN, [0, 1])).toMatchInlineSnapshot(`
{
  "Database": "dev",
  "QueryString": "UNLOAD (SELECT uuid, event, distinct_id, team_id, properties, timestamp_us, inserted_us, created_us, person_id, person_properties, elements_chain, interval_number FROM (
SELECT uuid, event, distinct_id, CAST(team_id AS bigint) AS team_id, properties, timestamp_us, inserted_us, created_us, person_id, person_properties, elements_chain, CASE WHEN inserted_us >= 1767225600000000 AND inserted_us < 1767229200000000 THEN 0 WHEN inserted_us >= 1767229200000000 AND inserted_us < 1767232800000000 THEN 1 END AS interval_number, CASE WHEN inserted_us >= 1767225600000000 AND inserted_us < 1767229200000000 THEN BIGINT '1767229200000000' WHEN inserted_us >= 1767229200000000 AND inserted_us < 1767232800000000 THEN BIGINT '1767232800000000' END AS interval_end
FROM "dev"."events"
WHERE team_id = '7' AND day BETWEEN '2026-01-01' AND '2026-01-01' AND (inserted_us >= 1767225600000000 AND inserted_us < 1767229200000000 OR inserted_us >= 1767229200000000 AND inserted_us < 1767232800000000) AND event IN ('paid', U&'it''s \\007Btry}') AND event NOT IN ('$pageview') AND "$path" IN ('s3://lake/events/team_id=7/day=2026-01-01/gen=0/0.parquet')))
TO 's3://runFiles/e-3/{try}/'
WITH (format = 'PARQUET', compression = 'SNAPPY', partitioned_by = ARRAY['interval_number'])",
  "WorkGroup": "dev-exports",
}
`);
  });

  test('has one place only where the attempt is put in, whatever events are called', async () => {
    expect((await queryOf(PLAN)).split('{try}')).toHaveLength(2);
  });

  test('always names its files, for others with the same rows lie beside them: by their names alone when they are many', async () => {
    const files = (count: number) =>
      Array.from({ length: count }, (_, n) => ({
        ...PLAN.files[0]!,
        path: `events/team_id=7/day=2026-01-01/gen=0/${n}-01a203ff-5a70-72e8-a109-00ded62e89e6.parquet`,
      }));
    const query = await queryOf({ ...PLAN, files: files(2_500) });
    expect(query).toContain(`regexp_extract("$path", '[^/]+$') IN ('0-01a203ff-`);
    expect(query).toContain("'2499-01a203ff-");
    await expect(queryOf({ ...PLAN, files: files(5_000) })).rejects.toThrow(Transient);
  });

  test('is of persons the newest row of each distinct_id in each interval', async () => {
    const query = await queryOf({ ...PLAN, model: 'persons', query: { includeEvents: null, excludeEvents: null } });
    expect(query).toContain(
      'row_number() OVER (PARTITION BY interval_number, distinct_id ORDER BY inserted_us DESC) AS age',
    );
    expect(query).toContain('FROM "dev"."persons"');
  });

  test('fits a state, for 96 intervals and as many files as it names', async () => {
    const intervals = Array.from({ length: 96 }, (_, n) => hour(n));
    const query = await queryOf({ ...PLAN, intervals });
    expect(query).toContain("day BETWEEN '2026-01-01' AND '2026-01-04'");
    expect(Buffer.byteLength(query)).toBeLessThan(30_000);
  });

  test('is refused, with what to do, when names of events fill it', async () => {
    const includeEvents = Array.from({ length: 1_000 }, (_, n) => `${n}`.padEnd(200, 'x'));
    await expect(queryOf({ ...PLAN, query: { includeEvents, excludeEvents: null } })).rejects.toThrow('Shorten');
  });
});

/** Runs an UNLOAD as Athena would: the SELECT as it is, over a view of the lake; the rest as DuckDB says it. */
async function unloadHere(
  query: string,
  { model }: FrozenPlan,
  database: string,
  lake: FileStore,
  target: string,
): Promise<void> {
  const select = /^UNLOAD \((.*)\)\nTO '/s.exec(query)?.[1] ?? '';
  expect(query).toContain("partitioned_by = ARRAY['interval_number'])");
  const instance = await openDatabase({ places: ['/'] });
  const connection = await instance.connect();
  await connection.run(`CREATE SCHEMA "${database}"`);
  await connection.run(`CREATE VIEW "${database}".${model} AS
    SELECT * EXCLUDE (team_id, day), team_id::VARCHAR AS team_id, day::VARCHAR AS day, filename AS "$path"
    FROM read_parquet('${lake.address(model)}/*/*/*/*.parquet', filename = true, hive_partitioning = true)`);
  mkdirSync(target, { recursive: true });
  await connection.run(`COPY (${select}) TO '${target}' (FORMAT parquet, PARTITION_BY (interval_number))`);
  connection.closeSync();
  instance.closeSync();
}

async function textOf(warehouse: Warehouse, plan: FrozenPlan, n: number): Promise<string> {
  const pieces: Buffer[] = [];
  const form = { format: 'JSONLines', columns: FILE_COLUMNS[plan.model] } as const;
  for await (const piece of warehouse.read(plan, hour(n), form, never)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test('intervals that are not to be sent are not read', async () => {
  const query = (await athenaWarehouse(ATHENA).unload(PLAN, [1]))?.QueryString ?? '';
  expect(query).toContain(
    `CASE WHEN inserted_us >= ${hour(1).start}000 AND inserted_us < ${hour(1).end}000 THEN 1 END`,
  );
  expect(query).not.toContain(String(hour(0).start));
});

describe('what was unloaded', () => {
  test('gives the same bytes as the lake read where it lies, interval by interval', async () => {
    const folder = temporaryFolder();
    const [lake, runFiles] = [folderFiles(join(folder, 'lake')), folderFiles(join(folder, 'runs'))];
    const row = (n: number, more: Partial<Row> = {}): Partial<Row> => ({
      uuid: `01940000-0000-7000-8000-${String(n).padStart(12, '0')}`,
      event: n % 3 === 0 ? 'paid' : n % 3 === 1 ? "it's" : 'other',
      inserted_us: (START + (n % 90) * 60_000) * 1000 + (n % 7),
      ...more,
    });
    const odd = {
      properties: '{"a":"\\u0000","n":1e400,"t":"grüße 😀"}',
      person_properties: 'not json',
      event: 'paid',
    };
    const files = await writeRows(lake, [
      Array.from({ length: 120 }, (_, n) => row(n)),
      [...Array.from({ length: 80 }, (_, n) => row(200 + n)), row(500, odd)],
    ]);
    const plan: FrozenPlan = {
      ...PLAN,
      query: { includeEvents: ['paid', "it's"], excludeEvents: ['other'] },
      files,
      intervals: [hour(0), hour(1), hour(2)],
    };
    const converter = converterOf(runFiles, folder);
    const athena = athenaWarehouse({ database: 'dev', workGroup: 'w', lake, runFiles, converter });
    const here = duckdbWarehouse({ lake });

    const query = (await athena.unload(plan, [...plan.intervals.keys()]))?.QueryString ?? '';
    await unloadHere(query, plan, 'dev', lake, runFiles.address(`${plan.attempt}/1`));
    const told = { ...plan, unloaded: 1 };
    const counts: number[] = [];
    for (const n of [0, 1, 2]) {
      counts.push(await athena.count(told, hour(n), never));
      expect(counts[n]).toBe(await here.count(plan, hour(n), never));
      expect(await textOf(athena, told, n)).toBe(await textOf(here, plan, n));
    }
    expect(counts[0]).toBeGreaterThan(50);
    expect(counts[1]).toBeGreaterThan(20);
    expect(counts[2]).toBe(0);
    await Promise.all([converter.close(), here.close()]);
  });

  test('of persons is the newest row of each distinct_id in each interval, as the lake gives it', async () => {
    const folder = temporaryFolder();
    const [lake, runFiles] = [folderFiles(join(folder, 'lake')), folderFiles(join(folder, 'runs'))];
    const row = (who: string, minute: number, more: Partial<PersonRow> = {}): Partial<PersonRow> => {
      const at = (START + minute * 60_000) * 1000;
      return { distinct_id: who, inserted_us: at, person_version: at, properties: `{"at":${minute}}`, ...more };
    };
    const files = await writePersons(lake, [
      [row('ada', 1), row('bob', 2), row('ada', 30), row('ada', 90)],
      [row('ada', 10), row('eve', 10), row('bob', 59, { is_deleted: true }), row('dan', 61)],
      [row('eve', 11), row('ada', 130)],
    ]);
    const plan: FrozenPlan = {
      ...PLAN,
      model: 'persons',
      query: { includeEvents: null, excludeEvents: null },
      files,
      intervals: [hour(0), hour(1)],
    };
    const converter = converterOf(runFiles, folder);
    const athena = athenaWarehouse({ database: 'dev', workGroup: 'w', lake, runFiles, converter });
    const here = duckdbWarehouse({ lake });
    const query = (await athena.unload(plan, [0, 1]))?.QueryString ?? '';
    await unloadHere(query, plan, 'dev', lake, runFiles.address(`${plan.attempt}/1`));
    const told = { ...plan, unloaded: 1 };
    const expected = [
      [
        ['eve', 11, false],
        ['ada', 30, false],
        ['bob', 59, true],
      ],
      [
        ['dan', 61, false],
        ['ada', 90, false],
      ],
    ];
    for (const [n, rows] of expected.entries()) {
      const text = await textOf(here, plan, n);
      const lines = text.split('\n').slice(0, -1);
      expect(
        lines.map((line) => JSON.parse(line)).map((line) => [line.distinct_id, line.properties.at, line.is_deleted]),
      ).toEqual(rows);
      expect(await textOf(athena, told, n)).toBe(text);
      expect([await here.count(plan, hour(n), never), await athena.count(told, hour(n), never)]).toEqual([
        rows.length,
        rows.length,
      ]);
    }
    await Promise.all([converter.close(), here.close()]);
  });

  test('that does not fit into memory and disk fails for good, with advice', async () => {
    const folder = temporaryFolder();
    const runFiles = folderFiles(join(folder, 'runs'));
    const path = 'e-3/1/interval_number=0/0.parquet';
    mkdirSync(join(folder, 'runs', 'e-3/1/interval_number=0'), { recursive: true });
    const database = await openDatabase({ threads: 1, places: [folder] });
    const connection = await database.connect();
    const columns = EVENT_COLUMNS.map(({ name, type }) =>
      name === 'properties' ? 'repeat(md5(n::VARCHAR), 20) AS properties' : `NULL::${type} AS ${name}`,
    );
    await connection.run(`COPY (SELECT ${columns.join(', ')} FROM range(40_000) t(n)) TO '${runFiles.address(path)}'`);
    connection.closeSync();
    database.closeSync();
    const small = converterOf(runFiles, folder, '2MB');
    const athena = athenaWarehouse({
      database: 'dev',
      workGroup: 'w',
      lake: inBucket('lake'),
      runFiles,
      converter: small,
    });
    const work = textOf(athena, { ...PLAN, unloaded: 1 }, 0);
    await expect(work).rejects.toThrow(/more than one run can deliver.*Set a shorter interval/);
    await expect(work).rejects.toThrow(Permanent);
    const full = { save: () => Promise.reject(Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })) };
    const other = converterOf(full, join(folder, 'o'));
    await expect(other.count(PLAN, [path], never)).rejects.toThrow(Permanent);
    await Promise.all([small.close(), other.close()]);
  });

  test('is read only by who has a converter, and only after it was unloaded', async () => {
    const runFiles = {
      ...nothing,
      list: async function* () {
        yield { path: 'e-3/0/interval_number=0/a', size: 1, writtenAt: 0 };
      },
    };
    const athena = athenaWarehouse({ ...ATHENA, runFiles });
    await expect(athena.count({ ...PLAN, unloaded: 0 }, hour(0), never)).rejects.toThrow(
      'only the function that sends',
    );
    await expect(athena.count(PLAN, hour(0), never)).rejects.toThrow('were not unloaded');
  });
});
