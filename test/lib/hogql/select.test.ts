/** Whole SELECTs: what DuckDB gives of each, what Trino's grammar says of its text, and what is refused. */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { DuckDBListValue, DuckDBStructValue } from '@duckdb/node-api';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { AGGREGATE_NAMES } from '../../../lib/hogql/aggregates.ts';
import { duckdbSelect } from '../../../lib/hogql/duckdb-select.ts';
import { elementType, isList, isTuple, partTypes, type Type } from '../../../lib/hogql/expression.ts';
import { filled } from '../../../lib/hogql/placeholders.ts';
import { Refusal } from '../../../lib/hogql/refusal.ts';
import { type CheckedSelect, checkedSelect, type Language } from '../../../lib/hogql/select/select.ts';
import type { SelectQuery, Syntax } from '../../../lib/hogql/syntax.ts';
import { hogqlText } from '../../../lib/hogql/text.ts';
import { onlyTellsApart } from '../../../lib/hogql/told-apart.ts';
import { trinoSelect } from '../../../lib/hogql/trino-select.ts';
import { WINDOW_NAMES } from '../../../lib/hogql/windows.ts';
import { call, constant, list } from '../../../lib/hogql/write.ts';
import { onEnd } from '../../support/on-end.ts';
import { parser } from '../../support/parser.ts';
import { asDuckdb, openTrino, type Trino } from '../../support/trino.ts';
import { trinoGrammar } from '../../support/trino-grammar.ts';
import { EVENTS, FIRST, PERSONS, SELECTS } from './selects.ts';
import { checked, UTC } from './tables.ts';

jest.setTimeout(60_000);

const NOW = BigInt(FIRST);
const sqlOf = ({ query }: CheckedSelect, events = 'events'): string =>
  duckdbSelect(query, (table) => (table === 'events' ? events : table), NOW);

const faultsOf = trinoGrammar();

let connection: DuckDBConnection;
/** What stands for Trino, over the same rows. */
let trino: Trino;
beforeAll(async () => {
  const database = await openDatabase({ threads: 1 });
  connection = await database.connect();
  trino = await openTrino();
  onEnd(() => {
    connection.closeSync();
    database.closeSync();
    trino.end();
  });
  await fill(connection);
  await fill(trino);
});

async function fill(connection: DuckDBConnection): Promise<void> {
  const value = (one: string | number | null): string => (typeof one === 'string' ? literal(one) : String(one));
  const rows = (all: readonly (readonly (string | number | null)[])[]): string =>
    all.map((row) => `(${row.map(value).join(', ')})`).join(', ');
  await connection.run(
    `CREATE TABLE events AS SELECT * FROM (VALUES ${rows(EVENTS)}) AS e(uuid, event, distinct_id, properties, timestamp_us, person_id, person_properties)`,
  );
  await connection.run(
    `CREATE TABLE persons AS SELECT * FROM (VALUES ${rows(PERSONS)}) AS p(id, properties, created_us)`,
  );
}

const plain = (value: DuckDBValue): unknown => {
  if (value instanceof DuckDBListValue) return value.items.map(plain);
  if (value instanceof DuckDBStructValue) return Object.values(value.entries).map(plain);
  return typeof value === 'bigint' ? Number(value) : value;
};
/** Lists and tuples are told as JSON lists of texts. */
const plainOfTrino = (value: DuckDBValue, type: Type): unknown =>
  value === null || !(isList(type) || isTuple(type)) ? plain(value) : toldOf(String(value), type);

function toldOf(told: string, type: Type): unknown {
  if (isTuple(type)) return ofTexts(JSON.parse(told) as (string | null)[], partTypes(type));
  if (!isList(type)) return type === 'text' ? told : type === 'boolean' ? told === 'true' : Number(told);
  const element = elementType(type);
  if (isTuple(element)) return (JSON.parse(told) as string[][]).map((item) => ofTexts(item, partTypes(element)));
  return (JSON.parse(told) as (string | null)[]).map((item) => (item === null ? null : toldOf(item, element)));
}

const ofTexts = (texts: readonly (string | null)[], types: readonly Type[]): unknown[] =>
  types.map((type, n) => (typeof texts[n] === 'string' ? toldOf(texts[n], type) : null));

const rowsOf = async (one: CheckedSelect, events?: string): Promise<unknown[][]> =>
  (await connection.runAndReadAll(sqlOf(one, events))).getRows().map((row) => row.map(plain));

/** The syntax of many queries, which are read together: each reading has a cost of its own. */
async function syntaxOf(queries: readonly string[]): Promise<Syntax[]> {
  const named = queries.map((query, n) => `n${n} AS (${query})`);
  const { ctes } = (await parser.query(`WITH ${named.join(', ')} SELECT 1`)) as unknown as SelectQuery;
  return (ctes ?? []).map(({ expr }) => expr);
}

/** Queries, and what each column is called: null where it says how it is computed. */
const COLUMNS: readonly (readonly [query: string, columns: readonly (string | null)[]])[] = [
  ['SELECT * FROM persons', ['id', 'properties', 'created_at']],
  ['SELECT p.*, event FROM persons AS p, events', ['id', 'properties', 'created_at', 'event']],
  [
    "SELECT event, e.event, properties.$os, properties['$os'], properties.a['b'][1] FROM events AS e",
    ['event', 'event', '$os', '$os', 'properties.a.b.1'],
  ],
  ["SELECT f'S{event}', event AS ev, event FROM events", [null, 'ev', 'event']],
  ["SELECT if(event = 'S', 1, 0), event = 'S', event || 'S', not event = 'S' FROM events", [null, null, null, null]],
  ["SELECT 'S', 5, null, true, -1, ['S'], ('S', 1), ['S'][1], ('S', 1).1", Array(9).fill(null)],
  [
    "SELECT event IN ('S'), event BETWEEN 'R' AND 'S', CAST('S' AS String), arrayMap(x -> 'S', [1]) FROM events",
    [null, null, null, null],
  ],
  ["SELECT (SELECT 'S'), event IN (SELECT 'S'), max('S') OVER () FROM events", [null, null, null]],
  ["SELECT CASE WHEN event = 'S' THEN 1 ELSE 2 END, countIf(event = 'S') AS n FROM events GROUP BY 1", [null, 'n']],
  ["SELECT * FROM (SELECT concat('S', event), event, upper('S') AS u FROM events)", [null, 'event', 'u']],
  ["SELECT t.* FROM (SELECT * FROM (SELECT 'S', event FROM events)) AS t", [null, 'event']],
  ["SELECT `S`, t.`S`, S AS s FROM (SELECT 'S' FROM events) AS t", [null, null, 's']],
  ["SELECT `tuple('S', 1)`.1 FROM (SELECT ('S', 1) FROM events)", [null]],
  ["SELECT event FROM events UNION ALL SELECT 'S'", ['event']],
  ["SELECT 'S' FROM events UNION ALL SELECT event FROM events", [null]],
  ["SELECT * FROM (SELECT 'S' UNION ALL SELECT event FROM events)", [null]],
  ["WITH t AS (SELECT concat('S', event), event FROM events) SELECT * FROM t", [null, 'event']],
  ["WITH 'S' AS one SELECT one, concat(one, event) FROM events", ['one', null]],
];

test.each(COLUMNS)('it is known which columns have no name but how they are computed: %s', async (query, names) => {
  const { columns, computed } = await checked(query);
  expect(columns.map(({ name }, at) => (computed.includes(at) ? null : name))).toEqual(names);
});

describe.each(Object.entries(SELECTS))('%s', (_, cases) => {
  const queries = cases.map(([query]) => query);
  const named = (values: readonly unknown[]) => Object.fromEntries(queries.map((query, n) => [query, values[n]]));
  let syntax: readonly Syntax[];
  let all: readonly CheckedSelect[];
  beforeAll(async () => {
    syntax = await syntaxOf(queries);
    all = syntax.map((one) => checkedSelect(one, UTC));
  });

  test('give what they say', async () => {
    const found: unknown[] = [];
    for (const one of all) found.push(await rowsOf(one));
    expect(named(found)).toEqual(named(cases.map(([, rows]) => rows)));
  });

  test('are the same in their normal form', async () => {
    const again = await syntaxOf(syntax.map(hogqlText));
    expect(named(again.map((one) => sqlOf(checkedSelect(one, UTC))))).toEqual(named(all.map((one) => sqlOf(one))));
  });

  test('give the same of numbers where they only tell texts apart', async () => {
    const found: unknown[] = [];
    for (const one of all) {
      const told = ['uuid', 'event', 'person_id'].filter((column) => onlyTellsApart(one.query, 'events', column));
      const numbers = told.map((column) => `1000 * length(${column}) - ascii(${column}[-1]) AS ${column}`).join(', ');
      found.push(await rowsOf(one, numbers === '' ? 'events' : `(SELECT * REPLACE (${numbers}) FROM events)`));
    }
    expect(named(found)).toEqual(named(cases.map(([, rows]) => rows)));
  });

  test('give the same of the text for Athena', async () => {
    const found: unknown[] = [];
    for (const { query, columns } of all) {
      const sql = asDuckdb(trinoSelect(query, (table) => table, NOW));
      const types = columns.map(({ type }) => type);
      const rows = (await trino.runAndReadAll(sql)).getRows();
      found.push(rows.map((row) => row.map((value, n) => plainOfTrino(value, types[n] as Type))));
    }
    expect(named(found)).toEqual(named(cases.map(([, rows]) => rows)));
  });

  test('are asked of Athena in what Trino can read', () => {
    const texts = all.map(({ query }) => trinoSelect(query, (table) => table, NOW));
    expect(named(texts.map((text) => faultsOf(text)))).toEqual(named(texts.map(() => [])));
    expect(named(texts)).toMatchSnapshot();
  });
});

test('every aggregate and window is in the table', () => {
  const texts = Object.values(SELECTS).flatMap((cases) => cases.map(([query]) => query));
  const names = [...AGGREGATE_NAMES, ...WINDOW_NAMES];
  expect(names.filter((name) => !texts.some((text) => text.includes(`${name}(`)))).toEqual([]);
});

describe('of rows that a subquery puts in order', () => {
  const ROWS = 200_000;
  /** By row: its person, a text of its time, and its time, all in another order than the rows are in. */
  const MANY = `(SELECT 'u' || n AS uuid, CAST((n * 7919) % ${ROWS} AS VARCHAR) AS event, 'p' || n % 300 AS person_id, (n * 7919) % ${ROWS} AS timestamp_us FROM range(${ROWS}) AS r(n))`;
  const inOrder = 'SELECT person_id, event, uuid FROM events ORDER BY timestamp';
  const CASES: Readonly<Record<string, string>> = {
    'the subquery itself': `SELECT groupArray(event) FROM (${inOrder}) GROUP BY person_id`,
    'a condition': `SELECT groupArrayIf(event, uuid != 'u1') FROM (${inOrder}) GROUP BY person_id`,
    'one that WITH names': `WITH q AS (${inOrder}) SELECT groupArray(q.event) FROM q JOIN q AS other ON q.uuid = other.uuid GROUP BY q.person_id`,
    'one that WITH names, for the second time': `WITH q AS (${inOrder}) SELECT b.l FROM (SELECT person_id, groupArray(uuid) AS l FROM q GROUP BY person_id) AS a JOIN (SELECT person_id, groupArray(event) AS l FROM q GROUP BY person_id) AS b ON a.person_id = b.person_id`,
    'one that takes of it': `SELECT groupArray(e) FROM (SELECT person_id, event AS e FROM (${inOrder}) WHERE uuid != 'u0') GROUP BY person_id`,
    'one of many rows': `SELECT groupArray(event) FROM (${inOrder} LIMIT ${ROWS - 10}) GROUP BY person_id`,
  };
  let many: DuckDBConnection;
  beforeAll(async () => {
    const database = await openDatabase({ threads: 2 });
    many = await database.connect();
    onEnd(() => {
      many.closeSync();
      database.closeSync();
    });
    await many.run(`CREATE TABLE events AS FROM ${MANY}`);
  });
  const read = async (query: string): Promise<unknown[][]> =>
    (await many.runAndReadAll(sqlOf(await checked(query)))).getRows().map((row) => row.map(plain));

  test.each(Object.keys(CASES))('lists are in its order: %s', async (name) => {
    const lists = (await read(CASES[name] as string)).map(([list]) => (list as string[]).map(Number));
    expect(lists).toHaveLength(300);
    expect(lists.every((one) => one.length > 600)).toBe(true);
    expect(lists.filter((one) => one.some((value, n) => value < (one[n - 1] ?? -1)))).toHaveLength(0);
  });

  test('one that takes a number of its rows takes the first', async () => {
    const taken = (of: string): string => `SELECT groupArray(e) FROM (SELECT event AS e FROM (${inOrder}) ${of})`;
    expect(await read(taken('LIMIT 3'))).toEqual([[['0', '1', '2']]]);
    // DuckDB keeps the order of a window by itself; Trino does not.
    const { query } = await checked(taken('LIMIT 3'));
    expect(trinoSelect(query, (table) => table, NOW)).toMatch(/ ORDER BY \w+\.\w+ NULLS LAST LIMIT 3\)/);
    expect(await read(taken("WHERE event != '3' LIMIT 3 OFFSET 2"))).toEqual([[['2', '4', '5']]]);
  });

  test('any() is of its first row that has a value', async () => {
    const among = "SELECT nullIf(event, '0') AS e FROM events ORDER BY timestamp";
    expect(await read(`SELECT any(e) FROM (${among})`)).toEqual([['1']]);
    expect(await read(`SELECT any(e) FROM (${among} DESC)`)).toEqual([[String(ROWS - 1)]]);
  });

  test('anyLast() is of its last row that has a value', async () => {
    const among = "SELECT nullIf(event, '0') AS e FROM events ORDER BY timestamp";
    expect(await read(`SELECT anyLast(e) FROM (${among} DESC)`)).toEqual([['1']]);
    expect(await read(`SELECT anyLast(e), anyLastIf(e, e < '2') FROM (${among})`)).toEqual([
      [String(ROWS - 1), String(ROWS - 1)],
    ]);
  });

  test('lists of the same rows are in one order, where several are', async () => {
    const [row] = await read(
      'SELECT groupArray(event), groupArray(uuid) FROM (SELECT event, uuid FROM events ORDER BY person_id)',
    );
    const [events = [], uuids = []] = row as string[][];
    expect(uuids.map((uuid) => String((Number(uuid.slice(1)) * 7919) % ROWS))).toEqual(events);
  });
});

describe('placeholders', () => {
  test('are filled with syntax, queries too', async () => {
    const [syntax, inner] = await syntaxOf([
      'SELECT {what} AS a FROM {q} AS s WHERE event IN {names} AND {variables.x}',
      'SELECT event FROM events',
    ]);
    const values = {
      what: call('count'),
      q: inner as Syntax,
      names: list(['buy', "it's"]),
      'variables.x': constant(true),
    };
    expect(await rowsOf(checkedSelect(filled(syntax as Syntax, values), UTC))).toEqual([[2]]);
  });

  test('that have no value are refused', async () => {
    const syntax = await parser.query('SELECT {what}');
    expect(() => filled(syntax, {})).toThrow(new Refusal('The placeholder {what} has no value'));
    expect(() => filled(syntax, Object.create({ what: constant(1) }))).toThrow(Refusal);
  });
});

describe("the project's clock", () => {
  const BERLIN: Language = { ...UTC, zone: 'Europe/Berlin', weekStartDay: 1 };
  const instant = (text: string): number => Date.parse(text) * 1000;
  const CASES: readonly (readonly [expression: string, gives: unknown])[] = [
    ["toDateTime('2026-01-05 10:00:00')", instant('2026-01-05T09:00:00Z')],
    ["toDateTime('2026-01-05T10:00:00Z')", instant('2026-01-05T10:00:00Z')],
    ["toDateTime('2026-01-05 10:00:00', 'UTC')", instant('2026-01-05T10:00:00Z')],
    ["toDateTime(concat('2026-01-05 10:00:0', '0'))", instant('2026-01-05T09:00:00Z')],
    ["toDateTime(concat('2026-01-05T10:00:00', '+05:00'))", instant('2026-01-05T05:00:00Z')],
    ["toDateTime('2026-01-05 10:00:00+00')", instant('2026-01-05T10:00:00Z')],
    ["toDateTime(concat('2026-01-05 10:00:00', '+05'))", instant('2026-01-05T05:00:00Z')],
    ["toDateTime(concat('2026-01', '-05'))", instant('2026-01-04T23:00:00Z')],
    ["toDate(toDateTime('2026-01-04T23:30:00Z'))", instant('2026-01-05T00:00:00Z')],
    ["toStartOfDay(toDateTime('2026-01-04T23:30:00Z'))", instant('2026-01-04T23:00:00Z')],
    ["toDateTime('2026-01-04T23:00:00Z') = toDate('2026-01-05')", true],
    ["toDateTime(toDate('2026-01-05'))", instant('2026-01-04T23:00:00Z')],
    ["toHour(toDateTime('2026-01-04T23:30:00Z'))", 0],
    ["toHour(toDateTime('2026-01-04T23:30:00Z'), 'UTC')", 23],
    ["toString(toDateTime('2026-01-04T23:30:00Z'))", '2026-01-05 00:30:00.000000'],
    ["formatDateTime(toDateTime('2026-01-04T23:30:00Z'), '%F %T')", '2026-01-05 00:30:00'],
    // Sunday: the week began on Monday.
    ["toStartOfWeek(toDateTime('2026-01-11T12:00:00Z'))", instant('2026-01-05T00:00:00Z')],
    ["toStartOfWeek(toDateTime('2026-01-11T12:00:00Z'), 0)", instant('2026-01-11T00:00:00Z')],
    ["dateTrunc('month', toDateTime('2026-01-31T23:30:00Z'))", instant('2026-02-01T00:00:00Z')],
    // Clocks went forward on 29 March 2026, and back on 25 October 2026.
    ["addDays(toDateTime('2026-03-28 12:00:00'), 1)", instant('2026-03-29T10:00:00Z')],
    ["toDateTime('2026-03-28 12:00:00') + INTERVAL 24 HOUR", instant('2026-03-29T11:00:00Z')],
    ["toStartOfHour(toDateTime('2026-10-25T00:30:00Z'))", instant('2026-10-25T00:00:00Z')],
    ["toStartOfHour(toDateTime('2026-10-25T01:30:00Z'))", instant('2026-10-25T01:00:00Z')],
    ["dateDiff('day', toDateTime('2026-03-28 23:30:00'), toDateTime('2026-03-29 00:30:00'))", 1],
    ["dateDiff('hour', toDate('2026-03-29'), toDateTime('2026-03-30 00:00:00'))", 23],
    ["dateDiff('hour', toDateTime('2026-10-25T00:30:00Z'), toDateTime('2026-10-25T01:30:00Z'))", 1],
    ["dateDiff('minute', toDateTime('2026-10-25T00:30:00Z'), toDateTime('2026-10-25T01:30:00Z'))", 60],
    ["dateDiff('second', toDateTime('2026-10-25 00:00:00'), toDateTime('2026-10-26 00:00:00'))", 90_000],
    ["dateDiff('hour', toDateTime('2026-01-01T00:20:00Z'), toDateTime('2026-01-01T00:40:00Z'), 'Asia/Kolkata')", 1],
    // The first instant of a day is one, however it is asked for.
    ["toStartOfDay(toDate('2026-01-05'))", instant('2026-01-04T23:00:00Z')],
    ["dateTrunc('day', toDate('2026-01-05'))", instant('2026-01-04T23:00:00Z')],
    ['today()', FIRST],
    ['toDate(1767222000)', instant('2026-01-01T00:00:00Z')],
  ];
  /** What stands for never, and for always. */
  const FAR: typeof CASES = [
    ["toDateTime('9999-12-31')", instant('9999-12-30T23:00:00Z')],
    ["toYear(toDateTime('9999-12-31'))", 9999],
    ["toStartOfDay(toDateTime('9999-12-31T12:00:00Z'))", instant('9999-12-30T23:00:00Z')],
    ["dateTrunc('month', toDateTime('9999-12-31'))", instant('9999-12-01T00:00:00Z')],
    ["formatDateTime(toDateTime('9999-12-31T22:00:00Z'), '%F %T')", '9999-12-31 23:00:00'],
    ["toDateTime('0001-01-01', 'America/New_York') < now()", true],
    ["toYear(toDateTime('0001-01-02'))", 1],
  ];
  const selectOf = (cases: typeof CASES): Promise<CheckedSelect> =>
    checked(`SELECT ${cases.map(([expression], n) => `${expression} AS e${n}`).join(', ')}`, BERLIN);

  test('is what times are read by', async () => {
    const [row = []] = await rowsOf(await selectOf([...CASES, ...FAR]));
    expect([...CASES, ...FAR].map(([expression], n) => [expression, row[n]])).toEqual([...CASES, ...FAR]);
  });

  test('is what times of far years are read by in the text for Athena', async () => {
    const { query } = await selectOf(FAR);
    const [row = []] = (await trino.runAndReadAll(asDuckdb(trinoSelect(query, (table) => table, NOW)))).getRows();
    expect(FAR.map(([expression], n) => [expression, plain(row[n] ?? null)])).toEqual(FAR);
  });
});

describe('a day that begins twice', () => {
  // From 1:00 the clock goes back to 0:00: at 0:00Z and at 1:00Z it shows midnight.
  const AZORES: Language = { ...UTC, zone: 'Atlantic/Azores' };
  const first = "toDateTime('2026-10-25T00:00:00Z')";
  const second = "toDateTime('2026-10-25T01:00:00Z')";

  test.each([
    `${first} >= '2026-10-25'`,
    `${first} >= toDate('2026-10-25')`,
    `toDate('2026-10-25') = ${first}`,
    `toDate(concat('2026-10', '-25')) = ${first}`,
    `toDateTime('2026-10-25 00:00:00') = ${first}`,
    `toDateTime(concat('2026-10-25', ' 00:00:00')) = ${first}`,
    `toStartOfDay(${second} + INTERVAL 30 MINUTE) = ${first}`,
    `toStartOfDay(${first} + INTERVAL 30 MINUTE) = ${first}`,
    `toStartOfInterval(${second}, INTERVAL 2 HOUR) = ${first}`,
    `addDays(toDateTime('2026-10-24 00:00:00'), 1) = ${first}`,
    `toDateTime('2026-10-25 00:30:00') = ${second} + INTERVAL 30 MINUTE`,
    "toDateTime('2026-10-26 00:00:00') = toDateTime('2026-10-26T01:00:00Z')",
    `toStartOfHour(${second} + INTERVAL 30 MINUTE) = ${second}`,
  ])('begins at the first: %s', async (condition) => {
    const { query } = await checked(`SELECT ${condition} AS holds`, AZORES);
    const athena = asDuckdb(trinoSelect(query, (table) => table, NOW));
    expect(await rowsOf(await checked(`SELECT ${condition} AS holds`, AZORES))).toEqual([[true]]);
    expect((await trino.runAndReadAll(athena)).getRows()).toEqual([[true]]);
  });
});

describe('a time that is moved into another zone', () => {
  const BERLIN: Language = { ...UTC, zone: 'Europe/Berlin' };
  const tokyo = "toTimeZone(toDateTime('2026-01-07T14:30:00Z'), 'Asia/Tokyo')";

  test.each([
    [`toHour(max(${tokyo}))`, 23],
    [`toHour(max(toDateTime('2026-01-07T14:30:00Z'))) + toHour(max(${tokyo}))`, 15 + 23],
    [`toHour(argMax(${tokyo}, 1))`, 23],
    [`toHour(arrayElement(groupArray(${tokyo}), 1))`, 23],
    [`toHour(lag(any(${tokyo}), 0) OVER ())`, 23],
    [`toHour((SELECT max(${tokyo})))`, 23],
    [`toHour(argMax((${tokyo}, 1), 1).1)`, 23],
    [`toHour(argMax((now(), ${tokyo}), 1).2)`, 23],
    [`toHour((SELECT argMax((1, ${tokyo}), 1)).2)`, 23],
    [`arrayMap(x -> toHour(x.1), groupArray((${tokyo}, 1)))[1]`, 23],
  ])('keeps it where a query passes it on: %s', async (expression, gives) => {
    expect(await rowsOf(await checked(`SELECT ${expression}, count()`, BERLIN))).toEqual([[gives, 1]]);
  });

  test.each([
    [`toHour(coalesce(${tokyo}, now()))`, 23],
    [`toHour(if(1 = 1, ${tokyo}, ${tokyo}))`, 23],
    [`toHour(arrayJoin([${tokyo}]))`, 23],
    [`arrayMap(x -> toHour(x), [${tokyo}])[1]`, 23],
    [`concat('at ', ${tokyo})`, 'at 2026-01-07 23:30:00.000000'],
    ["toString(toStartOfHour(toDateTime('2026-01-07T14:30:00Z'), 'UTC'))", '2026-01-07 14:00:00'],
    ["toHour(dateTrunc('hour', toTimeZone(toDateTime('2026-01-07T14:30:00Z'), 'UTC')))", 14],
    [`${tokyo} < '2026-01-07 23:31:00'`, true],
    [`${tokyo} > '2026-01-07 23:29:00'`, true],
    [`${tokyo} BETWEEN '2026-01-07 23:29:00' AND '2026-01-07 23:31:00'`, true],
    [`${tokyo} IN ('2026-01-07 23:30:00')`, true],
    [`${tokyo} >= toDate('2026-01-08')`, false],
    [`addMinutes(${tokyo}, 30) >= toDate('2026-01-08')`, true],
  ])('is read by the clock there: %s', async (expression, gives) => {
    expect(await rowsOf(await checked(`SELECT ${expression}`, BERLIN))).toEqual([[gives]]);
  });
});

test('columns have a name, a type, and what ClickHouse calls it', async () => {
  const one = await checked(
    "SELECT event, properties.a, count(), uniq(uuid) AS u, toStartOfDay(timestamp) AS d, toDate(timestamp), toFloat(properties.b) AS f, event = 'a' AS is, groupArray(event), max(timestamp), toInt('1'), person.properties.x, sum(1) AS s, sumIf(0.5 * 2, event = 'a') AS t, sum(properties.a) AS v, count() * 2 AS w, count() / 2 AS x FROM events GROUP BY event, properties, timestamp, person_properties",
    { ...UTC, zone: 'Asia/Tokyo' },
  );
  expect(one.columns.map(({ name, type, clickhouse }) => [name, type, clickhouse])).toEqual([
    ['event', 'text', 'String'],
    ['a', 'text', 'Nullable(String)'],
    ['count()', 'integer', 'UInt64'],
    ['u', 'integer', 'UInt64'],
    ['d', 'instant', "DateTime64(6, 'Asia/Tokyo')"],
    ['toDate(timestamp)', 'date', 'Date'],
    ['f', 'float', 'Nullable(Float64)'],
    ['is', 'boolean', 'Bool'],
    ['groupArray(event)', 'texts', 'Array(String)'],
    ['max(timestamp)', 'instant', "Nullable(DateTime64(6, 'Asia/Tokyo'))"],
    ["toInt('1')", 'integer', 'Nullable(Int64)'],
    ['x', 'text', 'Nullable(String)'],
    ['s', 'integer', 'Int64'],
    ['t', 'float', 'Float64'],
    ['v', 'float', 'Nullable(Float64)'],
    ['w', 'integer', 'Int64'],
    ['x', 'float', 'Float64'],
  ]);
  expect(one.tables).toEqual(
    new Map([['events', new Set(['event', 'properties', 'timestamp_us', 'person_properties', 'uuid'])]]),
  );
});

const REFUSED: readonly (readonly [query: string, text: string])[] = [
  ['SELECT nothing FROM events', 'Unable to resolve field: nothing. Fields are: distinct_id, event, person_id'],
  ['SELECT 1 FROM events WHERE event = "paid"', "A text stands in single quotes: 'paid'"],
  ['SELECT person.nope FROM events', 'Unable to resolve field: person.nope. Fields are: person.id, person.properties'],
  ['SELECT e.person.nope FROM events AS e', 'Fields are: person.id, person.properties'],
  [
    'WITH c AS (SELECT id FROM persons) SELECT 1 FROM events WHERE person_id IN c',
    'c is a query that WITH names; its rows are read by FROM, as in IN (SELECT … FROM c)',
  ],
  ['SELECT 1 FROM events WHERE EXISTS (SELECT 1)', 'EXISTS is not supported; use IN (SELECT …)'],
  ['SELECT DISTINCT ON (event) event, uuid FROM events', 'DISTINCT ON is not supported; use LIMIT 1 BY'],
  ['SELECT 1 FROM system.insights', 'Unknown table system.insights. There are: events, persons.'],
  [
    'SELECT arraySort(x -> x, [1])',
    'Lambdas are only supported in arrayMap(), arrayFilter(), arrayExists(), arrayCount() and arrayFirst()',
  ],
  ['SELECT 1 FROM nowhere', 'Unknown table nowhere. There are: events, persons.'],
  ['SELECT 1 FROM __proto__', 'Unknown table __proto__'],
  ['SELECT event, count() FROM events', 'event is neither in GROUP BY nor in an aggregate function, as in any(event)'],
  ['SELECT count() FROM events WHERE count() > 1', 'Aggregate functions are not supported here: count()'],
  ['SELECT sum(count()) FROM events', 'Aggregate functions are not supported here: count()'],
  ['SELECT 1 FROM events GROUP BY count()', 'Aggregate functions are not supported in GROUP BY'],
  ['SELECT id FROM events e JOIN persons p USING (id)', 'USING is not supported; use ON'],
  [
    'SELECT properties FROM events e JOIN persons p ON e.person_id = p.id',
    'Found multiple sources for field: properties',
  ],
  ['SELECT 1 FROM events e JOIN persons e ON 1 = 1', 'Two tables have the name e'],
  ['SELECT 1 FROM events e FULL JOIN persons p ON 1 = 1', 'FULL JOIN is not supported'],
  ['SELECT ((event, 1), uuid) FROM events', 'Tuples in tuples are not supported'],
  ['SELECT ([(event, 1)], uuid) FROM events', 'Tuples in tuples are not supported'],
  ['SELECT (event, uuid).3 FROM events', '.: there is no part 3 of a tuple of text and text'],
  ['SELECT tupleElement(event, 1) FROM events', 'tupleElement() takes a tuple, not text'],
  ['SELECT tupleElement((event, 1), length(event)) FROM events', 'must be a place, from 1'],
  ['SELECT max((event, uuid)) FROM events', 'max() cannot take a tuple'],
  ['SELECT toString((1, 2))', 'toString() cannot take a tuple of an integer and an integer'],
  ['SELECT if(1 = 1, (1, 2), (event, 2)) FROM events', 'convert them to one'],
  ['SELECT arraySort([(1, 2)])', 'arraySort() cannot sort tuples'],
  ['SELECT (event, uuid) = uuid FROM events', '= compares a tuple of text and text and text'],
  ['SELECT 1 FROM events WHERE (event, uuid) < (uuid, event)', '< cannot compare tuples'],
  ['SELECT 1 FROM events WHERE (event, uuid) IN (SELECT event FROM events)', 'The subquery of IN has 2 columns'],
  ['SELECT 1 FROM events WHERE (event, uuid) = (1, 2, 3)', 'Tuples of 2 and 3 parts cannot be compared'],
  ["SELECT 1 FROM events WHERE (event, uuid) IN ('a')", 'Tuples of 2 and 1 parts cannot be compared'],
  ['SELECT 1 FROM events WHERE (event, uuid) IN ((event, uuid))', 'IN takes constants'],
  ['SELECT (SELECT event FROM events)', 'A subquery as a value has one row: aggregates without GROUP BY, or LIMIT 1'],
  ['SELECT (SELECT count() FROM events GROUP BY event)', 'A subquery as a value has one row'],
  ['SELECT (SELECT arrayJoin([1, 2]))', 'A subquery as a value has one row'],
  ['SELECT (SELECT 1 UNION ALL SELECT 2)', 'A subquery as a value has one row'],
  ['SELECT (SELECT 1, 2)', 'A subquery as a value has one column'],
  ['SELECT (SELECT max(id) FROM persons WHERE id = event) FROM events', 'Unable to resolve field: event'],
  [
    'SELECT 1 FROM events e JOIN persons p ON e.person_id = (SELECT max(id) FROM persons)',
    'A subquery as a value is not supported after ON and in a lambda',
  ],
  ['SELECT arrayMap(x -> (SELECT 1), [1])', 'A subquery as a value is not supported after ON and in a lambda'],
  ['SELECT event FROM events WHERE event IN (SELECT uuid, event FROM events)', 'The subquery of IN has one column'],
  ['SELECT row_number() OVER () AS n FROM events WHERE n = 1', 'only supported in SELECT and ORDER BY: row_number()'],
  [
    'SELECT sum(row_number() OVER ()) OVER () FROM events',
    'Window functions are only supported in SELECT and ORDER BY',
  ],
  ['SELECT ntile(2) OVER () FROM events', 'Window functions like ntile() are not supported'],
  ['SELECT sum(1) OVER nothing FROM events', 'There is no window nothing'],
  ['SELECT uniq(event) OVER () FROM events', 'uniq() is not supported as a window function'],
  ['SELECT lag(event, event) OVER () FROM events', 'Argument 2 of lag() must be a constant'],
  [
    'SELECT sum(1) OVER (ORDER BY event RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM events',
    'ordered by a number or a time',
  ],
  [
    'SELECT sum(1) OVER (ORDER BY timestamp ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM events',
    'A frame ends before it begins',
  ],
  ['SELECT uuid AS t, count() FROM events GROUP BY event AS t', 'Alias t stands for two expressions'],
  ['SELECT count() AS t FROM events GROUP BY event AS t', 'Alias t stands for two expressions'],
  ['SELECT 1 FROM events GROUP BY event AS t, uuid AS t', 'Alias t stands for two expressions'],
  ['SELECT DISTINCT event FROM events ORDER BY uuid', 'ORDER BY of a SELECT DISTINCT takes what is selected'],
  ['SELECT event FROM events ORDER BY 2', 'There is no column 2'],
  ['SELECT event FROM events LIMIT event', 'LIMIT takes a whole number from 0'],
  ['SELECT 1 UNION DISTINCT SELECT 2', 'UNION DISTINCT is not supported; there is UNION ALL'],
  ['SELECT 1 UNION ALL SELECT 1, 2', 'The queries of a UNION ALL have as many columns each'],
  ["SELECT 1 UNION ALL SELECT 'a'", 'Column 1 of a UNION has values of different types'],
  ['SELECT quantile(2)(1) FROM events', 'The parameter of quantile() is a number from 0 to 1'],
  ['SELECT groupArray(0)(1) FROM events', 'The parameter of groupArray() is a whole number from 1'],
  ["SELECT groupArray('2')(1) FROM events", 'The parameter of groupArray() is a whole number from 1'],
  ['SELECT sum(2)(1) FROM events', 'Parameters of functions are not supported: sum()'],
  ['SELECT sum(DISTINCT 1) FROM events', 'DISTINCT is only supported in count()'],
  ['SELECT countIf() FROM events', 'countIf() takes a condition as its last argument'],
  ['SELECT sum(1, 2) FROM events', "Function 'sum' expects 1 argument, found 2"],
  ['SELECT nothing.* FROM events', 'Unknown table nothing before .*'],
  ['SELECT a.x FROM (SELECT 1 AS x) AS b', 'Unable to resolve field: a.x'],
  ['SELECT event FROM events SAMPLE 0.1', 'SAMPLE is not supported'],
  ['SELECT event FROM events ARRAY JOIN [1] AS a', 'ARRAY JOIN is not supported; use arrayJoin() in SELECT'],
  ['SELECT arrayJoin([1]), arrayJoin([2]) FROM events', 'A query may go through one list with arrayJoin()'],
  [
    "SELECT 1 FROM events AS e JOIN persons AS p ON e.person_id = arrayJoin([p.id, ''])",
    'arrayJoin() is not supported after ON',
  ],
  ['SELECT groupArray(groupArray(event)) FROM events', 'Aggregate functions are not supported here'],
  ['SELECT event FROM events WHERE {filters}', 'A placeholder has no value'],
  ['SELECT count() FROM events WHERE event', "WHERE takes a boolean, not text; compare it, as in event = 'a'"],
  ['SELECT count() FROM (SELECT lower(event) AS e FROM events) AS a WHERE a.e', 'WHERE takes a boolean, not text'],
  [
    'SELECT e FROM (SELECT event AS e FROM events UNION ALL SELECT distinct_id FROM events) AS a WHERE e',
    'WHERE takes a boolean, not text',
  ],
  ['SELECT event FROM events GROUP BY event HAVING any(event)', 'HAVING takes a boolean, not text'],
  ['SELECT uniqIf(person_id, event) FROM events', 'uniqIf() takes a boolean, not text'],
  ['WITH a AS (SELECT * FROM a) SELECT 1 FROM a', 'Unknown table a'],
  ['WITH a (y) AS (SELECT 1 AS x) SELECT * FROM a', 'Names of columns after a are not supported'],
  ['SELECT event FROM events ORDER BY event WITH FILL', 'WITH FILL is not supported'],
  ['SELECT rank() OVER (ORDER BY event WITH FILL) FROM events', 'WITH FILL is not supported'],
];

test.each([
  'SELECT count() FROM (SELECT lower(properties.plan) AS p FROM events) WHERE p',
  'WITH a AS (SELECT any(properties.plan) AS p FROM events GROUP BY event) SELECT count() FROM a WHERE NOT p',
  'SELECT properties.plan FROM events GROUP BY properties.plan HAVING properties.plan AND any(properties.a)',
  "SELECT e FROM (SELECT 'x' AS e FROM events UNION ALL SELECT toString(event = 'a') FROM events) WHERE e",
  'SELECT e FROM (SELECT event AS e FROM events UNION ALL SELECT properties.plan FROM events) WHERE e',
])('what may be a boolean is a condition wherever it comes from: %s', async (query) => {
  await expect(checked(query)).resolves.toBeDefined();
});

test('what is refused is named', async () => {
  const all = await syntaxOf(REFUSED.map(([query]) => query));
  const texts = all.map((one) => {
    try {
      checkedSelect(one, UTC);
      return 'nothing was refused';
    } catch (error) {
      return (error as Error).message;
    }
  });
  expect(texts).toEqual(REFUSED.map(([, text]) => expect.stringContaining(text)));
});

test.each([
  ['SELECT nothing FROM events', 'nothing'],
  ['SELECT 1 FROM events WHERE lower(event, 1) = 2', 'lower(event, 1)'],
  ['SELECT 1 FROM (SELECT a FROM events)', 'a'],
  ['SELECT 1 FROM nowhere', 'nowhere'],
  ['SELECT count() FROM events WHERE count()', 'count()'],
  ['SELECT event FROM events SAMPLE 0.1', 'SAMPLE 0.1'],
  ['SELECT event FROM events FINAL', 'events FINAL'],
  ['SELECT event FROM events ARRAY JOIN [1] AS a', '[1] AS a'],
  ['SELECT 1 FROM events ANY JOIN persons ON 1 = 1', 'persons'],
  ['SELECT 1 FROM events PREWHERE 2', '2'],
  ['SELECT 1 UNION DISTINCT SELECT 2', 'SELECT 2'],
  ['SELECT * FROM numbers(5)', '5'],
  ['SELECT lower(uuid), count() FROM events', 'lower(uuid)'],
  ['SELECT count() FROM events ORDER BY lower(uuid)', 'lower(uuid)'],
  ['SELECT 1 FROM (SELECT uuid FROM events GROUP BY ALL)', 'SELECT uuid FROM events GROUP BY ALL'],
])('a refusal of %s says where', async (query, part) => {
  const refusal: unknown = await checked(query).catch((error: unknown) => error);
  const start = query.lastIndexOf(part);
  expect(refusal).toMatchObject({ span: { start, end: start + part.length } });
});

test.each(['SELECT event FROM events GROUP BY ALL', 'SELECT 1 FROM events LIMIT 1 WITH TIES'])(
  'a refusal of %s has no place, as it is of all of it',
  async (query) => {
    const refusal: unknown = await checked(query).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ message: expect.stringContaining('not supported'), span: undefined });
  },
);

test('a refusal of what cannot be parsed says where', async () => {
  await expect(parser.query('SELECT a FROM events WHERE x ARRAY')).rejects.toMatchObject({
    span: { start: 29, end: 34 },
  });
});

test('a query is bounded', async () => {
  const syntax = (expr: Syntax): Syntax => ({
    node: 'SelectQuery',
    select: [expr],
    select_from: { node: 'JoinExpr', table: FIELD, alias: null },
  });
  const FIELD: Syntax = { node: 'Field', chain: ['events'] };
  const nested = (levels: number, inner: Syntax): Syntax =>
    levels === 0 ? inner : call('in', constant(1), syntax(nested(levels - 1, inner)));
  const refusalOf = (one: Syntax): string => {
    try {
      checkedSelect(one, UTC);
      return 'nothing was refused';
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
  };
  expect(refusalOf(syntax(nested(5, constant(1))))).toBe('nothing was refused');
  expect(refusalOf(syntax(nested(90, constant(1))))).toMatch(/too complex|at most/);
  const joined = (count: number): object | null =>
    count === 0 ? null : { node: 'JoinExpr', table: FIELD, alias: `t${count}`, next_join: joined(count - 1) };
  const query = { node: 'SelectQuery', select: [constant(1)], select_from: joined(100) } as Syntax;
  expect(refusalOf(query)).toBe('A query reads at most 60 tables and subqueries');
  // What a subquery has made longer is as long outside of it.
  const longer = 'SELECT concat(a, a, a, a, a, a, a, a, a, a) AS a FROM';
  await expect(checked(`${longer} (${longer} (SELECT event AS a FROM events))`)).resolves.toBeDefined();
  await expect(checked(`${longer} (${longer} (${longer} (SELECT event AS a FROM events)))`)).rejects.toThrow(
    'more than 100 times as long',
  );
  const windows = Array.from({ length: 101 }, (_, n) => `sum(${n}) OVER () AS w${n}`).join(', ');
  await expect(checked(`SELECT ${windows} FROM events`)).rejects.toThrow('at most 100 window functions');
});
