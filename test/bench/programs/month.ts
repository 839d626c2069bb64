/**
 * Publishes generated events of thirty days, and the persons whose they are, in the lake of a service: a file a day, as an
 * import of history writes them. A person has one distinct_id, some have a second that was a person of its own before.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { openDatabase } from '../../../lib/duckdb/database.ts';
import { writeDayFiles } from '../../../lib/lake/day-files.ts';
import { learnedProperties } from '../../../lib/lake/learned-properties.ts';
import { underLease } from '../../../lib/lake/lease.ts';
import { publish } from '../../../lib/lake/publish.ts';
import type { Model } from '../../../lib/lake/schema.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { input } from '../program.ts';

interface Input {
  readonly dataDirectory: string;
  readonly projectId: number;
  readonly events: number;
  readonly persons: number;
  /** The first instant of the first day, in milliseconds. */
  readonly start: number;
}

const { dataDirectory, projectId, events, persons, start } = input as Input;

const DAYS = 30;
/** One in so many persons has a second distinct_id. */
const MERGED = 5;
/** So many events follow one another in a visit. */
const VISIT = 8;

/** Events come evenly over all days. */
const STEP_US = Math.ceil((DAYS * DAY_MS * 1000) / events);

const instant = (ms: number): string => `${ms * 1000}::BIGINT`;
const personId = (kind: string, n: string): string =>
  `concat('${kind}0000000-0000-4000-8000-', lpad((${n})::VARCHAR, 12, '0'))`;
const [user, anonymous] = [(n: string) => `concat('user-', ${n})`, (n: string) => `concat('anonymous-', ${n})`];
const second = Math.floor(persons / MERGED);

/** Events of some 600 bytes, in the order of their arrival. */
const eventsOf = (day: number): string => {
  const firstOf = (one: number): number => Math.min(events, Math.ceil((one * DAY_MS * 1000) / STEP_US));
  return `
    SELECT uuid()::VARCHAR AS uuid, if(h % 10 < 7, '$pageview', ['$autocapture', '$pageleave', 'signed_up'][1 + (h % 3)::INTEGER]) AS event,
      if(who < ${persons}, ${user('who')}, ${anonymous(`who - ${persons}`)}) AS distinct_id, ${projectId}::BIGINT AS team_id,
      concat('{"$current_url":"https://www.example.com/articles/', h % 5000, '.html?from=', h % 97,
        '","$pathname":"/articles/', h % 5000, '.html","$host":"www.example.com","$referrer":"https://www.example.com/articles/',
        hash(n + 1) % 5000, '.html","$referring_domain":"www.example.com","$browser":"',
        ['Chrome', 'Firefox', 'Safari', 'Edge'][1 + (who % 4)::INTEGER], '","$os":"', ['Windows', 'Mac OS X', 'iOS'][1 + (who % 3)::INTEGER],
        '","$device_type":"', ['Desktop', 'Mobile'][1 + (who % 2)::INTEGER], '","$session_id":"', md5((n // ${VISIT})::VARCHAR),
        '","$lib":"web","$ip":"10.', who % 250, '.', (who // 250) % 250, '.7","method":"GET","status":', [200, 200, 200, 304, 404][1 + (n % 5)::INTEGER],
        ',"bytes":', 500 + h % 90000, '}') AS properties,
      ${instant(start)} + n * ${STEP_US} AS timestamp_us,
      timestamp_us AS inserted_us, timestamp_us AS created_us, NULL::VARCHAR AS person_id,
      NULL::VARCHAR AS person_properties, NULL::VARCHAR AS elements_chain
    FROM (
      SELECT n, hash(n) AS h, (hash(n // ${VISIT}) % ${persons + second})::BIGINT AS who
      FROM range(${firstOf(day)}::BIGINT, ${firstOf(day + 1)}::BIGINT) AS generated (n)
    )`;
};

/** The states of so many distinct_ids, that come so long after the first. */
const statesOf = (count: number, distinctId: string, person: string, after: number, isIdentified: boolean): string => `
  SELECT ${distinctId} AS distinct_id, ${projectId}::BIGINT AS team_id, ${person} AS person_id,
    concat('{"plan":"', ['free', 'team', 'scale'][1 + (n % 3)::INTEGER], '"}') AS properties,
    arrival AS person_distinct_id_version, arrival AS person_version,
    ${instant(start)} + (hash(n) % ${DAYS * DAY_MS * 1000})::BIGINT AS created_us, arrival AS inserted_us, false AS is_deleted,
    ${isIdentified} AS is_identified, 1::BIGINT AS distinct_ids, -1::BIGINT AS stated_version, -1::BIGINT AS stated_tie
  FROM (SELECT n, ${instant(start + after)} + n AS arrival FROM range(${count}) AS generated (n))`;

/** States of persons; a second distinct_id was a person of its own at first. */
const states = [
  statesOf(persons, user('n'), personId('a', 'n'), 0, true),
  statesOf(second, anonymous('n'), personId('b', 'n'), 0, false),
  statesOf(second, anonymous('n'), personId('a', 'n'), DAY_MS / 2, true),
].join(' UNION ALL ');

const context = openDataDirectory(
  dataDirectory,
  LOCAL_SETTINGS,
  logTo(() => {}, Date.now),
);
const scratch = await mkdtemp(join(tmpdir(), 'month-'));
const database = await openDatabase({
  memoryLimit: '1GB',
  tempDirectory: join(scratch, 'spill'),
  places: [scratch, context.lake.root],
});
const connection = await database.connect();
const learned = await learnedProperties(context.table, projectId);
await underLease(context, projectId, async (lease) => {
  const published = (model: Model, rows: string) =>
    publish(context, lease, async (_stamp, folder) => {
      await connection.run(`CREATE OR REPLACE TABLE rows AS ${rows}`);
      const target = {
        scratch: join(scratch, 'parquet'),
        folder,
        lake: context.lake,
        isSorted: model === 'events',
        learned,
      };
      return writeDayFiles(connection, model, 'rows', target);
    });
  await published('persons', states);
  for (let day = 0; day < DAYS; day += 1) await published('events', eventsOf(day));
});
connection.closeSync();
database.closeSync();
await context.close();
await rm(scratch, { recursive: true, force: true });
