/** Imports of tables, and of the files that batch exports write. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { literal } from '../../../lib/duckdb/database.ts';
import { FILE_COLUMNS } from '../../../lib/exports/destinations/files/config.ts';
import { allFiles } from '../../../lib/lake/catalog.ts';
import type { Model } from '../../../lib/lake/schema.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { compareText } from '../../../lib/ports/table/semantics.ts';
import { duckdbWarehouse } from '../../../lib/warehouse/duckdb.ts';
import type { Form } from '../../../lib/warehouse/warehouse.ts';
import { onAnyFile } from '../../support/any-file.ts';
import { formed } from '../../support/formed-rows.ts';
import { fileIn, importContext, PROJECT, run } from '../../support/imports.ts';
import { planOf } from '../../support/lake-rows.ts';

// Each test starts databases; a loaded machine takes its time.
jest.setTimeout(60_000);

type Place = Awaited<ReturnType<typeof importContext>>;

const END = Date.UTC(2100, 0);
const TIME = '2026-01-01T00:00:00.000001Z';

/** All that an export of the project would deliver, in a form. */
async function exported(context: Context, model: Model, form: Form, projectId = PROJECT): Promise<Buffer> {
  const files = (await allFiles(context.table, projectId, model)).map(({ path, min_arrival, max_arrival }) => ({
    path,
    from: min_arrival,
    to: max_arrival,
  }));
  const interval = { start: 0, end: END };
  const plan = planOf({ files, intervals: [interval] }, { teamId: projectId, model });
  const warehouse = duckdbWarehouse({ lake: context.lake, threads: 1 });
  const bytes = Buffer.concat(await formed(warehouse, plan, interval, form));
  await warehouse.close();
  return bytes;
}

const linesForm = (model: Model): Form => ({ format: 'JSONLines', columns: FILE_COLUMNS[model] });

async function rowsOf(context: Context, model: Model): Promise<Record<string, unknown>[]> {
  const text = (await exported(context, model, linesForm(model))).toString();
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** A Parquet file of a query. */
async function parquetIn(context: Place, name: string, query: string): Promise<string> {
  const file = join(context.folder, name);
  await onAnyFile((connection) => connection.run(`COPY (${query}) TO ${literal(file)} (FORMAT parquet)`));
  return file;
}

describe('CSV', () => {
  const csv = (...rows: string[]): string => ['Who,When,Plan', ...rows].join('\r\n');
  const mapping = { columns: { distinct_id: 'Who', timestamp: 'When' }, values: { event: 'paid' } };

  test('is imported once, however often, in whatever order of its columns, packed or not', async () => {
    const context = await importContext();
    const rows = [`ada,${TIME},team`, `ada,${TIME},team`, `"bob, the 2nd",${TIME},"a ""b""\r\nc"`];
    const file = fileIn(context, 'a.csv', csv(...rows));
    expect(await run(context, file, { mapping })).toMatchObject({
      added: 3,
      bad: 0,
      files: [{ format: 'csv', blank: 1 }],
    });
    const turned = fileIn(
      context,
      'b.csv.zst',
      zstdCompressSync(`When;Plan;Who\n${TIME};team;ada\n${TIME};free;eve\n`),
    );
    expect(await run(context, [file, turned], { mapping })).toMatchObject({ added: 1, known: 4 });
    const found = (await rowsOf(context, 'events')).map(({ distinct_id, properties }) => [distinct_id, properties]);
    expect(found).toHaveLength(4);
    expect(found).toEqual(
      expect.arrayContaining([
        ['bob, the 2nd', { Plan: 'a "b"\nc' }],
        ['eve', { Plan: 'free' }],
      ]),
    );
  });

  test('that is bad in places is copied there with its header, and can be mended', async () => {
    const context = await importContext();
    const file = fileIn(context, 'a.csv', csv(`ada,${TIME},team`, 'bob,yesterday,team', `eve,${TIME}`));
    const report = await run(context, file, { mapping });
    expect(report).toMatchObject({
      added: 1,
      bad: 2,
      rejected: [
        { line: 3, reason: 'timestamp is not an instant between 1700 and 2199' },
        { line: 4, reason: '2 fields, and the header has 3' },
      ],
    });
    const copy = String(report.files[0]?.rejected);
    expect(readFileSync(copy, 'utf8')).toBe(`Who,When,Plan\nbob,yesterday,team\neve,${TIME}\n`);
    const mended = fileIn(
      context,
      'm.csv',
      readFileSync(copy, 'utf8')
        .replace('yesterday', TIME)
        .replace(/(eve.*)/, '$1,x'),
    );
    expect(await run(context, mended, { mapping })).toMatchObject({ added: 2, bad: 0 });
  });

  test('may have a cell that is nested too deeply, which is a bad row of it', async () => {
    const context = await importContext();
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const text =
      `event;distinct_id;timestamp;properties;Plan\npaid;ada;${TIME};${deep};x\npaid;bob;${TIME};;x\n`.replace(
        deep,
        `"${deep.replaceAll('"', '""')}"`,
      );
    const plan = { columns: { 'properties.plan': 'Plan' } };
    expect(await run(context, fileIn(context, 'a.csv', text), { mapping: plan })).toMatchObject({
      added: 1,
      rejected: [{ line: 2, reason: 'nested too deeply' }],
    });
  });

  test('without the needed columns is not imported, and says what is missing', async () => {
    const context = await importContext();
    const report = await run(context, fileIn(context, 'a.csv', csv(`ada,${TIME},team`)), { format: 'csv' });
    expect(report.files[0]?.problem).toBe(
      'no column says what distinct_id, event, timestamp is; its columns are Who, When, Plan',
    );
    await expect(run(context, [], { mapping: { columns: { what: 'Who' } } })).rejects.toThrow('what is no field');
  });
});

describe('Parquet', () => {
  test('of any table is imported by its columns, with their types', async () => {
    const context = await importContext();
    const file = await parquetIn(
      context,
      'a.parquet',
      `SELECT 'paid' AS event, 'u' || i AS "Who", TIMESTAMPTZ '2026-01-01 01:00:00.5+01' AS timestamp, i AS n,
        {'a': [i]} AS nested, NULL AS nothing FROM range(3) t(i)`,
    );
    const mapping = { columns: { distinct_id: 'Who' } };
    expect(await run(context, file, { mapping })).toMatchObject({ added: 3, files: [{ format: 'parquet', bad: 0 }] });
    expect(await run(context, file, { mapping })).toMatchObject({ added: 0, known: 3 });
    const [row] = (await rowsOf(context, 'events')).filter(({ distinct_id }) => distinct_id === 'u1');
    expect(row).toMatchObject({ timestamp: '2026-01-01T00:00:00.500000Z', properties: { n: 1, nested: { a: [1] } } });
  });

  test.each(['t', 'T', 'tt'])('may have a column %s', async (name) => {
    const context = await importContext();
    const select = `SELECT 'paid' AS event, 'ada' AS distinct_id, TIMESTAMP '2026-01-01' AS ${name}, 3 AS n`;
    const file = await parquetIn(context, 'a.parquet', select);
    const mapping = { columns: { timestamp: name } };
    expect(await run(context, file, { mapping })).toMatchObject({ added: 1, bad: 0, files: [{ problem: null }] });
    expect(await rowsOf(context, 'events')).toMatchObject([{ properties: { n: 3 } }]);
  });

  test('has nothing where a number is none, as what an SDK sends so', async () => {
    const context = await importContext();
    const file = await parquetIn(
      context,
      'a.parquet',
      `SELECT 'paid' AS event, 'ada' AS distinct_id, TIMESTAMPTZ '2026-01-01T00:00:00.000001Z' AS timestamp, 1 AS n,
        unnest(['NaN', '-Infinity', '1.5'])::DOUBLE AS "a ""number", unnest(['Infinity', 'NaN', '2'])::FLOAT AS other`,
    );
    expect(await run(context, file)).toMatchObject({ added: 3, files: [{ format: 'parquet', bad: 0 }] });
    expect((await rowsOf(context, 'events')).map(({ properties }) => properties)).toEqual(
      expect.arrayContaining([{ n: 1 }, { n: 1, 'a "number': 1.5, other: 2 }]),
    );
  });

  test('names its bad rows, and copies them as JSON lines', async () => {
    const context = await importContext();
    const file = await parquetIn(
      context,
      'a.parquet',
      `SELECT 'paid' AS event, CASE i WHEN 1 THEN '' ELSE 'ada' END AS distinct_id, '${TIME}' AS timestamp FROM range(3) t(i)`,
    );
    const report = await run(context, file);
    expect(report).toMatchObject({ events: 2, bad: 1, rejected: [{ line: 2, reason: 'no distinct_id' }] });
    const copied = readFileSync(String(report.files[0]?.rejected), 'utf8');
    expect(JSON.parse(copied)).toEqual({ event: 'paid', distinct_id: '', timestamp: TIME });
  });

  test('that is cut off keeps nobody else out', async () => {
    const context = await importContext();
    const whole = await parquetIn(
      context,
      'a.parquet',
      "SELECT 'x' AS event, 'ada' AS distinct_id, now() AS timestamp",
    );
    const bytes = readFileSync(whole);
    const cut = fileIn(context, 'b.parquet', bytes.subarray(0, bytes.length - 20));
    const report = await run(context, [cut, whole]);
    expect(report.files.map(({ events, problem }) => [events, problem?.slice(0, 29) ?? null])).toEqual([
      [0, 'it cannot be read as Parquet:'],
      [1, null],
    ]);
  });
});

describe('a damaged Parquet file', () => {
  test.each([
    ['at its end', (bytes: Buffer) => bytes.subarray(0, bytes.length - 20)],
    [
      'in its middle',
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 20), Buffer.alloc(400, 7), bytes.subarray(420)]),
    ],
    [
      'in its footer',
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -60), Buffer.alloc(52, 7), bytes.subarray(-8)]),
    ],
  ])('%s is told of in a line that names neither a path nor what was asked of it', async (_, damaged) => {
    const context = await importContext();
    const whole = await parquetIn(
      context,
      'whole.parquet',
      "SELECT 'x' || i AS event, 'ada' AS distinct_id, now() AS timestamp FROM range(2000) t(i)",
    );
    const file = fileIn(context, 'b.parquet', damaged(readFileSync(whole)));
    const problem = (await run(context, file)).files[0]?.problem ?? '';
    expect(problem).toMatch(/^it cannot be read as Parquet: /);
    expect(problem).not.toMatch(/\n|SELECT|\/|b\.parquet/);
  });
});

describe('what a batch export has written', () => {
  const events = [
    { event: '$set', $set: { plan: 'free' }, elements_chain: 'a:b' },
    { event: '$identify', properties: { $anon_distinct_id: 'visitor', n: '1' }, person_properties: { x: 1 } },
    { event: 'paid', distinct_id: 'bob', properties: { $set: { plan: 'team' }, $elements: [1] } },
    { event: '$delete_person', distinct_id: 'bob' },
  ].map((event, n) => ({
    distinct_id: 'ada',
    uuid: `0194f1e2-0000-7000-8000-00000000000${n}`,
    timestamp: `2026-01-0${n + 1}T00:00:00Z`,
    ...event,
  }));

  const form = (model: Model, format: 'JSONLines' | 'Parquet'): Form =>
    format === 'JSONLines'
      ? linesForm(model)
      : { format, columns: FILE_COLUMNS[model], compression: 'zstd', fileBytes: 1e9 };

  /** What stays the same in another project. */
  const alike = (rows: readonly Record<string, unknown>[]): string[] => {
    const changing = new Set(['_inserted_at', 'created_at', 'team_id', 'person_version', 'person_distinct_id_version']);
    return rows
      .map((row) => JSON.stringify(Object.entries(row).filter(([name]) => !changing.has(name))))
      .toSorted(compareText);
  };

  test.each(['JSONLines', 'Parquet'] as const)('as %s gives the same events and persons', async (format) => {
    const from = await importContext();
    await run(from, fileIn(from, 'events.jsonl', events.map((event) => JSON.stringify(event)).join('\n')));
    const to = await importContext();
    const files = [
      fileIn(to, 'persons', await exported(from, 'persons', form('persons', format))),
      fileIn(to, 'events', await exported(from, 'events', form('events', format))),
    ];
    expect(await run(to, files[0] as string)).toMatchObject({ events: 0, bad: 0, persons: { read: 3, rows: 3 } });
    expect(alike(await rowsOf(to, 'persons'))).toEqual(alike(await rowsOf(from, 'persons')));
    expect(await run(to, files)).toMatchObject({ events: 4, added: 4, bad: 0 });
    expect(alike(await rowsOf(to, 'events'))).toEqual(alike(await rowsOf(from, 'events')));
    expect(await run(to, files)).toMatchObject({ added: 0, known: 4, persons: { read: 3, rows: 0 } });
  });

  test('as PostHog writes persons is read, with what is missing and its own versions', async () => {
    const context = await importContext();
    const row = (version: number, more: object = {}): string =>
      JSON.stringify({
        team_id: 2,
        distinct_id: 'ada',
        person_id: '0194f1e2-0000-7000-8000-00000000000a',
        properties: { v: version },
        person_distinct_id_version: 0,
        person_version: version,
        created_at: '2025-01-01T00:00:00Z',
        _inserted_at: `2026-01-0${version}T00:00:00Z`,
        is_deleted: false,
        ...more,
      });
    const file = fileIn(context, 'a.jsonl', [row(3), row(1), row(2), row(4, { person_id: 'x' })].join('\n'));
    expect(await run(context, file)).toMatchObject({
      bad: 1,
      rejected: [{ line: 4, reason: 'person_id is not a UUID' }],
      persons: { read: 3, refused: 0 },
    });
    expect(await rowsOf(context, 'persons')).toMatchObject([
      {
        person_id: '0194f1e2-0000-7000-8000-00000000000a',
        properties: { v: 3 },
        created_at: '2025-01-01T00:00:00.000000Z',
      },
    ]);
    expect(await run(context, file)).toMatchObject({ persons: { read: 3, rows: 0 } });
  });
});
