import { DuckDBInstance } from '@duckdb/node-api';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { type Arrived, arrivalSql, historyEnd } from '../../../lib/lake/arrival.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
const LIVE = Date.UTC(2026, 0, 20);

async function arrivalOf(timestamp: number, arrived: Arrived, live: number | null): Promise<number> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const sql = arrivalSql(historyEnd(arrived, live, 7), NOW);
  const answer = await connection.runAndReadAll(`SELECT ${sql} FROM (SELECT ${timestamp * 1000} AS timestamp_us)`);
  connection.closeSync();
  return Number(answer.getRows()[0]?.[0]) / 1000;
}

const YESTERDAY = NOW - DAY_MS;
const BEFORE_GUARD = LIVE - 7 * DAY_MS - 1;
const AT_GUARD = LIVE - 7 * DAY_MS;

test.each([
  ['without an export everything is history', YESTERDAY, 'auto', null, YESTERDAY],
  ['more than a week before the first interval is history', BEFORE_GUARD, 'auto', LIVE, BEFORE_GUARD],
  ['a week before the first interval arrives now', AT_GUARD, 'auto', LIVE, NOW],
  ['right before the first interval arrives now', LIVE - 1, 'auto', LIVE, NOW],
  ['in an interval of the schedule arrives now', YESTERDAY, 'auto', LIVE, NOW],
  ['the future arrives now', NOW + DAY_MS, 'auto', null, NOW],
  ['the future arrives now, with an export too', NOW + DAY_MS, 'auto', LIVE, NOW],
  ['nothing arrives before 1970', -DAY_MS, 'auto', null, 0],
  ['nothing arrives before 1970, with an export too', -DAY_MS, 'auto', LIVE, 0],
  ['asked for now, history arrives now', BEFORE_GUARD, 'now', null, NOW],
  ['asked for then, an interval of the schedule arrives then', YESTERDAY, 'then', LIVE, YESTERDAY],
  ['asked for then, the future arrives now', NOW + DAY_MS, 'then', LIVE, NOW],
  ['asked for then, nothing arrives before 1970', -DAY_MS, 'then', LIVE, 0],
] as const)('%s', async (_what, timestamp, arrived, live, expected) => {
  expect(await arrivalOf(timestamp, arrived, live)).toBe(expected);
});
