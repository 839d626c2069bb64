/** Exports with a query and filters of their own, made over HTTP, run by the real machines, into real destinations. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { literal } from '../../lib/duckdb/database.ts';
import { importEvents } from '../../lib/lake/import/import.ts';
import { keys } from '../../lib/ports/table/keys.ts';
import { onAnyFile } from '../support/any-file.ts';
import { startBucket } from '../support/bucket.ts';
import { temporaryFolder } from '../support/context.ts';
import { exportWorld } from '../support/export-world.ts';
import { byProject } from '../support/exports.ts';
import { describeOnPostgres, newDatabase } from '../support/postgres.ts';
import { startReceiver } from '../support/receiver.ts';
import { testService } from '../support/service.ts';

// Parsing starts threads; a loaded machine takes its time.
jest.setTimeout(60_000);

const NOW = Date.UTC(2026, 0, 7, 13, 20);
const AFTER = Date.UTC(2026, 0, 7, 14, 10);

const opened: (() => Promise<void>)[] = [];
afterEach(() => Promise.all(opened.splice(0).map((close) => close())));

async function started() {
  const world = await exportWorld({ now: NOW });
  opened.push(() => world.close());
  const process = world.boot();
  const service = await testService(process.context);
  /** A new hourly export with these fields. */
  const created = async (fields: object): Promise<string> => {
    const config = { path: world.target };
    const body = { name: 'x', interval: 'hour', destination: { type: 'Folder', config }, ...fields };
    const reply = await service.call('POST', byProject(service), { body });
    expect(reply).toMatchObject({ status: 201 });
    return String(reply.body?.['id']);
  };
  const arrive = async (events: readonly object[]): Promise<void> => {
    const file = join(world.folder, 'events.jsonl');
    const timestamp = new Date(NOW).toISOString();
    writeFileSync(file, events.map((event) => JSON.stringify({ distinct_id: 'd', timestamp, ...event })).join('\n'));
    const rejectedFolder = join(world.folder, 'rejected');
    await importEvents(world.context, { projectId: service.project.id, files: [file], rejectedFolder });
  };
  /** An export with these fields, after which the events arrive. */
  const exported = async (fields: object, events: readonly object[]): Promise<string> => {
    const id = await created(fields);
    await arrive(events);
    return id;
  };
  const lines = (): Record<string, unknown>[] =>
    readdirSync(world.target)
      .filter((name) => name.endsWith('.jsonl'))
      .flatMap((name) =>
        readFileSync(join(world.target, name), 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
      );
  return { world, service, created, arrive, exported, lines, run: process.run };
}

test('a query chooses columns and events, and says what they are called', async () => {
  const { world, exported, lines, run } = await started();
  const hogql_query = `
    SELECT upper(event) AS Event, properties.price * 2 AS double, now() AS at, properties.list.1 AS first,
      splitByChar(',', properties.tags) AS tags, properties
    FROM events WHERE toFloat(properties.price) > 1`;
  const id = await exported({ hogql_query }, [
    { event: 'paid', properties: { price: 1.5, list: ['a', 'b'], tags: 'x,y' } },
    { event: 'paid', properties: { price: 1 } },
    { event: 'seen', properties: {} },
  ]);
  await run(AFTER);
  expect(lines()).toEqual([
    {
      Event: 'PAID',
      double: 3,
      at: '2026-01-07T14:00:00.000000Z',
      first: 'a',
      tags: ['x', 'y'],
      properties: { price: 1.5, list: ['a', 'b'], tags: 'x,y' },
    },
  ]);
  expect((await world.runs(id)).map((each) => [each.status, each.records_completed])).toEqual([['Completed', 1]]);
});

test('filters choose events, beside the lists of names', async () => {
  const { service, exported, lines, run } = await started();
  const filters = [
    { key: 'plan', operator: 'exact', value: ['pro', 'max'], type: 'event' },
    { key: 'seats', operator: 'gt', value: 3, type: 'event' },
    { key: "distinct_id != 'robot'", type: 'hogql' },
  ];
  const id = await exported({ filters }, [
    { event: 'both', properties: { plan: 'pro', seats: 4 } },
    { event: 'as text', properties: { plan: 'max', seats: '10' } },
    { event: 'few', properties: { plan: 'pro', seats: 3 } },
    { event: 'free', properties: { plan: 'free', seats: 9 } },
    { event: 'no seats', properties: { plan: 'pro' } },
    { event: 'robot', distinct_id: 'robot', properties: { plan: 'pro', seats: 4 } },
    { event: 'seen', properties: { plan: 'pro', seats: 4 } },
  ]);
  const path = `${byProject(service)}/${id}`;
  expect((await service.call('GET', path)).body).toMatchObject({ filters });
  const config = { exclude_events: ['seen'] };
  expect(await service.call('PATCH', path, { body: { destination: { type: 'Folder', config } } })).toMatchObject({
    status: 200,
    body: { filters },
  });
  await run(AFTER);
  expect(lines().map(({ event }) => event)).toEqual(expect.arrayContaining(['both', 'as text']));
  expect(lines()).toHaveLength(2);
});

test('filters and columns of persons, whom captured events do not carry, are told of in the log of each run', async () => {
  const { world, exported, lines, run } = await started();
  const staff = { key: 'email', operator: 'not_icontains', value: '@example.com', type: 'person' };
  const warnings = async (id: string) => {
    const messages = await world.messages(id);
    return messages.filter((message) => message.startsWith('Captured events carry no person'));
  };
  const without = await exported({ filters: [staff] }, [{ event: 'seen' }]);
  const only = await exported({ filters: [{ ...staff, operator: 'icontains' }] }, []);
  const named = await exported({ hogql_query: 'SELECT event, person.properties.plan AS plan FROM events' }, []);
  const plain = await exported({ hogql_query: 'SELECT * FROM events' }, []);
  await run(AFTER);
  // The event is there: by what it carries nobody can tell that it is of the staff.
  expect(lines().length).toBeGreaterThan(0);
  const conditions =
    'Captured events carry no person, only imported ones may. A condition on a person passes none of them, and one ' +
    'that is negated, or asks for what is missing (`is_not`, `is_not_set` …), passes all. Choose by properties of the event.';
  expect(await Promise.all([without, only, named, plain].map(warnings))).toEqual([
    [conditions],
    [conditions],
    [
      'Captured events carry no person, only imported ones may. These columns are empty for them: plan. Choose by ' +
        'properties of the event.',
    ],
    [],
  ]);
});

test.each([
  [
    'is no longer supported',
    'SELECT forgotten(event) FROM events',
    "Invalid HogQL query: Unsupported function call 'forgotten(...)'",
  ],
  [
    'could take far more than its text shows',
    "SELECT replaceAll(event, 'a', distinct_id) AS a FROM events",
    'replaceAll() of a text of the event takes a replacement that is a constant, or cut to a constant length, as in ' +
      "replaceAll(event, 'x', left(distinct_id, 50))",
  ],
])('a query that is stored and %s fails its run with a text that says why', async (_, hogql_query, why) => {
  const { world, exported, run } = await started();
  const id = await exported({ hogql_query: 'SELECT event FROM events' }, [{ event: 'paid' }]);
  await world.table.write([{ change: keys.batchExport(id), set: { hogql_query } }]);
  await run(AFTER);
  const latest_error = `The 'hogql_query' of the batch export cannot be run: ${why}. Change it.`;
  expect(await world.runs(id)).toMatchObject([{ status: 'Failed', latest_error }]);
});

/** What DuckDB answers. */
const answersOf = (sql: string): Promise<unknown[]> =>
  onAnyFile(async (connection) => (await connection.runAndReadAll(sql)).getRowObjectsJson());

/** Of every type a column; of the events two rows. */
const EVERY_TYPE = {
  hogql_query: `SELECT uuid AS "UUID", upper(event) AS kind, properties.price * 2 AS double, length(event) AS letters,
    toFloat(properties.price) > 1 AS dear, timestamp AS at, toDate(timestamp) AS day, splitByChar(',', properties.tags) AS tags,
    properties.list AS list, properties FROM events WHERE event != 'seen'`,
  filters: [{ key: 'plan', operator: 'exact', value: 'pro', type: 'event' }],
};
const DEAR = { plan: 'pro', price: 1.25, tags: 'x,y', list: [1] };
const CHEAP = { plan: 'pro', price: 0.75 };
const EVENTS = [
  { event: 'paid', uuid: '01940000-0000-7000-8000-000000000001', properties: DEAR },
  { event: 'left', uuid: '01940000-0000-7000-8000-000000000002', properties: CHEAP },
  { event: 'paid', properties: { plan: 'free', price: 2 } },
  { event: 'seen', properties: { plan: 'pro' } },
];
const ROWS = [
  {
    UUID: '01940000-0000-7000-8000-000000000001',
    kind: 'PAID',
    double: 2.5,
    letters: 4,
    dear: true,
    at: '2026-01-07T13:20:00.000000Z',
    day: '2026-01-07',
    tags: ['x', 'y'],
    list: '[1]',
    properties: DEAR,
  },
  {
    UUID: '01940000-0000-7000-8000-000000000002',
    kind: 'LEFT',
    double: 1.5,
    letters: 4,
    dear: false,
    at: '2026-01-07T13:20:00.000000Z',
    day: '2026-01-07',
    tags: null,
    list: null,
    properties: CHEAP,
  },
];

/** What a column is in Parquet and in PostgreSQL. */
const TYPES = [
  ['UUID', 'VARCHAR', 'text'],
  ['kind', 'VARCHAR', 'text'],
  ['double', 'DOUBLE', 'double precision'],
  ['letters', 'BIGINT', 'bigint'],
  ['dear', 'BOOLEAN', 'boolean'],
  ['at', 'TIMESTAMP WITH TIME ZONE', 'timestamp with time zone'],
  ['day', 'VARCHAR', 'text'],
  ['tags', 'VARCHAR[]', 'jsonb'],
  ['list', 'VARCHAR', 'text'],
  ['properties', 'VARCHAR', 'jsonb'],
] as const;

test('a query and filters decide what lies in a bucket, in both formats', async () => {
  const bucket = await startBucket();
  opened.push(() => bucket.close());
  const { created, arrive, run } = await started();
  const packed = { prefix: 'parquet', file_format: 'Parquet', compression: 'zstd' };
  for (const form of [{}, packed])
    await created({ ...EVERY_TYPE, destination: { type: 'S3', config: { ...bucket.config, ...form } } });
  await arrive(EVENTS);
  await run(AFTER);
  const [lines = '', columns = ''] = await bucket.keys();
  const text = String((await bucket.read(lines)).body).trimEnd();
  expect(text.split('\n').map((line) => JSON.parse(line))).toEqual(ROWS);
  const file = join(temporaryFolder(), 'read.parquet');
  writeFileSync(file, (await bucket.read(columns)).body);
  const rows = `FROM read_parquet(${literal(file)})`;
  expect(await answersOf(rows)).toEqual(
    ROWS.map((row) => ({
      ...row,
      letters: String(row.letters),
      at: '2026-01-07 13:20:00+00',
      properties: JSON.stringify(row.properties),
    })),
  );
  const types = await answersOf(`SELECT column_name, column_type FROM (DESCRIBE ${rows})`);
  expect(types.map((one) => Object.values(one as object))).toEqual(TYPES.map(([name, parquet]) => [name, parquet]));
});

describeOnPostgres('Postgres', () => {
  test('a query and filters decide which table is made, and what lies in it', async () => {
    const database = await newDatabase();
    opened.push(() => database.close());
    const { exported, run } = await started();
    const config = { ...database.config, schema: await database.newSchema() };
    await exported({ ...EVERY_TYPE, destination: { type: 'Postgres', config } }, EVENTS);
    await run(AFTER);
    const columns = await database.sql(
      `SELECT column_name AS name, data_type AS type FROM information_schema.columns
        WHERE table_name = 'events' ORDER BY ordinal_position`,
    );
    expect(columns.map(({ name, type }) => [name, type])).toEqual(TYPES.map(([name, , type]) => [name, type]));
    const [{ row = '' } = {}, ...rest] = await database.sql('SELECT json_agg(events)::text AS row FROM events');
    expect(rest).toEqual([]);
    expect(JSON.parse(String(row))).toEqual(ROWS.map((one) => ({ ...one, at: '2026-01-07T13:20:00+00:00' })));
  });
});

test('filters decide what is posted', async () => {
  const receiver = await startReceiver();
  opened.push(() => receiver.close());
  const { exported, run } = await started();
  const destination = { type: 'HTTP', config: { url: `${receiver.url}/batch/`, token: 'secret-of-the-test' } };
  await exported({ filters: EVERY_TYPE.filters, destination }, EVENTS);
  await run(AFTER);
  const { batch } = JSON.parse(receiver.received[0]?.body ?? '{}') as { batch: { event: string }[] };
  expect(batch.map(({ event }) => event).toSorted()).toEqual(['left', 'paid', 'seen']);
});

test('a query and filters decide what is read and kept nowhere', async () => {
  const { world, exported, run } = await started();
  const id = await exported({ ...EVERY_TYPE, destination: { type: 'NoOp', config: {} } }, EVENTS);
  await run(AFTER);
  const bytes = ROWS.reduce((sum, row) => sum + Buffer.byteLength(JSON.stringify(row)) + 1, 0);
  expect(await world.runs(id)).toMatchObject([
    { status: 'Completed', records_total_count: 2, records_completed: 2, bytes_exported: bytes },
  ]);
});
