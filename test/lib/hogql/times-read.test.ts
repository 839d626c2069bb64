/** Which times of events a query needs, and that it answers the same of these alone. */
import type { DuckDBConnection } from '@duckdb/node-api';
import * as fc from 'fast-check';
import { openDatabase } from '../../../lib/duckdb/database.ts';
import { duckdbSelect } from '../../../lib/hogql/duckdb-select.ts';
import type { WholeQuery } from '../../../lib/hogql/expression.ts';
import { filled } from '../../../lib/hogql/placeholders.ts';
import { checkedSelect } from '../../../lib/hogql/select/select.ts';
import type { Syntax } from '../../../lib/hogql/syntax.ts';
import { type Times, timesRead } from '../../../lib/hogql/times-read.ts';
import { call, constant, field } from '../../../lib/hogql/write.ts';
import { onEnd } from '../../support/on-end.ts';
import { parser } from '../../support/parser.ts';
import { checked, UTC } from './tables.ts';

const NOW = Date.parse('2026-03-10T15:30:00Z');
const NOW_US = BigInt(NOW) * 1000n;

/** Returns the hours that a query needs, as texts; a millisecond on either side is left to rounding. */
async function needed(text: string, zone = 'UTC'): Promise<readonly (string | null)[]> {
  const { query } = await checked(text, { ...UTC, zone });
  const { from, to } = timesRead(query, 'events', 'timestamp_us', NOW_US);
  return [from + 1, to - 1].map((at) => (Number.isFinite(at) ? new Date(at).toISOString().slice(0, 16) : null));
}

describe('The times that are needed of events', () => {
  it.each([
    ['timestamp > now() - INTERVAL 1 HOUR', '2026-03-10T14:30', null],
    ['now() - INTERVAL 90 MINUTE <= timestamp', '2026-03-10T14:00', null],
    ['timestamp >= now() - toIntervalDay(7) AND timestamp < now()', '2026-03-03T15:30', '2026-03-10T15:30'],
    [
      "timestamp >= '2026-01-05' AND event = 'a' AND timestamp < '2026-01-06 12:00:00'",
      '2026-01-05T00:00',
      '2026-01-06T12:00',
    ],
    ["timestamp = toDateTime('2026-01-05T10:00:00+02:00')", '2026-01-05T08:00', '2026-01-05T08:00'],
    ["timestamp BETWEEN toDate('2026-01-05') AND today()", '2026-01-05T00:00', '2026-03-10T00:00'],
    ['timestamp >= yesterday() AND timestamp < today()', '2026-03-09T00:00', '2026-03-10T00:00'],
    ['timestamp >= toStartOfDay(now())', '2026-03-10T00:00', null],
    ['timestamp >= fromUnixTimestamp64Milli(1767794400000)', '2026-01-07T14:00', null],
    ['timestamp >= toDateTime(1767794400)', '2026-01-07T14:00', null],
    ["toDate(timestamp) = '2026-01-05'", '2026-01-05T00:00', '2026-01-06T00:00'],
    ["timestamp BETWEEN '2026-1-5' AND '2026-1-06'", '2026-01-05T00:00', '2026-01-06T00:00'],
    ["timestamp IN ('2026-01-05', '2026-01-09', '2026-01-07')", '2026-01-05T00:00', '2026-01-09T00:00'],
    [
      "(timestamp > '2026-01-05' AND timestamp < '2026-01-06') OR timestamp = '2026-02-01'",
      '2026-01-05T00:00',
      '2026-02-01T00:00',
    ],
    ["timestamp > '2026-01-05' AND (event = 'a' OR timestamp < '2026-01-06')", '2026-01-05T00:00', null],
    ['timestamp > now() - INTERVAL 1 MONTH', '2026-02-07T15:30', null],
    ['toStartOfMonth(timestamp) <= today()', null, '2026-04-11T00:00'],
    ['addDays(timestamp, 2) > now()', '2026-03-08T15:30', null],
  ])('are those that fulfil %s', async (condition, from, to) => {
    expect(await needed(`SELECT count() FROM events WHERE ${condition}`)).toEqual([from, to]);
  });

  it.each([
    "NOT (timestamp < '2026-01-05')",
    "timestamp > '2026-01-05' OR event = 'a'",
    "timestamp > concat('2026-02', '-28')",
    'timestamp > toDateTime(properties.at)',
    'timestamp > (SELECT max(created_at) FROM persons)',
    'toHour(timestamp) > 10',
    "if(event = 'a', timestamp, now()) > '2026-01-05'",
    'timestamp = now() - INTERVAL 99999 YEAR',
    "event > '2026-01-05'",
    "toString(timestamp) > '2026-01-05'",
  ])('are all, if all that is said of them is %s', async (condition) => {
    expect(await needed(`SELECT count() FROM events WHERE ${condition}`)).toEqual([null, null]);
  });

  it.each([
    ["SELECT 1 FROM (SELECT event FROM events WHERE timestamp > '2026-01-05')", '2026-01-05T00:00'],
    [
      "SELECT event FROM events WHERE timestamp > '2026-01-05' UNION ALL SELECT event FROM events WHERE timestamp > '2026-01-03'",
      '2026-01-03T00:00',
    ],
    ["SELECT event FROM events WHERE timestamp > '2026-01-05' UNION ALL SELECT event FROM events", null],
    ["WITH a AS (SELECT event FROM events) SELECT event FROM events WHERE timestamp > '2026-01-05'", null],
    [
      "SELECT event FROM events WHERE timestamp > '2026-01-05' AND event IN (SELECT event FROM events WHERE timestamp > '2026-01-04')",
      '2026-01-04T00:00',
    ],
    ["SELECT event FROM events WHERE timestamp > '2026-01-05' AND event IN (SELECT event FROM events)", null],
    ["SELECT (SELECT count() FROM events) FROM events WHERE timestamp > '2026-01-05'", null],
    ["SELECT 1 FROM events AS a JOIN events AS b ON a.event = b.event WHERE a.timestamp > '2026-01-05'", null],
    [
      "SELECT 1 FROM events AS a JOIN events AS b ON a.event = b.event AND b.timestamp > '2026-01-04' WHERE a.timestamp > '2026-01-05'",
      '2026-01-04T00:00',
    ],
    [
      "SELECT 1 FROM events AS a LEFT JOIN events AS b ON a.event = b.event AND b.timestamp > '2026-01-04' WHERE a.timestamp > '2026-01-05'",
      '2026-01-04T00:00',
    ],
    ["SELECT 1 FROM events AS a LEFT JOIN persons AS b ON b.id = a.event AND a.timestamp > '2026-01-04'", null],
    [
      "SELECT 1 FROM events AS a JOIN persons AS b ON b.id = a.event AND a.timestamp > '2026-01-04'",
      '2026-01-04T00:00',
    ],
    ["SELECT toStartOfDay(now()) AS timestamp FROM events WHERE timestamp > '2026-01-05'", null],
    ["SELECT countIf(timestamp > '2026-01-05') FROM events", null],
    ["SELECT max(timestamp) AS t FROM events HAVING t > '2026-01-05'", null],
    ["SELECT 1 FROM persons AS events WHERE events.created_at > '2026-01-05'", null],
  ])('are those of all that read them together: %s', async (text, from) => {
    expect((await needed(text))[0]).toEqual(from);
  });

  it.each([
    // By the clock of Berlin, which is an hour ahead in January, with what another table of zones may say.
    ["timestamp >= '2026-01-05' AND timestamp < '2026-01-06'", '2026-01-04T19:00', '2026-01-06T03:00'],
    ['timestamp > now() - INTERVAL 1 HOUR', '2026-03-10T14:30', null],
    ["timestamp >= toDateTime('2026-01-05T00:00:00Z')", '2026-01-05T00:00', null],
  ])('are a little more in a zone of another clock than UTC: %s', async (condition, from, to) => {
    expect(await needed(`SELECT count() FROM events WHERE ${condition}`, 'Europe/Berlin')).toEqual([from, to]);
  });
});

const ZONES = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Asia/Kathmandu'];
const FIRST_US = BigInt(Date.parse('2011-12-20T00:00:00Z')) * 1000n;

/** Events every few hours around the day that Samoa left out, and those around now. */
let connection: DuckDBConnection;
beforeAll(async () => {
  const database = await openDatabase({ threads: 1 });
  connection = await database.connect();
  onEnd(() => {
    connection.closeSync();
    database.closeSync();
  });
  await connection.run(`CREATE TABLE all_events AS
    SELECT 'u' || n AS uuid, chr(CAST(97 + n % 3 AS INTEGER)) AS event, 'd' || n % 5 AS distinct_id, '{}' AS properties,
      (CASE WHEN n < 150 THEN ${FIRST_US} ELSE ${NOW_US - 40n * 86_400_000_000n} END) + (n % 150) * 25_537_000_123 AS timestamp_us
    FROM range(300) AS _(n)`);
  await connection.run("CREATE TABLE persons AS SELECT 'a' AS id, '{}' AS properties, 0 AS created_us");
});

const count = fc.integer({ min: -3, max: 40 }).map(constant);
const unit = fc.constantFrom('Seconds', 'Minutes', 'Hours', 'Days', 'Weeks', 'Months', 'Quarters', 'Years');
const way = fc.constantFrom('add', 'subtract');
const step = fc.constantFrom(
  'toStartOfMinute',
  'toStartOfFifteenMinutes',
  'toStartOfHour',
  'toStartOfDay',
  'toStartOfWeek',
  'toMonday',
  'toStartOfMonth',
  'toStartOfQuarter',
  'toStartOfYear',
  'toDate',
  'toDateTime',
);
const zone = fc.constantFrom(...ZONES);
/** Times made of a first one in any way. */
const madeOf = (first: fc.Arbitrary<Syntax>): fc.Arbitrary<Syntax> =>
  fc.letrec<{ time: Syntax }>((tie) => ({
    time: fc.oneof(
      { maxDepth: 3 },
      first,
      first,
      fc.tuple(step, tie('time')).map(([name, of]) => call(name, of)),
      fc.tuple(way, unit, tie('time'), count).map(([to, units, of, n]) => call(`${to}${units}`, of, n)),
      fc.tuple(tie('time'), zone).map(([of, name]) => call('toTimeZone', call('toDateTime', of), constant(name))),
    ),
  })).time;
const day = fc
  .tuple(fc.constantFrom('2011-12-', '2026-02-', '2026-03-'), fc.integer({ min: 10, max: 31 }))
  .map(([month, n]) => `${month}${n}`)
  .filter((date) => !/02-(?:29|3)/.test(date));
const told = madeOf(
  fc.oneof(
    fc.constantFrom('now', 'today', 'yesterday').map((name) => call(name)),
    day.map((date) => call('toDate', constant(date))),
    day.map((date) => call('toDateTime', constant(`${date} 10:20:30.5+05:45`))),
    fc.tuple(day, zone).map(([date, name]) => call('toDateTime', constant(`${date} 23:59:59`), constant(name))),
  ),
);
const conditionOn = (relation: string): fc.Arbitrary<Syntax> => {
  const ofRow = madeOf(fc.constant(field(relation, 'timestamp')));
  return fc.letrec<{ condition: Syntax }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 2 },
      fc
        .tuple(
          fc.constantFrom('less', 'lessOrEquals', 'greater', 'greaterOrEquals', 'equals'),
          ofRow,
          told,
          fc.boolean(),
        )
        .map(([name, row, other, isTurned]) => (isTurned ? call(name, other, row) : call(name, row, other))),
      fc.record({ node: fc.constant('BetweenExpr'), expr: ofRow, low: told, high: told, negated: fc.constant(false) }),
      fc
        .tuple(fc.constantFrom('and', 'or'), tie('condition'), tie('condition'))
        .map(([name, ...of]) => call(name, ...of)),
      tie('condition').map((one) => call('not', one)),
    ),
  })).condition;
};

/** What reads events on which there are conditions. */
const QUERIES = [
  'SELECT count(), min(timestamp), max(uuid) FROM events AS a WHERE {a}',
  'SELECT count(), max(b.uuid) FROM events AS a JOIN events AS b ON a.event = b.event AND {b} WHERE {a}',
  'SELECT count(), max(b.uuid) FROM events AS a LEFT JOIN events AS b ON a.event = b.event AND {b} WHERE {a}',
  'SELECT count(), max(b.uuid) FROM events AS a LEFT JOIN events AS b ON a.distinct_id = b.distinct_id WHERE {a} AND {b}',
  'SELECT count(), max(b.uuid) FROM events AS a JOIN events AS b ON a.distinct_id = b.distinct_id AND {a} AND {b}',
  "SELECT count(), max(b.uuid) FROM events AS a LEFT JOIN events AS b ON a.event = b.event AND {a} AND {b} WHERE a.timestamp > '2012-01-01'",
  'WITH x AS (SELECT event FROM events AS a WHERE {a}) SELECT count() FROM events AS b WHERE {b} AND event NOT IN (SELECT event FROM x)',
  'SELECT uuid FROM (SELECT uuid FROM events AS a WHERE {a} UNION ALL SELECT uuid FROM events AS b WHERE {b}) ORDER BY uuid',
  'SELECT uuid, (SELECT max(uuid) FROM events AS a WHERE {a}) FROM events AS b WHERE {b} ORDER BY uuid',
] as const;

const answerOf = async (of: WholeQuery, events: string): Promise<unknown> =>
  (
    await connection.runAndReadAll(duckdbSelect(of, (table) => (table === 'events' ? events : table), NOW_US))
  ).getRows();

const isBounded = ({ from, to }: Times): boolean => Number.isFinite(from) || Number.isFinite(to);

test('what is needed of events gives the same answer as all of them, by any clock', async () => {
  const syntaxes = await Promise.all(QUERIES.map((one) => parser.query(one)));
  let bounded = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...syntaxes),
      conditionOn('a'),
      conditionOn('b'),
      zone,
      async (syntax, a, b, name) => {
        const of = checkedSelect(filled(syntax, { a, b }), { ...UTC, zone: name }).query;
        const times = timesRead(of, 'events', 'timestamp_us', NOW_US);
        if (!isBounded(times)) return;
        bounded += 1;
        const { from, to } = times;
        const within = [
          Number.isFinite(from) ? `timestamp_us // 1000 >= ${from}` : 'true',
          Number.isFinite(to) ? `timestamp_us // 1000 <= ${to}` : 'true',
        ].join(' AND ');
        expect(await answerOf(of, `(SELECT * FROM all_events WHERE ${within})`)).toEqual(
          await answerOf(of, 'all_events'),
        );
      },
    ),
    { numRuns: 100 },
  );
  expect(bounded).toBeGreaterThan(20);
});
