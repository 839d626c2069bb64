import { once } from 'node:events';
import { BIGINT, BOOLEAN, DOUBLE, type DuckDBType, type DuckDBValue, VARCHAR } from '@duckdb/node-api';
import {
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  double,
  integer,
  json,
  oneof,
  option,
  record,
  string,
} from 'fast-check';
import { from } from 'pg-copy-streams';
import { openDatabase } from '../../../lib/duckdb/database.ts';
import type { Column } from '../../../lib/warehouse/columns.ts';
import { copyLine } from '../../../lib/warehouse/copy-text.ts';
import { anyCharacter, anyText } from '../../support/any-text.ts';
import { describeOnPostgres, newDatabase, type PostgresDatabase } from '../../support/postgres.ts';

const COLUMNS: readonly Column[] = [
  { name: 'text', type: 'text', field: 'a_text' },
  { name: 'json', type: 'json', field: 'a_json' },
  { name: 'integer', type: 'integer', field: 'an_integer' },
  { name: 'float', type: 'float', field: 'a_float' },
  { name: 'boolean', type: 'boolean', field: 'a_boolean' },
  { name: 'instant', type: 'instant', field: 'an_instant' },
];

const odd = constantFrom('\t', '\n', '\r', '\\', '\\N', '\\.', '"', '☃', '😀', '\u2028', 'null', '');
const text = oneof(odd, string({ unit: 'grapheme' }), anyText());
const row = record({
  text: option(text),
  json: option(
    oneof(
      json(),
      json({ stringUnit: anyCharacter }),
      odd.map((one) => JSON.stringify({ [one]: one })),
    ),
  ),
  integer: option(integer()),
  float: option(double({ noNaN: true, noDefaultInfinity: true })),
  boolean: option(boolean()),
  // The years 1970 to 2100, in microseconds.
  instant: option(integer({ min: 0, max: 4_102_444_800 }).map((second) => second * 1_000_000 + (second % 999_983))),
});

const parsed = (value: string | null): unknown => (value === null ? null : JSON.parse(value));

describeOnPostgres('COPY text', () => {
  let database: PostgresDatabase;

  beforeAll(async () => {
    database = await newDatabase();
  });
  afterAll(() => database.close());

  test('of any value is taken by PostgreSQL as it was, but for what no PostgreSQL holds', async () => {
    const duckdb = await openDatabase({ threads: 1, places: ['/'] });
    const connection = await duckdb.connect();
    const client = await database.connect();
    await client.query(`SET TimeZone = 'UTC'; CREATE TEMPORARY TABLE there
      (text text, json jsonb, "integer" bigint, float float8, "boolean" bool, instant timestamptz)`);
    // Values are bound: a number that SQL writes with a point is a decimal, which loses its last bit as a double.
    const types: readonly DuckDBType[] = [VARCHAR, VARCHAR, BIGINT, DOUBLE, BOOLEAN, BIGINT];
    const storable = (value: string | null): string | null => value?.replaceAll('\0', '') ?? null;
    const whole = (value: number | null): bigint | null => (value === null ? null : BigInt(value));

    await assert(
      asyncProperty(row, async (given) => {
        const [plain, packed] = [storable(given.text), storable(given.json)];
        const { text: asGiven, float, boolean: truth } = given;
        const values: DuckDBValue[] = [asGiven, given.json, whole(given.integer), float, truth, whole(given.instant)];
        const answer = await connection.runAndReadAll(
          `SELECT ${copyLine(COLUMNS)} FROM (SELECT $1 AS a_text, $2 AS a_json, $3 AS an_integer, $4 AS a_float,
            $5 AS a_boolean, $6 AS an_instant)`,
          values,
          [...types],
        );
        const line = String(answer.getRows()[0]?.[0]);
        await client.query('TRUNCATE there');
        const copy = client.query(from('COPY there FROM STDIN'));
        copy.end(line);
        await once(copy, 'finish');
        const { rows } = await client.query<Record<string, string | null>>(
          `SELECT text, json, "integer", float, "boolean", (extract(epoch FROM instant) * 1000000)::bigint AS instant,
            count(*) OVER () AS rows FROM there`,
        );
        const read = rows.map((one) => ({
          ...one,
          json: parsed(one['json'] ?? null),
          float: parsed(one['float'] ?? null),
        }));
        expect(read).toEqual([
          {
            text: plain,
            json: parsed(packed === null ? null : withoutHalves(packed)),
            integer: given.integer === null ? null : String(given.integer),
            float,
            boolean: given.boolean === null ? null : given.boolean ? 't' : 'f',
            instant: given.instant === null ? null : String(given.instant),
            rows: '1',
          },
        ]);
      }),
      { numRuns: 100 },
    );
    connection.closeSync();
    duckdb.closeSync();
  });

  test.each([
    ['{"x":1e200000}', '{"x":"1e200000"}'],
    ['{"x": [-1.5E+131072, 1], "y":1e-16384}', '{"x":["-1.5E+131072",1],"y":"1e-16384"}'],
    ['1e99999999999999999999', '"1e99999999999999999999"'],
    ['{"x":1e0000000300,"y":2}', `{"x":1${'0'.repeat(300)},"y":2}`],
    [
      `{"x":${'9'.repeat(131_073)},"y":0.${'1'.repeat(16_384)}}`,
      `{"x":"${'9'.repeat(131_073)}","y":"0.${'1'.repeat(16_384)}"}`,
    ],
    [`[0.${'1'.repeat(7000)}e-9999]`, `["0.${'1'.repeat(7000)}e-9999"]`],
    [
      `{"key":${'7'.repeat(1233)},"rest":"${'r'.repeat(8000)}"}`,
      `{"key":${'7'.repeat(1233)},"rest":"${'r'.repeat(8000)}"}`,
    ],
    // In texts and names they stay as they are.
    [
      '{":1e200000,":"[1e200000]","\\\\":1e200000,"\\"":"\\",1e200000","a1e200000":3}',
      '{":1e200000,":"[1e200000]","\\\\":"1e200000","\\"":"\\",1e200000","a1e200000":3}',
    ],
    [
      '{"x":1e200000,"pair":"\\ud83d\\ude00","nul":"\\u0000","line":"a\\nb"}',
      '{"x":"1e200000","pair":"😀","nul":"","line":"a\\nb"}',
    ],
  ])('of JSON with a number that no numeric holds has it as a text: case %$', async (given, expected) => {
    const duckdb = await openDatabase({ threads: 1, places: ['/'] });
    const connection = await duckdb.connect();
    const columns: readonly Column[] = [{ name: 'json', type: 'json', field: 'a_json' }];
    const answer = await connection.runAndReadAll(
      `SELECT ${copyLine(columns)} FROM (SELECT $1 AS a_json)`,
      [given],
      [VARCHAR],
    );
    const client = await database.connect();
    await client.query('CREATE TEMPORARY TABLE there (json jsonb)');
    const copy = client.query(from('COPY there FROM STDIN'));
    copy.end(String(answer.getRows()[0]?.[0]));
    await once(copy, 'finish');
    const { rows } = await client.query('SELECT json = $1::jsonb AS same FROM there', [expected]);
    expect(rows).toEqual([{ same: 't' }]);
    connection.closeSync();
    duckdb.closeSync();
  });
});

/** JSON without the escapes of NUL and of half surrogate pairs, which jsonb does not hold. */
const withoutHalves = (value: string): string =>
  JSON.stringify(JSON.parse(value), (_key, one: unknown) =>
    typeof one === 'string' ? storableText(one) : one,
  ).replaceAll(
    /"((?:[^"\\]|\\.)*)":/g,
    (_, key: string) => `${JSON.stringify(storableText(JSON.parse(`"${key}"`) as string))}:`,
  );

const storableText = (value: string): string => value.replaceAll('\0', '').replaceAll(/\p{Surrogate}/gu, '');
