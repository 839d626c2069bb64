/** The normal form of an export's query, which clients read back and send again. */
import { type CheckedQuery, checkedQuery } from '../../../lib/exports/query/events-query.ts';
import { schemaOf } from '../../../lib/hogql/text.ts';
import { EVENTS_TABLE } from '../../../lib/lake/events-table.ts';
import { parser } from '../../support/parser.ts';
import { CONSTRUCTS } from './constructs.ts';

// Parsing starts threads; a loaded machine takes its time.
jest.setTimeout(60_000);

/** What a query comes to, and its normal form. */
async function read(query: string): Promise<Pick<CheckedQuery, 'select' | 'where'> & { readonly normal: string }> {
  const { syntax, select, where } = checkedQuery(await parser.query(query), EVENTS_TABLE, 'Batch exports');
  return { select, where, normal: schemaOf(syntax).hogql_query };
}

const AT_ONCE = 25;

test.each(Object.entries(CONSTRUCTS))('%s in normal form mean what they are', async (_, constructs) => {
  for (let n = 0; n < constructs.length; n += AT_ONCE) {
    const columns = constructs.slice(n, n + AT_ONCE).map(([expression], at) => `${expression} AS c${at}`);
    const asked = await read(`SELECT ${columns.join(', ')} FROM events`);
    expect(await read(asked.normal)).toEqual(asked);
  }
});

test.each([
  ["event IN ('a', 'b')", "in(event, tuple('a', 'b'))"],
  ["event NOT IN ('a')", "notIn(event, 'a')"],
  ["(event, 1) IN (('a', 1), ('b', 2))", "in(tuple(event, 1), tuple(tuple('a', 1), tuple('b', 2)))"],
  ["properties.a =~ 'a'", "(properties.a =~ 'a')"],
  ["NOT properties.a !~* 'a'", "not((properties.a !~* 'a'))"],
  ['properties.a NOT BETWEEN 1 AND 2', '(properties.a NOT BETWEEN 1 AND 2)'],
  [
    '(properties.a BETWEEN 1 AND 2) BETWEEN properties.b = 1 AND 2 > 1 AND true',
    'and(((properties.a BETWEEN 1 AND 2) BETWEEN equals(properties.b, 1) AND greater(2, 1)), true)',
  ],
  ['timestamp + INTERVAL 1 HOUR > now()', 'greater(plus(timestamp, toIntervalHour(1)), now())'],
  [
    'INTERVAL 1 DAY + timestamp - INTERVAL team_id MONTH > now()',
    'greater(minus(plus(toIntervalDay(1), timestamp), toIntervalMonth(team_id)), now())',
  ],
  ['properties.`order` = properties.`a``b`.`2`.1', 'equals(properties.order, properties.`a``b`.`2`.1)'],
  ["properties['a b'] = 'it''s \\\\ \\n'", "equals(properties.`a b`, 'it\\'s \\\\ \\n')"],
])('%s is %s, sent again too', async (condition, normal) => {
  const asked = await read(`SELECT event, ${condition} AS \`of it\` FROM events AS e WHERE ${condition}`);
  expect(asked.normal.split(' WHERE ')[1]).toBe(normal);
  expect(await read(asked.normal)).toEqual(asked);
});

test('words of the grammar as names are sent again as names', async () => {
  const words = 'select from where order and not NULL true interval case in as like distinct nan try fn'.split(' ');
  const named = words.map((word) => `properties.\`${word}\`.x AS \`${word}\``);
  const conditions = words.map((word) => `\`${word}\` = 'a'`);
  const asked = await read(`SELECT ${named.join(', ')} FROM events WHERE ${conditions.join(' AND ')}`);
  expect(await read(asked.normal)).toEqual(asked);
});
