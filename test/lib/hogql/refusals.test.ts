/** What is refused, and what its author reads. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkedCondition, checkedQuery } from '../../../lib/exports/query/events-query.ts';
import { FILTER_OPERATORS, filterCondition } from '../../../lib/exports/query/filters.ts';
import { AGGREGATE_NAMES } from '../../../lib/hogql/aggregates.ts';
import { FUNCTION_NAMES } from '../../../lib/hogql/functions.ts';
import { hogqlParser } from '../../../lib/hogql/parse.ts';
import { Refusal } from '../../../lib/hogql/refusal.ts';
import { WINDOW_NAMES } from '../../../lib/hogql/windows.ts';
import { INSIGHT_TABLES } from '../../../lib/insights/answering/tables.ts';
import { EVENTS_TABLE } from '../../../lib/lake/events-table.ts';

// Parsing starts threads; a loaded machine takes its time.
jest.setTimeout(60_000);

const parser = hogqlParser();

const QUERIES: readonly (readonly [query: string, text: string])[] = [
  ['SELECT event FROM', 'Failed to parse query'],
  ['SELECT event FROM events; SELECT 1', 'Failed to parse query'],
  ['SELECT 1', 'Query must SELECT FROM events'],
  ['SELECT event FROM persons', 'Query must only SELECT FROM events'],
  ['SELECT event FROM __proto__', 'Query must only SELECT FROM events'],
  ['SELECT event FROM numbers(10)', 'Query must only SELECT FROM events'],
  ['SELECT event FROM (SELECT event FROM events)', 'Subqueries are not supported'],
  ['WITH a AS (SELECT 1) SELECT event FROM events', 'CTEs are not supported'],
  ['SELECT event FROM events UNION ALL SELECT event FROM events', 'UNIONs are not supported'],
  ['SELECT events.event FROM events JOIN persons ON 1 = 1', 'JOINs are not supported'],
  ['SELECT event FROM events, persons', 'JOINs are not supported'],
  ['SELECT (SELECT 1) AS a FROM events', 'Subqueries in SELECT expressions are not supported'],
  ['SELECT event FROM events WHERE event IN (SELECT 1)', 'Subqueries are not supported'],
  ['SELECT count() FROM events', 'Aggregate functions are not supported: count()'],
  ['SELECT event FROM events GROUP BY event', 'GROUP BY is not supported'],
  ['SELECT event FROM events ORDER BY event', 'ORDER BY is not supported'],
  ['SELECT event FROM events LIMIT 10', 'LIMIT is not supported'],
  ['SELECT DISTINCT event FROM events', 'DISTINCT is not supported'],
  ['SELECT event FROM events SAMPLE 0.1', 'SAMPLE is not supported'],
  ['SELECT event FROM events SETTINGS max_threads = 1', 'SETTINGS is not supported'],
  ["SELECT event FROM events WHERE timestamp > date '2026-01-01'", 'DATE is not supported'],
  ['SELECT event FROM events WHERE event', "WHERE takes a boolean, not text; compare it, as in event = 'a'"],
  ["SELECT event FROM events WHERE 'x'", "WHERE takes a boolean, not the text 'x'"],
  ['SELECT row_number() OVER (PARTITION BY event) AS a FROM events', 'Window functions are not supported'],
  ['SELECT event FROM events WHERE {filters}', 'Placeholders are not supported'],
  ['SELECT event, distinct_id AS EVENT FROM events', 'Duplicate column name: EVENT'],
  ['SELECT arrayElement(event, 1) AS a FROM events', 'arrayElement() takes a list of texts, not text'],
  [
    'SELECT toDayOfWeek(timestamp, 4) AS a FROM events',
    'Argument 2 of toDayOfWeek() must be 0 (Monday is 1), 1 (Monday is 0), 2 (Sunday is 0) or 3 (Sunday is 1); a time zone is the third',
  ],
  [
    "SELECT JSONExtract(properties, 'a', 'Array(Int64)') AS a FROM events",
    "Argument 3 of JSONExtract() must be 'String', 'Int64', 'UInt64', 'Float64' or 'Bool', one of these as in 'Nullable(String)', or 'Array(String)'",
  ],
  ['SELECT round(1.5, 16) AS a FROM events', 'Argument 2 of round() must be a constant from -15 to 15'],
  ['SELECT lower(a) AS a FROM events', 'Alias a stands for itself'],
];

test.each(QUERIES)('%s', async (query, text) => {
  await expect(
    parser.query(query).then((syntax) => checkedQuery(syntax, EVENTS_TABLE, 'Batch exports')),
  ).rejects.toThrow(new Refusal(text));
});

const CONDITIONS: readonly (readonly [condition: string, text: string])[] = [
  ['unknown_field = 1', 'Invalid HogQL query: Unable to resolve field: unknown_field'],
  ['__proto__ = 1', 'Invalid HogQL query: Unable to resolve field: __proto__'],
  ['event.a = 1', 'Invalid HogQL query: Unable to resolve field: event.a'],
  ['person.name = 1', 'Invalid HogQL query: Unable to resolve field: person.name'],
  [
    "$session_id = ''",
    'Batch exports cannot read these fields: $session_id. Supported fields are: _inserted_at, created_at, distinct_id, ' +
      'elements_chain, event, person_id, person_properties, properties, team_id, timestamp, uuid.',
  ],
  ['constructor(1)', "Invalid HogQL query: Unsupported function call 'constructor(...)'"],
  ['__proto__(1)', "Invalid HogQL query: Unsupported function call '__proto__(...)'"],
  ['toInt32(event)', "Invalid HogQL query: Unsupported function call 'toInt32(...)'. Perhaps you meant 'toInt(...)'?"],
  [
    'toStartOfInterval(timestamp, INTERVAL 0 HOUR) = 1',
    'Argument 2 of toStartOfInterval() must be an interval of 1 to',
  ],
  [
    'toStartOfInterval(timestamp, toIntervalHour(length(event))) = 1',
    'Argument 2 of toStartOfInterval() must be an interval of 1 to',
  ],
  ['toStartOfInterval(timestamp, 15) = 1', 'Argument 2 of toStartOfInterval() must be'],
  ['lower(event, 1)', "Invalid HogQL query: Function 'lower' expects 1 argument, found 2"],
  ['sumIf(1, true)', 'Aggregate functions are not supported: sumIf()'],
  ["lower(1) = 'a'", 'lower() takes text, not an integer; use toString()'],
  ["match(event, '(?=a)')", "Regular expression '(?=a)' has '(?=a', which is not supported"],
  ["match(event, 'a\\\\ö')", "Regular expression 'a\\ö' has '\\ö', which is not supported"],
  ["match(event, '[a\\\\€]')", "Regular expression '[a\\€]' has '[a\\€', which is not supported"],
  ["match(event, '[[:alpha:]]')", "Regular expression '[[:alpha:]]' has '[[:a', which is not supported"],
  ["match(event, '[&-z]')", "Regular expression '[&-z]' has the range '&-z'; write '\\-' for a hyphen"],
  ["match(event, '(a')", "Regular expression '(a' has a '(' too many"],
  ['match(event, distinct_id)', 'The pattern of match() must be a text constant'],
  ["toDateTime(event, 'Mars/Base')", "Unknown time zone 'Mars/Base'"],
  ["toDateTime(event, 'IST')", "Unknown time zone 'IST'"],
  ["toDateTime(event, 'SystemV/PST8')", "Unknown time zone 'SystemV/PST8'"],
  ["formatDateTime(timestamp, '')", 'A format is 1 to 1000 characters long'],
  ["formatDateTime(timestamp, '%Q')", "Format '%Q' is not supported; there are "],
  ['event IN (distinct_id)', 'IN takes constants'],
  ["properties.a + ' ' + properties.b = 'x'", "+ takes numbers, not the text ' '; concat() puts texts together"],
  ["divide(1, 'two') = 1", "divide() takes numbers, not the text 'two'"],
  ["properties.a / '' = 1", "/ takes numbers, not the text ''"],
  ["' 5 ' + 1 = 6", "+ takes numbers, not the text ' 5 '"],
  ["'0x10' + 1 = 17", "+ takes numbers, not the text '0x10'"],
  ["coalesce(properties.a, 1, 'none') = 1", 'coalesce() has values of different types: text and an integer'],
  ['has([], event)', 'A list of nothing, [], is not supported: its elements have no type'],
  ['toStartOfWeek(timestamp, -1) = 1', 'Argument 2 of toStartOfWeek() must be 0 (weeks from Sunday)'],
  ['toStartOfWeek(timestamp, 10) = 1', 'Argument 2 of toStartOfWeek() must be 0 (weeks from Sunday)'],
  ['event::FixedString', 'Casts to fixedstring are not supported'],
  ...[
    '2026-11-31',
    '2026-2-29',
    '11/01/2026',
    'Nov 1 2026',
    '2026-11',
    '2026-11-1T24:00',
    '2026-11-01 00:00:00 UTC',
    '0000-02-30',
    '-7d',
    '12345678',
    '',
  ].flatMap((text): [string, string][] => [
    [`timestamp >= '${text}'`, `'${text}' names no time; write one as 2026-11-01 or 2026-11-01T10:00:00`],
    [`NOT toDate(timestamp) < '${text}'`, `'${text}' names no time`],
    [`timestamp BETWEEN '2026-11-01' AND '${text}'`, `'${text}' names no time`],
    [`timestamp IN ('2026-11-01', '${text}')`, `'${text}' names no time`],
    [`toDateTime('${text}') > timestamp`, `'${text}' names no time`],
    [`isNull('${text}'::date)`, `'${text}' names no time`],
  ]),
  ["toHour(timestamp) > 'abc'", "> compares numbers, and the text 'abc' is none"],
  ["length(event) BETWEEN 1 AND ''", "BETWEEN compares numbers, and the text '' is none"],
  ["team_id IN ('7', '1 000')", "IN compares numbers, and the text '1 000' is none"],
  ["equals(1.5, '1,5')", "equals() compares numbers, and the text '1,5' is none"],
  ['event', 'A filter takes a boolean, not text'],
  ["''", "A filter takes a boolean, not the text ''"],
  ['NOT lower(distinct_id)', 'NOT takes a boolean, not text'],
  ['event AND true', 'AND takes a boolean, not text'],
  ["or('maybe', true)", "or() takes a boolean, not the text 'maybe'"],
  ['if(trim(upper(event)), 1, 2) = 1', 'if() takes a boolean, not text'],
  ["arrayCount(x -> coalesce(event, 'on it'), [1]) = 1", 'The lambda of arrayCount() takes a boolean, not text'],
  ["(event = 'a') = 'maybe'", "= compares booleans, and the text 'maybe' is none"],
  ['timestamp = 1', 'compares a time and an integer; convert them to one type'],
  ['99999999999999999999 = 1', 'Number out of range'],
  ['length(range(10001)) = 1', 'range() makes at most 10000 numbers'],
  ['length(range(-10000, 1)) = 1', 'range() makes at most 10000 numbers'],
  ["properties.a[2.5] = ''", 'Places in arrays are counted from 1'],
];

test('conditions that are refused say why', async () => {
  const parsed = await parser.expressions(CONDITIONS.map(([condition]) => condition));
  const texts = parsed.map((syntax) => {
    try {
      checkedCondition(syntax, EVENTS_TABLE, 'Batch exports');
      return 'nothing was refused';
    } catch (error) {
      return (error as Error).message;
    }
  });
  expect(texts).toEqual(CONDITIONS.map(([, text]) => expect.stringContaining(text)));
});

describe('before it is parsed', () => {
  test('a text is measured', async () => {
    await expect(parser.query(`SELECT '${'é'.repeat(10_000)}' FROM events`)).rejects.toThrow('longer than 20 kB');
    await expect(parser.expressions(['1'.repeat(10_001), '1'.repeat(10_000)])).rejects.toThrow('longer than 20 kB');
  });

  test('the depth of its brackets too, but not of those in text and comments', async () => {
    const nested = (levels: number) => `SELECT ${'('.repeat(levels)}1${')'.repeat(levels)} AS a FROM events`;
    await expect(parser.query(nested(21))).rejects.toThrow('nested more than 20 levels deep');
    await expect(
      parser.query(`SELECT '${'('.repeat(30)}' AS a /* ${'['.repeat(30)} */ FROM events`),
    ).resolves.toBeDefined();
  });

  test.each([
    ['SELECT sum(1) FILTER (WHERE lower(event) = 2) OVER () FROM events', 'FILTER is not supported beside OVER'],
    ['SELECT sum(1) filter /* ( */ (where (event) = 2) over w FROM events', 'FILTER is not supported beside OVER'],
    ['SELECT event FROM events ORDER BY event DESC NULLS FIRST', 'NULLS FIRST is not supported'],
    ['SELECT rank() OVER (ORDER BY event nulls /* as told */ first) FROM events', 'NULLS FIRST is not supported'],
    ["SELECT event FROM events ORDER BY event COLLATE 'de'", 'COLLATE is not supported'],
    ['SELECT count() FROM events GROUP BY event WITH TOTALS', 'WITH TOTALS is not supported'],
    ['SELECT count() FROM events GROUP BY lower(event) WITH ROLLUP', 'WITH ROLLUP is not supported'],
    ['SELECT count() FROM events GROUP BY 1 with cube', 'WITH CUBE is not supported'],
    [
      'WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT n FROM t',
      'WITH RECURSIVE is not supported; arrayJoin(range(10)) makes numbers',
    ],
    ['SELECT SUBSTRING(event FROM 1 FOR 3) FROM events', 'SUBSTRING is not supported; write substring(x, 1, 3)'],
    ["SELECT match(event, '\\d+') FROM events", String.raw`Failed to parse query: in a text \d is written \\d`],
    ['SELECT 1 FROM (SELECT count() FROM events WITH TOTALS)', 'WITH TOTALS is not supported'],
    ["SELECT '😀' FROM events LIMIT 1, 2", 'LIMIT with a comma is not supported; write LIMIT n OFFSET m'],
    ['SELECT 1 IN (SELECT 2 LIMIT (1) /* two */ , 2)', 'LIMIT with a comma is not supported; write LIMIT n OFFSET m'],
    ['SELECT 1 UNION ALL SELECT 2 LIMIT 1, 2', 'LIMIT with a comma is not supported; write LIMIT n OFFSET m'],
    ["SELECT '😀', 1_000 FROM events", '1_000 is no number; write AS before a name'],
    ['SELECT 1e3_5', '1e3_5 is no number; write AS before a name'],
    ['SELECT properties.list.12abc FROM events', 'properties.list.12abc is no number; write AS before a name'],
  ])('%s is refused, of which the parser would tell nothing', async (query, text) => {
    await expect(parser.query(query)).rejects.toThrow(text);
  });

  test.each([
    'SELECT sum(1) FILTER (WHERE event = 2), sum(1) OVER () FROM events ORDER BY 1 NULLS LAST',
    "SELECT 'NULLS FIRST', a.nulls, 1 AS first FROM events /* WITH TOTALS */",
    'WITH totals AS (SELECT 1 AS x) SELECT x FROM totals',
    'WITH recursive AS (SELECT 1 AS x) SELECT x FROM recursive',
    String.raw`SELECT match(event, '\\d+'), 'it\'s' FROM events`,
    'SELECT x FROM (WITH totals AS (SELECT 1 AS x) SELECT x FROM totals)',
    'WITH a AS (WITH cube AS (SELECT 1 AS x) SELECT x FROM cube) SELECT x FROM a',
    'SELECT 1 UNION ALL WITH totals AS (SELECT 1 AS x) SELECT x FROM totals',
    "SELECT '😀' FROM events LIMIT 1, 3 BY event LIMIT 1 OFFSET 2",
    'SELECT 1 FROM events OFFSET 1 LIMIT 2',
    'SELECT 1 x, 1.5 y, 1e3 z, 0x1F, t.1, (1)a, 1 AS _000 FROM events',
  ])('%s is not', async (query) => {
    await expect(parser.query(query)).resolves.toBeDefined();
  });
});

test.each([
  [{}, "'filters' should be an array of filters"],
  [['a'], 'Each filter must be an object'],
  [[{ key: 'a' }], "Each filter must have a 'type' of one of: 'event', 'hogql', 'person'"],
  [[{ type: '__proto__', key: 'a' }], "Each filter must have a 'type' of one of: 'event', 'hogql', 'person'"],
  [[{ type: 'event' }], "Each filter must have a 'key'"],
  [[{ type: 'event', key: 'a', operator: 'constructor' }], "Each filter must have an 'operator' of one of: 'exact', "],
  [[{ type: 'event', key: 'a', value: {} }], "The value of a filter 'exact' must be a text, a number or a boolean"],
  [[{ type: 'event', key: 'a', operator: 'regex', value: '(' }], "Regular expression '(' has a '(' too many"],
  [[{ type: 'event', key: 'a', operator: 'gt', value: [1, 2] }], "The value of a filter 'gt' must be one value"],
  [[{ type: 'event', key: 'a', operator: 'is_date_after', value: 'soon' }], 'must be a date such as 2026-11-21'],
  [[{ type: 'event', key: 'a', operator: 'is_date_after', value: '2026-02-30' }], 'must be a date such as 2026-11-21'],
  [Array.from({ length: 101 }, () => ({ type: 'event', key: 'a', value: 1 })), 'There are more than 100 filters'],
  [Array.from({ length: 21 }, () => ({ type: 'hogql', key: 'true' })), "more than 20 filters of type 'hogql'"],
] as const)('filters %j', async (filters, text) => {
  await expect(filterCondition(parser, EVENTS_TABLE, filters, 'Batch exports')).rejects.toThrow(text);
});

test.each(['is_date_exact', 'is_date_before', 'is_date_after'])(
  'a filter %s takes the year 0, before all times',
  async (operator) => {
    const filters = [{ type: 'event', key: 'a', operator, value: '0000-01-01' }];
    await expect(filterCondition(parser, EVENTS_TABLE, filters, 'Batch exports')).resolves.toBeDefined();
  },
);

describe('docs/hogql.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/hogql.md'), 'utf8');
  /** What the first column of a table, or all of it, names below a heading. */
  const named = (heading: string, row: RegExp): string[] => {
    const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
    const cells = [...section.matchAll(row)].map(([, cell = '']) => cell);
    return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)).toSorted();
  };

  test('names every function, and no other', () => {
    expect(named('Functions', /^\|[^|]*\|(.*)\|$/gm)).toEqual(FUNCTION_NAMES.toSorted());
  });

  test('names every aggregate and window, and no other', () => {
    const names = [...AGGREGATE_NAMES, ...WINDOW_NAMES].toSorted();
    expect(named('Aggregates and windows', /^\|[^|]*\|(.*)\|$/gm)).toEqual(names);
  });

  test('names every column of sessions, and no other', () => {
    const rows =
      page.split('\n| column | what the events of the session say |\n|---|---|\n')[1]?.split('\n\n')[0] ?? '';
    const cells = [...rows.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell);
    const names = cells.flatMap((cell) => [...cell.matchAll(/`([\w$]+)`/g)].map(([, name = '']) => name));
    expect(names.toSorted()).toEqual([...(INSIGHT_TABLES.get('sessions')?.keys() ?? [])].toSorted());
  });

  test('names every operator of filters, and no other', () => {
    expect(named('Filters', /^\|([^|]*)\|.*\|$/gm)).toEqual(FILTER_OPERATORS.toSorted());
  });
});
