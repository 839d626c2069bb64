/** Every bit of a float arrives: from a line of a source, through the lake, at each destination, in each format. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { array, assert, asyncProperty, bigInt, constantFrom, double, integer, oneof, tuple } from 'fast-check';
import { HOUR_MS } from '../../../../lib/basics/units.ts';
import { literal } from '../../../../lib/duckdb/database.ts';
import type { Config, Destination } from '../../../../lib/exports/destinations/destination.ts';
import { folder } from '../../../../lib/exports/destinations/folder.ts';
import { http } from '../../../../lib/exports/destinations/http.ts';
import { postgres } from '../../../../lib/exports/destinations/postgres.ts';
import { redshiftVia } from '../../../../lib/exports/destinations/redshift.ts';
import { checkedQuery } from '../../../../lib/exports/query/events-query.ts';
import { duckdbColumn } from '../../../../lib/hogql/duckdb.ts';
import type { QueryColumn, Selected } from '../../../../lib/hogql/expression.ts';
import { hogqlParser } from '../../../../lib/hogql/parse.ts';
import type { SelectQuery } from '../../../../lib/hogql/syntax.ts';
import { EVENTS_TABLE } from '../../../../lib/lake/events-table.ts';
import { contentOfJson } from '../../../../lib/lake/sources/fields.ts';
import { folderFiles } from '../../../../lib/ports/files/folder.ts';
import { duckdbWarehouse } from '../../../../lib/warehouse/duckdb.ts';
import { deliveredColumns } from '../../../../lib/warehouse/query-columns.ts';
import { onAnyFile } from '../../../support/any-file.ts';
import { startBucket } from '../../../support/bucket.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { delivery, send } from '../../../support/delivery.ts';
import { planOf, writeRows } from '../../../support/lake-rows.ts';
import { describeOnPostgres, newDatabase, type PostgresDatabase } from '../../../support/postgres.ts';
import { startReceiver } from '../../../support/receiver.ts';
import { REDSHIFT_WORDS, startRedshiftProxy } from '../../../support/redshift-stand-in.ts';

/** A float as the 16 hexadecimal digits of its bits. */
function bits(float: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(float);
  return bytes.toString('hex');
}

function floatOf(pattern: bigint): number {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(pattern);
  return bytes.readDoubleBE();
}

/** The float that is so many representable ones away from a positive one. */
const beside = (float: number, steps: number): number => floatOf(BigInt(`0x${bits(float)}`) + BigInt(steps));

const INFINITY = 0x7ff0_0000_0000_0000n;
const SMALLEST_NORMAL = 2.2250738585072014e-308;

/** A float that was seen to lose its last bit, zeros, and the ends of the ranges of floats. */
const KNOWN = [0.00039239627161896835, 0, -0, 5e-324, SMALLEST_NORMAL, Number.MAX_VALUE, 0.1 + 0.2, 1e23, 8.41e21];

/** Finite floats: of every magnitude, not normal ones, and those around powers of ten and of two. */
const float = oneof(
  constantFrom(...KNOWN),
  double({ noNaN: true, noDefaultInfinity: true }),
  double({ noNaN: true, min: -1, max: 1 }),
  bigInt(0n, INFINITY - 1n).map(floatOf),
  bigInt(1n, 1n << 52n).map((pattern) => -floatOf(pattern)),
  tuple(integer({ min: -300, max: 300 }), integer({ min: -3, max: 3 })).map(([e, n]) => beside(Number(`1e${e}`), n)),
  tuple(integer({ min: 50, max: 70 }), integer({ min: -3, max: 3 })).map(([e, n]) => -beside(2 ** e, n)),
);

/** The ways in which JSON may write a float, each with all its bits. */
const WRITTEN: readonly ((positive: number) => string)[] = [
  String,
  (positive) => positive.toExponential(),
  (positive) => positive.toPrecision(17),
  (positive) => positive.toPrecision(40),
];
/** Without a point a zero is an integer, which has no sign. */
const textOf = (value: number, write: (positive: number) => string): string =>
  `${value < 0 || Object.is(value, -0) ? '-' : ''}${value === 0 ? '0.0' : write(Math.abs(value))}`;

const written = tuple(float, constantFrom(...WRITTEN)).map(([value, write]) => ({ value, text: textOf(value, write) }));

const START = Date.UTC(2026, 0, 1);
const INTERVAL = { start: START, end: START + HOUR_MS };

/** `SELECT *, toFloat(properties.x) AS x FROM events` */
const QUERY: SelectQuery = {
  node: 'SelectQuery',
  select: [
    { node: 'Field', chain: ['*'] },
    {
      node: 'Alias',
      alias: 'x',
      expr: { node: 'Call', name: 'toFloat', args: [{ node: 'Field', chain: ['properties', 'x'] }] },
    },
  ],
  select_from: { node: 'JoinExpr', table: { node: 'Field', chain: ['events'] }, alias: null },
};
const SELECT: readonly QueryColumn[] = checkedQuery(QUERY, EVENTS_TABLE, 'Batch exports').select;

const uuidOf = (n: number): string => `01940000-0000-7000-8000-${String(n).padStart(12, '0')}`;

type Deliver = (destination: Destination, config: object) => Promise<void>;

/** Imports an event for each number, and delivers them. */
async function withEvents(texts: readonly string[], work: (deliver: Deliver) => Promise<void>): Promise<void> {
  const lake = folderFiles(join(temporaryFolder(), 'lake'));
  const rows = texts.map((text, n) => {
    // A name of capture's own has DuckDB write the properties anew.
    const more = n % 2 === 0 ? '' : ',"$geoip_disable":false';
    const properties = `{"x":${text},"list":[${text}],"$set":{"x":${text}}${more}}`;
    const event = contentOfJson(
      `{"event":"paid","distinct_id":"ada","timestamp":0,"properties":${properties},"person_properties":${properties}}`,
    );
    if (typeof event === 'string') throw new Error(event);
    return { uuid: uuidOf(n), properties: event.properties, person_properties: event.personProperties };
  });
  const files = await writeRows(lake, [rows]);
  const plan = planOf({ files, intervals: [INTERVAL] }, { query: { select: SELECT } });
  const warehouse = duckdbWarehouse({ lake, threads: 1 });
  try {
    await work(async (destination, config) => {
      const one = delivery(destination, config as Config, 0, {
        interval: INTERVAL,
        columns: (defaults) => deliveredColumns(SELECT, defaults),
        rows: (form) => warehouse.read(plan, INTERVAL, form, new AbortController().signal),
        files: (form) => warehouse.files(plan, INTERVAL, form, new AbortController().signal),
      });
      await send(destination, one);
    });
  } finally {
    await warehouse.close();
  }
}

/** The bits of floats that a destination has, in the order of the uuids, by what they are a part of. */
type Found = Readonly<Record<string, readonly string[]>>;

/** Sends events with any floats. Fails unless all their bits are `found`; `jsonb` has no sign of a zero. */
const sent = (found: (deliver: Deliver) => Promise<{ readonly floats?: Found; readonly jsonb?: Found }>) =>
  assert(
    asyncProperty(array(written, { minLength: 150, maxLength: 150 }), async (all) => {
      const values = all.map(({ value }) => value);
      await withEvents(
        all.map(({ text }) => text),
        async (deliver) => {
          const { floats = {}, jsonb = {} } = await found(deliver);
          const given = values.map(bits);
          expect(floats).toEqual(Object.fromEntries(Object.keys(floats).map((part) => [part, given])));
          const unsigned = values.map((value) => bits(value === 0 ? 0 : value));
          expect(jsonb).toEqual(Object.fromEntries(Object.keys(jsonb).map((part) => [part, unsigned])));
        },
      );
    }),
    { numRuns: 5, examples: [[KNOWN.map((value) => ({ value, text: textOf(value, String) }))]] },
  );

interface Properties {
  readonly x: number;
  readonly list: readonly number[];
  readonly $set: { readonly x: number };
}

/** The floats in objects with properties. */
const inside = (properties: readonly Properties[], name: string): Found => ({
  [`${name}.x`]: properties.map(({ x }) => bits(x)),
  [`${name}.list.0`]: properties.map(({ list }) => bits(list[0] ?? Number.NaN)),
  [`${name}.$set.x`]: properties.map(({ $set }) => bits($set.x)),
});

interface Line {
  readonly uuid: string;
  readonly x: number;
  readonly properties: Properties;
  readonly person_properties: Properties;
}

const inLines = (lines: readonly Line[]): Found => {
  const rows = lines.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1));
  return {
    x: rows.map(({ x }) => bits(x)),
    ...inside(
      rows.map(({ properties }) => properties),
      'properties',
    ),
    ...inside(
      rows.map(({ person_properties: properties }) => properties),
      'person_properties',
    ),
  };
};

const files = (path: string): string[] =>
  readdirSync(path)
    .filter((name) => !name.startsWith('.'))
    .map((name) => join(path, name));

test('in files of JSON lines', async () => {
  const delivered = sent(async (deliver) => {
    const path = join(temporaryFolder(), 'out');
    await deliver(folder, { path });
    const lines = files(path).flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\n'));
    return { floats: inLines(lines.map((line) => JSON.parse(line) as Line)) };
  });
  await expect(delivered).resolves.toBeUndefined();
});

const rowsOf = (sql: string) => onAnyFile((connection) => connection.runAndReadAll(sql));

test('in files of Parquet', async () => {
  const delivered = sent(async (deliver) => {
    const path = join(temporaryFolder(), 'out');
    await deliver(folder, { path, file_format: 'Parquet' });
    const [file = ''] = files(path);
    const found = await rowsOf(`SELECT uuid, x, properties, person_properties FROM read_parquet(${literal(file)})`);
    const rows = found.getRowObjects().map((row) => ({
      ...row,
      properties: JSON.parse(String(row['properties'])),
      person_properties: JSON.parse(String(row['person_properties'])),
    }));
    return { floats: inLines(rows as unknown as Line[]) };
  });
  await expect(delivered).resolves.toBeUndefined();
});

test('over HTTP', async () => {
  const receiver = await startReceiver();
  try {
    const delivered = sent(async (deliver) => {
      receiver.reset();
      await deliver(http, { url: `${receiver.url}/batch/`, token: 'secret-of-the-test' });
      const { batch } = JSON.parse(receiver.received[0]?.body ?? '{}') as { batch: Line[] };
      const rows = batch.toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1));
      return {
        floats: inside(
          rows.map(({ properties }) => properties),
          'properties',
        ),
      };
    });
    await expect(delivered).resolves.toBeUndefined();
  } finally {
    await receiver.close();
  }
});

describeOnPostgres('in tables', () => {
  let database: PostgresDatabase;

  beforeAll(async () => {
    database = await newDatabase();
    await database.sql(REDSHIFT_WORDS);
  });
  afterAll(() => database.close());

  /** What the server itself says of its floats' bits; `json` names what its JSON is as text. */
  const bitsOf = async (column: string): Promise<string[]> =>
    (await database.sql(`SELECT encode(float8send((${column})::float8), 'hex') AS bits FROM events ORDER BY uuid`)).map(
      ({ bits: found }) => String(found),
    );
  const jsonColumns = async (): Promise<Found> => ({
    properties: await bitsOf("properties->>'x'"),
    list: await bitsOf("properties->'list'->>0"),
    set: await bitsOf(`"set"->>'x'`),
    person_properties: await bitsOf("person_properties->>'x'"),
  });

  test('of PostgreSQL', async () => {
    const delivered = sent(async (deliver) => {
      await deliver(postgres, { ...database.config, schema: await database.newSchema() });
      return { floats: { x: await bitsOf('x') }, jsonb: await jsonColumns() };
    });
    await expect(delivered).resolves.toBeUndefined();
  });

  test.each([
    ['INSERT', 'varchar'],
    ['INSERT', 'super'],
    ['COPY', 'varchar'],
    ['COPY', 'super'],
  ])('of Redshift, by %s, with JSON as %s', async (mode, properties_data_type) => {
    const bucket = await startBucket();
    const proxy = await startRedshiftProxy(database.config.port, bucket);
    const keys = { aws_access_key_id: 'AKIATEST', aws_secret_access_key: 'secret-of-the-test' };
    const names = { s3_bucket: bucket.name, region_name: 'us-east-1' };
    const copy_inputs = { ...names, bucket_credentials: keys, authorization: keys };
    const redshift = redshiftVia((one) => ({ ...one, endpoint_url: bucket.url }));
    try {
      const delivered = sent(async (deliver) => {
        const at = { ...database.config, port: proxy.port, schema: await database.newSchema() };
        await deliver(redshift, { ...at, mode, properties_data_type, copy_inputs });
        const x = await bitsOf('x');
        if (properties_data_type === 'super') return { floats: { x }, jsonb: await jsonColumns() };
        const texts = await database.sql('SELECT properties FROM events ORDER BY uuid');
        const properties = texts.map((row) => JSON.parse(String(row['properties'])) as Properties);
        return { floats: { x, ...inside(properties, 'properties') } };
      });
      await expect(delivered).resolves.toBeUndefined();
    } finally {
      await proxy.close();
      await bucket.close();
    }
  });
});

test('that a query names', async () => {
  const parser = hogqlParser();
  await assert(
    asyncProperty(array(written, { minLength: 50, maxLength: 50 }), async (all) => {
      const given = all.filter(({ text }) => /[.e]/.test(text));
      const columns = given.flatMap(({ text }, n) => [`${text} AS c${n}`, `toString(${text}) AS s${n}`]);
      const { select } = checkedQuery(
        await parser.query(`SELECT event, ${columns.join(', ')} FROM events`),
        EVENTS_TABLE,
        'Batch exports',
      );
      const values = (select.slice(1) as Selected[]).map((one) => `(${duckdbColumn(one, 0n)})::VARCHAR`);
      const answer = await rowsOf(`SELECT [${values.join(', ')}]`);
      const [[found] = []] = answer.getRowsJS() as string[][][];
      // As a column and as its text.
      expect(found?.map((text) => bits(Number(text)))).toEqual(
        given.flatMap(({ value }) => [bits(value), bits(value)]),
      );
    }),
    { numRuns: 2 },
  );
});
