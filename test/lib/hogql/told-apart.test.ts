/** Which queries only tell persons apart; that they answer the same of numbers, `select.test.ts` proves. */
import { onlyTellsApart } from '../../../lib/hogql/told-apart.ts';
import { checked } from './tables.ts';

const isOnlyToldApart = async (text: string): Promise<boolean> => {
  const { query } = await checked(text);
  return onlyTellsApart(query, 'events', 'person_id');
};

test.each([
  'SELECT count(DISTINCT person_id), uniq(person_id) FROM events',
  "SELECT countIf(DISTINCT person_id, event = 'view') FROM events WHERE person_id IS NOT NULL",
  'SELECT max(c) FROM (SELECT person_id, count() AS c FROM events GROUP BY person_id)',
  'SELECT count() FROM (SELECT DISTINCT person_id AS p, event FROM events) WHERE isNotNull(p)',
  'SELECT lag(event) OVER (PARTITION BY person_id ORDER BY timestamp) FROM events',
  'SELECT count() FROM events AS a JOIN (SELECT person_id AS p FROM events) AS b ON a.person_id = b.p',
  'SELECT uniq(p) FROM (SELECT person_id AS p FROM events UNION ALL SELECT person_id FROM events)',
  'WITH one AS (SELECT person_id AS p FROM events) SELECT count(DISTINCT p) FROM one',
  'SELECT event FROM events LIMIT 1 BY person_id',
])('persons are only told apart by %s', async (text) => {
  expect(await isOnlyToldApart(text)).toBe(true);
});

test.each([
  'SELECT person_id FROM events',
  'SELECT p FROM (SELECT person_id AS p FROM events GROUP BY person_id)',
  "SELECT count() FROM events WHERE person_id = 'ada'",
  "SELECT count() FROM events WHERE person_id IN ('ada', 'bob')",
  'SELECT count() FROM events WHERE person_id = event',
  'SELECT count() FROM events WHERE person_id IN (SELECT event FROM events)',
  'SELECT count() FROM events WHERE event IN (SELECT person_id FROM events)',
  'SELECT count() FROM events WHERE person_id < distinct_id',
  'SELECT event FROM events ORDER BY person_id',
  'SELECT uniq(lower(person_id)) FROM events',
  'SELECT max(person_id), argMax(person_id, timestamp) FROM events',
  'SELECT event, row_number() OVER (ORDER BY person_id) FROM events',
  'SELECT lag(person_id) OVER (ORDER BY timestamp) FROM events',
  'SELECT length(p) FROM (SELECT person_id AS p FROM events UNION ALL SELECT person_id FROM events)',
  'SELECT uniq(p) FROM (SELECT person_id AS p FROM events UNION ALL SELECT event FROM events)',
  'WITH one AS (SELECT person_id AS p FROM events) SELECT p FROM one',
  'SELECT count() FROM events AS a JOIN persons AS b ON a.person_id = b.id',
  'SELECT uniq((person_id, event)) FROM events',
  'SELECT groupArray(person_id) FROM events',
  'SELECT groupArray(event) FROM (SELECT event FROM events ORDER BY person_id)',
])('more is asked of persons by %s', async (text) => {
  expect(await isOnlyToldApart(text)).toBe(false);
});
