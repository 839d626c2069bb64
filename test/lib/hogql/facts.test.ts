/** What is told of queries as a whole, by what they come to. */
import { hasQuery, readsJson, readsNow, sortsGroups } from '../../../lib/hogql/facts.ts';
import { parser } from '../../support/parser.ts';
import { checked } from './tables.ts';

const factsOf = async (text: string) => {
  const { query } = await checked(text);
  return { now: readsNow(query), json: readsJson(query), groups: sortsGroups(query) };
};

const NONE = { now: false, json: false, groups: false };

test.each([
  ['SELECT event, count() FROM events GROUP BY event ORDER BY event', {}],
  [`SELECT '"now":true, "partition":[{, "operator":"json_raw"' FROM events`, {}],
  ['SELECT count() FROM events WHERE timestamp > now() - INTERVAL 1 DAY', { now: true }],
  ['WITH late AS (SELECT event FROM events WHERE timestamp > today()) SELECT count() FROM late', { now: true }],
  ['SELECT event FROM events WHERE event IN (SELECT event FROM events WHERE timestamp < now())', { now: true }],
  ['SELECT properties.browser FROM events', { json: true }],
  ["SELECT JSONExtractString(event, 'a') FROM events", { json: true }],
  ["SELECT arrayMap(x -> JSONExtractRaw(x, 'a'), [event]) FROM events", { json: true }],
  ['SELECT lag(event) OVER (PARTITION BY person_id ORDER BY timestamp) FROM events', { groups: true }],
  [
    'SELECT event FROM (SELECT event, rank() OVER (PARTITION BY event) FROM events) UNION ALL SELECT event FROM events',
    { groups: true },
  ],
  ['SELECT lag(event) OVER (ORDER BY timestamp) FROM events', {}],
])('%s', async (text, facts) => {
  expect(await factsOf(text)).toEqual({ ...NONE, ...facts });
});

test.each([
  ['event IN (SELECT event FROM events)', true],
  ['1 + (SELECT 1 UNION ALL SELECT 2)', true],
  [`event = '"node":"SelectQuery"'`, false],
  ["lower(event) = 'select'", false],
])('whether there is a query in %s is told: %s', async (text, isThere) => {
  const [syntax] = await parser.expressions([text]);
  expect(syntax && hasQuery(syntax)).toBe(isThere);
});
