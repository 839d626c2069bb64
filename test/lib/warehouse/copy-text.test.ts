import { once } from 'node:events';
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
import { Client } from 'pg';
import { from } from 'pg-copy-streams';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import type { Column } from '../../../lib/warehouse/columns.ts';
import { copyLine } from '../../../lib/warehouse/copy-text.ts';
import { describeOnPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';

const COLUMNS: readonly Column[] = [
  { name: 'text', type: 'text', field: 'a_text' },
  { name: 'json', type: 'json', field: 'a_json' },
  { name: 'integer', type: 'integer', field: 'an_integer' },
  { name: 'float', type: 'float', field: 'a_float' },
  { name: 'boolean', type: 'boolean', field: 'a_boolean' },
  { name: 'instant', type: 'instant', field: 'an_instant' },
];

const odd = constantFrom('\t', '\n', '\r', '\\', '\\N', '\\.', '"', '☃', '😀', '\u2028', 'null', '');
const text = oneof(odd, string({ unit: 'grapheme' }), string({ unit: 'binary' }));
const row = record({
  text: option(text),
  json: option(
    oneof(
      json(),
      json({ stringUnit: 'binary' }),
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
  let server: PostgresServer;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  test('of any value is taken by PostgreSQL as it was, but for what no PostgreSQL holds', async () => {
    const database = await openDatabase({ threads: 1 });
    const connection = await database.connect();
    const client = new Client({ ...server.config, types: { getTypeParser: () => (value: string) => value } });
    await client.connect();
    await client.query(`SET TimeZone = 'UTC'; CREATE TEMPORARY TABLE there
      (text text, json jsonb, "integer" bigint, float float8, "boolean" bool, instant timestamptz)`);
    const sql = (value: string | number | boolean | null, type: string): string =>
      `${value === null ? 'NULL' : typeof value === 'string' ? literal(value) : String(value)}::${type}`;
    // DuckDB's statements and PostgreSQL's texts hold no NUL.
    const storable = (value: string | null): string | null => value?.replaceAll('\0', '') ?? null;

    await assert(
      asyncProperty(row, async (given) => {
        const [plain, packed] = [storable(given.text), storable(given.json)];
        const answer = await connection.runAndReadAll(`SELECT ${copyLine(COLUMNS)} FROM (SELECT
          ${sql(plain, 'VARCHAR')} AS a_text, ${sql(packed, 'VARCHAR')} AS a_json,
          ${sql(given.integer, 'BIGINT')} AS an_integer, ${sql(given.float, 'DOUBLE')} AS a_float,
          ${sql(given.boolean, 'BOOLEAN')} AS a_boolean, ${sql(given.instant, 'BIGINT')} AS an_instant)`);
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
            // PostgreSQL's text has no -0.
            float: given.float === 0 ? 0 : given.float,
            boolean: given.boolean === null ? null : given.boolean ? 't' : 'f',
            instant: given.instant === null ? null : String(given.instant),
            rows: '1',
          },
        ]);
      }),
      { numRuns: 100 },
    );
    await client.end();
    connection.closeSync();
    database.closeSync();
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
