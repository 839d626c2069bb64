import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOUR_MS } from '../../../lib/basics/units.ts';
import { literal, openDatabase, parquet, pathList } from '../../../lib/duckdb/database.ts';
import type { Expression, QueryColumn } from '../../../lib/hogql/expression.ts';
import type { FileStore } from '../../../lib/ports/files/files.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import type { Column } from '../../../lib/warehouse/columns.ts';
import { duckdbWarehouse } from '../../../lib/warehouse/duckdb.ts';
import { deliveredColumns } from '../../../lib/warehouse/query-columns.ts';
import type { Form, FrozenPlan, ParquetForm, RowQuery } from '../../../lib/warehouse/warehouse.ts';
import { temporaryFolder } from '../../support/context.ts';
import { formed } from '../../support/formed-rows.ts';
import { LINES, planOf, type Row, writeRows } from '../../support/lake-rows.ts';

const ALL: RowQuery = { includeEvents: null, excludeEvents: null };
const never = new AbortController().signal;
const START = Date.UTC(2026, 0, 1);

const lakes: { close(): Promise<void> }[] = [];
afterAll(async () => {
  for (const warehouse of lakes) await warehouse.close();
});

/** A warehouse over files of these rows, and a plan of them. */
async function over(
  files: readonly (readonly Partial<Row>[])[],
  query = ALL,
  folder = 'lake',
  isOld: (file: number) => boolean = () => false,
) {
  const root = join(temporaryFolder(), folder);
  const lake = folderFiles(root);
  const listed = await writeRows(lake, files, isOld);
  const warehouse = duckdbWarehouse({ lake, tempDirectory: join(root, 'spill') });
  lakes.push(warehouse);
  const interval = { start: START, end: START + HOUR_MS };
  const plan = planOf({ files: listed, intervals: [interval] }, { query });
  const text = async (within = interval): Promise<string> => {
    let all = '';
    for await (const piece of warehouse.read(plan, within, LINES, never)) all += piece.toString();
    return all;
  };
  const lines = async (within = interval) =>
    (await text(within))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { lake, warehouse, plan, interval, text, lines };
}

test('a row is a line of the default columns, in their order', async () => {
  const { text } = await over([
    [
      {
        properties: '{"$ip":"192.0.2.1","n":1.50}',
        person_id: '01940000-0000-7000-8000-0000000000aa',
        person_properties: '{"name":"Ada"}',
        elements_chain: 'a:b',
        timestamp_us: START * 1000 + 1,
        created_us: START * 1000 + 100_000,
      },
    ],
  ]);
  expect(await text()).toBe(
    '{"uuid":"01940000-0000-7000-8000-000000000001","event":"paid","properties":{"$ip":"192.0.2.1","n":1.50},' +
      '"distinct_id":"ada","timestamp":"2026-01-01T00:00:00.000001Z","created_at":"2026-01-01T00:00:00.100000Z",' +
      '"_inserted_at":"2026-01-01T00:00:00.000000Z","elements_chain":"a:b",' +
      '"person_id":"01940000-0000-7000-8000-0000000000aa","person_properties":{"name":"Ada"}}\n',
  );
});

test.each<[Form['format'], number, Form]>([
  ['JSONLines', 10, LINES],
  // So many, and so long, that their size says how many are in a row group.
  ['Parquet', 5_000, { format: 'Parquet', columns: LINES.columns, compression: null, fileBytes: 1e9 }],
])('columns of properties change no byte of %s', async (_, count, form) => {
  const rows = Array.from({ length: count }, (_row, n) => ({
    uuid: String(n).padStart(6, '0'),
    properties: JSON.stringify({
      $current_url: `https://example.com/${n}/${'x'.repeat(5_000)}`,
      $browser: null,
      n: 1.5,
    }),
  }));
  const files = [rows.filter(({ uuid }) => Number(uuid) % 2 === 0), rows.filter(({ uuid }) => Number(uuid) % 2 === 1)];
  const made: Buffer[] = [];
  for (const isOld of [() => true, () => false, (file: number) => file === 0]) {
    const { warehouse, plan, interval } = await over(files, ALL, 'lake', isOld);
    made.push(Buffer.concat(await formed(warehouse, plan, interval, form)));
  }
  expect(made[0]?.length).toBeGreaterThan(count * 5_000);
  expect(made.map((one) => one.equals(made[0] as Buffer))).toEqual([true, true, true]);
});

test('what is missing is null', async () => {
  const { lines, warehouse, plan } = await over([[{ uuid: null, event: null, properties: null, created_us: null }]]);
  const missing = {
    uuid: null,
    event: null,
    properties: null,
    created_at: null,
    person_id: null,
    person_properties: null,
  };
  expect(await lines()).toMatchObject([missing]);
  expect(await warehouse.count(plan, plan.intervals[0] ?? { start: 0, end: 0 }, never)).toBe(1);
});

test('text keeps every character', async () => {
  const odd = '"quoted" \\ \n\r\t \u0001 \u2028 漢 😀 \' $1';
  const { lines } = await over([
    [{ event: odd, distinct_id: odd, elements_chain: odd, properties: JSON.stringify({ [odd]: odd }) }],
  ]);
  expect(await lines()).toMatchObject([
    { event: odd, distinct_id: odd, elements_chain: odd, properties: { [odd]: odd } },
  ]);
});

test('properties that are not JSON become text, and line ends in them no line ends, so that no run breaks', async () => {
  const { lines } = await over([
    [
      { uuid: '1', properties: '{"a":' },
      { uuid: '2', properties: '' },
      { uuid: '3', properties: '{\n  "a": 1\n}' },
      { uuid: '4', properties: `${'['.repeat(5000)}${']'.repeat(5000)}` },
      { uuid: '5', properties: JSON.stringify({ big: 'x'.repeat(3_000_000) }) },
      { uuid: '6', properties: '{"id":123456789012345678901234567890}' },
    ],
  ]);
  const found = await lines();
  expect(found.map(({ uuid }) => uuid)).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(found.slice(0, 3).map(({ properties }) => properties)).toEqual(['{"a":', '', { a: 1 }]);
  expect(JSON.stringify(found[4]?.['properties'])).toHaveLength(3_000_010);
});

test('a column that a file lacks is null', async () => {
  const { lake, warehouse, plan, interval } = await over([[{}]]);
  const database = await openDatabase({ places: ['/'] });
  const connection = await database.connect();
  const one = lake.address(plan.files[0]?.path ?? '');
  await connection.run(`COPY (SELECT * EXCLUDE (person_id) REPLACE ('other' AS uuid) FROM read_parquet(${literal(one)}))
    TO ${literal(lake.address('old'))} (FORMAT parquet)`);
  connection.closeSync();
  database.closeSync();
  const both = { ...plan, files: [...plan.files, { path: 'old', from: START, to: START }] };
  let text = '';
  for await (const piece of warehouse.read(both, interval, LINES, never)) text += piece.toString();
  expect(text.match(/"person_id":null/g)).toHaveLength(2);
});

describe('an interval', () => {
  test('holds the rows from its start to right before its end', async () => {
    const at = [-1, 0, 1, HOUR_MS * 1000 - 1, HOUR_MS * 1000].map((us) => ({
      uuid: String(us),
      inserted_us: START * 1000 + us,
    }));
    const { lines, warehouse, plan, interval } = await over([at]);
    expect((await lines()).map(({ uuid }) => uuid)).toEqual(['0', '1', String(HOUR_MS * 1000 - 1)]);
    expect(await warehouse.count(plan, interval, never)).toBe(3);
  });

  test('without files has no rows', async () => {
    const { warehouse, plan, text } = await over([[{}]]);
    const later = { start: START + HOUR_MS, end: START + 2 * HOUR_MS };
    expect(await text(later)).toBe('');
    expect(await warehouse.count(plan, later, never)).toBe(0);
  });

  test('has its rows by arrival, timestamp and uuid, however the files overlap, each time the same bytes', async () => {
    const rows = Array.from({ length: 300 }, (_, n) => ({
      uuid: String((n * 7919) % 300).padStart(3, '0'),
      inserted_us: START * 1000 + ((n * 31) % 40),
      timestamp_us: START * 1000 + ((n * 17) % 5),
    }));
    const files = [0, 1, 2].map((file) => rows.filter((_, n) => n % 3 === file));
    const { lines, text } = await over(files);
    const keyOf = (row: Record<string, unknown>): string => [row['_inserted_at'], row['timestamp'], row['uuid']].join();
    const order = (await lines()).map(keyOf);
    expect(order).toHaveLength(300);
    expect(order).toEqual(order.toSorted());
    const again = await over(files.toReversed());
    expect(await again.text()).toBe(await text());
  });
});

describe('the query', () => {
  const events = ['a', 'b', "c'd", 'e'].map((event, n) => ({ uuid: String(n), event }));

  test.each([
    [null, null, ['a', 'b', "c'd", 'e']],
    [['a', "c'd"], null, ['a', "c'd"]],
    [null, ['a', "c'd"], ['b', 'e']],
    [['a', 'b'], ['b'], ['a']],
    [[], [], ['a', 'b', "c'd", 'e']],
    [["') OR true --"], null, []],
  ])('that includes %p and excludes %p lets %p through', async (includeEvents, excludeEvents, expected) => {
    const { lines, warehouse, plan, interval } = await over([events], { includeEvents, excludeEvents });
    expect((await lines()).map(({ event }) => event)).toEqual(expected);
    expect(await warehouse.count(plan, interval, never)).toBe(expected.length);
  });
});

describe('columns of a query', () => {
  const uuid: Expression = { column: 'uuid', type: 'text' };
  const event: Expression = { column: 'event', type: 'text' };
  const short: Expression = { operator: 'concat', of: [event, event], type: 'text' };
  /** Names that the lake, the query's own computed columns and DuckDB's readers have for something else. */
  const select: readonly QueryColumn[] = [
    ['Event', uuid],
    ['UUID', event],
    ['inserted_us', short],
    ['query_4', uuid],
    ['query_2', short],
    ['File_Row_Number', event],
    ['file_index', short],
    ['filename', event],
    ['rowid', event],
    ['c0', event],
    ['part', event],
    ['a "b" \'c\'', event],
  ].map(([name, expression]) => ({ name, expression, type: 'text' }) as QueryColumn);
  const columns = deliveredColumns(select, []);
  const files = [[0, 1, 2].map((n) => ({ uuid: `u${n}`, event: `e${n}` }))];
  const valueOf = (expression: Expression, n: number): string =>
    expression === uuid ? `u${n}` : expression === event ? `e${n}` : `e${n}e${n}`;
  const expected = [0, 1, 2].map((n) => select.map((one) => ('all' in one ? '' : valueOf(one.expression, n))));

  async function pieces(form: Form): Promise<Buffer[]> {
    const { warehouse, plan, interval } = await over(files, { ...ALL, select });
    return formed(warehouse, plan, interval, form);
  }

  test('may have any name in lines', async () => {
    const read = String(Buffer.concat(await pieces({ format: 'JSONLines', columns })))
      .trimEnd()
      .split('\n');
    expect(read.map((line) => Object.entries(JSON.parse(line) as object))).toEqual(
      expected.map((row) => row.map((value, n) => [columns[n]?.name, value])),
    );
    const copied = String(Buffer.concat(await pieces({ format: 'CopyText', columns })));
    expect(copied).toBe(expected.map((row) => `${row.join('\t')}\n`).join(''));
  });

  test.each([1, 3])('may have any name in %i files of Parquet', async (count) => {
    const folder = temporaryFolder();
    const paths: string[] = [];
    const fileBytes = count === 1 ? 1_000_000 : 1;
    for (const piece of await pieces({ format: 'Parquet', columns, compression: null, fileBytes })) {
      paths.push(join(folder, `${paths.length}.parquet`));
      writeFileSync(paths.at(-1) ?? '', piece);
    }
    expect(paths).toHaveLength(count);
    const database = await openDatabase({ places: ['/'] });
    const connection = await database.connect();
    const answer = await connection.runAndReadAll(`FROM read_parquet(${pathList(paths)})`);
    expect(answer.columnNames()).toEqual(columns.map(({ name }) => name));
    expect(answer.getRows()).toEqual(expected);
    connection.closeSync();
    database.closeSync();
  });
});

test('a folder may have any name', async () => {
  const { lines } = await over([[{}]], ALL, "it's [a] {lake} * ? %20");
  expect(await lines()).toHaveLength(1);
});

describe('a big interval', () => {
  const COUNT = 300_000;

  async function big() {
    const found = await over([[{}]]);
    const one = found.lake.address(found.plan.files[0]?.path ?? '');
    const database = await openDatabase({ places: ['/'] });
    const connection = await database.connect();
    await connection.run(`COPY (
        SELECT * EXCLUDE (i) REPLACE (lpad(i::VARCHAR, 12, '0') AS uuid, ${START * 1000} + i AS inserted_us,
          repeat('x', (i % 50)::INTEGER) AS elements_chain)
        FROM read_parquet(${literal(one)}), range(${COUNT}) t(i)
      ) TO ${literal(found.lake.address('big'))} (FORMAT parquet, ROW_GROUP_SIZE 50000)`);
    connection.closeSync();
    database.closeSync();
    const files = [{ path: 'big', from: START, to: START + COUNT / 1000 }];
    return { ...found, plan: { ...found.plan, files } };
  }

  test('streams in pieces of whole lines, every row once, in order', async () => {
    const { warehouse, plan, interval } = await big();
    let next = 0;
    let pieces = 0;
    for await (const piece of warehouse.read(plan, interval, LINES, never)) {
      pieces += 1;
      expect(piece.at(-1)).toBe(10);
      for (const line of piece.toString().split('\n').slice(0, -1)) {
        if (Number(line.slice(9, 21)) !== next) throw new Error(`${line} instead of ${next}`);
        next += 1;
      }
    }
    expect(next).toBe(COUNT);
    expect(pieces).toBeGreaterThan(50);
    expect(await warehouse.count(plan, interval, never)).toBe(COUNT);
  });

  test('ends with the reason of an abort, and the next read is not disturbed', async () => {
    const { warehouse, plan, interval } = await big();
    for (const after of [0, 1, 5]) {
      const abort = new AbortController();
      const read = async (): Promise<void> => {
        let pieces = 0;
        for await (const _ of warehouse.read(plan, interval, LINES, abort.signal)) {
          pieces += 1;
          if (pieces > after) abort.abort(new Error('cancelled'));
        }
      };
      await expect(read()).rejects.toThrow('cancelled');
    }
    await expect(warehouse.count(plan, interval, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    for await (const _ of warehouse.read(plan, interval, LINES, never)) break;
    expect(await warehouse.count(plan, interval, never)).toBe(COUNT);
  });
});

/** Columns of long rows of which the first is in their order. */
const LONG: readonly Column[] = [
  { name: 'n', type: 'text', field: 'distinct_id' },
  { name: 'long', type: 'json', field: 'elements_chain' },
];

/** Writes the file `long`: rows of so many bytes, which arrived at once. */
async function longRows(lake: FileStore, plan: FrozenPlan, { bytes, count }: { bytes: number; count: number }) {
  const one = lake.address(plan.files[0]?.path ?? '');
  const database = await openDatabase({ places: ['/'] });
  const connection = await database.connect();
  const long = `concat('["', repeat(md5(i::VARCHAR), ${Math.ceil(bytes / 32)}), '"]')`;
  await connection.run(`COPY (
      SELECT * EXCLUDE (i) REPLACE (${long} AS elements_chain, printf('%05d', i) AS distinct_id)
      FROM read_parquet(${literal(one)}), range(${count}) t(i) ORDER BY i
    ) TO ${literal(lake.address('long'))} (FORMAT parquet, ROW_GROUP_SIZE 2048)`);
  connection.closeSync();
  database.closeSync();
}

test.each([
  { kind: '10 kB', bytes: 10_000, count: 10_000 },
  { kind: '300 kB', bytes: 300_000, count: 200 },
])(
  'rows of $kind become lines, each once and in order, though together they are more than memory holds',
  async ({ bytes, count }) => {
    const { lake, plan, interval } = await over([[{}]]);
    await longRows(lake, plan, { bytes, count });
    const warehouse = duckdbWarehouse({ lake, memoryLimit: '190MB', threads: 2 });
    lakes.push(warehouse);
    const files = [{ path: 'long', from: START, to: START }];
    const form = { format: 'JSONLines', columns: LONG } as const;
    const read: string[] = [];
    let rest = '';
    for await (const piece of warehouse.read({ ...plan, files }, interval, form, never)) {
      const lines = (rest + piece.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) read.push(`${line.slice(0, 48)} ${line.length}`);
    }
    expect(rest).toBe('');
    expect(read).toHaveLength(count);
    expect(new Set(read).size).toBe(count);
    expect(read).toEqual(read.toSorted());
  },
);

test('rows of 10 kB become a Parquet file though a hundred MB of them are more than memory holds', async () => {
  const { lake, plan, interval } = await over([[{}]]);
  await longRows(lake, plan, { bytes: 10_000, count: 10_000 });
  const database = await openDatabase({ places: ['/'] });
  const connection = await database.connect();
  const warehouse = duckdbWarehouse({ lake, memoryLimit: '150MB', threads: 1 });
  lakes.push(warehouse);
  const file = join(temporaryFolder(), 'made.parquet');
  const form: ParquetForm = { format: 'Parquet', columns: LINES.columns, compression: null, fileBytes: 1e9 };
  const files = [{ path: 'long', from: START, to: START }];
  for await (const { path } of warehouse.files({ ...plan, files }, interval, form, never)) copyFileSync(path, file);
  const answer = await connection.runAndReadAll(
    `SELECT count(DISTINCT elements_chain)::INTEGER, max(strlen(elements_chain))::INTEGER FROM ${parquet([file])}`,
  );
  expect(answer.getRows()).toEqual([[10_000, 313 * 32 + 4]]);
  connection.closeSync();
  database.closeSync();
});

test('a warehouse that is closed leaves nothing in the temporary folder of the system', async () => {
  const { lake, plan, interval } = await over([[{}]]);
  const folder = temporaryFolder();
  const system = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  const warehouse = duckdbWarehouse({ lake });
  if (system === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = system;
  const form: ParquetForm = { format: 'Parquet', columns: LINES.columns, compression: null, fileBytes: 1e9 };
  const made: string[][] = [];
  for await (const _ of warehouse.files(plan, interval, form, never)) made.push(readdirSync(folder));
  expect(made).toEqual([[expect.stringMatching(/^duckdb-/)]]);
  await warehouse.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('a file that is not there is an error', async () => {
  const { warehouse, plan, interval } = await over([[{}]]);
  const gone = { ...plan, files: [{ path: 'events/gone.parquet', from: START, to: START }] };
  await expect(warehouse.count(gone, interval, never)).rejects.toThrow('gone.parquet');
});
