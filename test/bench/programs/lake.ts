/** Publishes generated events to the lake, in batches of consecutive arrivals, as an import of history does. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { HOUR_MS } from '../../../lib/basics/units.ts';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { underLease } from '../../../lib/lake/lease.ts';
import { publish } from '../../../lib/lake/publish.ts';
import { EVENT_COLUMNS, ROW_GROUP } from '../../../lib/lake/schema.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { input } from '../program.ts';

interface Input {
  readonly dataDirectory: string;
  readonly projectId: number;
  readonly events: number;
  /** Events arrive evenly over this time, milliseconds; it lies within one day. */
  readonly start: number;
  readonly length: number;
}

const { dataDirectory: folder, projectId, events, start, length } = input as Input;

/** Rows of a batch, as an import makes them. */
const BATCH = 1_000_000;

/** Returns the arrival of the n-th event, in milliseconds. */
const arrival = (n: number): number => start + Math.floor((n * length) / events);

/** Events of some 500 bytes as JSON, of 100,000 people, in one order of arrival. */
const rows = (from: number, to: number): string => `
  SELECT ${EVENT_COLUMNS.map(({ name }) => name).join(', ')} FROM (
    SELECT uuid()::VARCHAR AS uuid, ${projectId}::BIGINT AS team_id,
      ['$pageview', '$autocapture', '$pageleave', 'signed_up', 'purchase'][1 + (n % 5)::INTEGER] AS event,
      concat('user-', hash(n) % 100000) AS distinct_id,
      concat('{"$current_url":"https://www.example.com/products/', hash(n) % 5000, '?ref=', md5(n::VARCHAR)[:8],
        '","$browser":"', ['Chrome', 'Firefox', 'Safari', 'Edge'][1 + (hash(n + 1) % 4)::INTEGER],
        '","$ip":"10.', hash(n) % 250, '.', hash(n + 2) % 250, '.7","$session_id":"', md5((n // 20)::VARCHAR),
        '","$screen_width":', 800 + hash(n + 3) % 1200, ',"price":', (hash(n + 4) % 100000) / 100, '}') AS properties,
      ${start * 1000}::BIGINT + (n * ${length * 1000}::BIGINT) // ${events} AS timestamp_us,
      timestamp_us AS inserted_us, timestamp_us AS created_us, NULL::VARCHAR AS person_id,
      concat('{"plan":"', ['free', 'team', 'scale'][1 + (hash(n) % 3)::INTEGER], '"}') AS person_properties,
      NULL::VARCHAR AS elements_chain
    FROM range(${from}::BIGINT, ${to}::BIGINT) generated(n))`;

/** Rows by the UTC hour of their arrival. */
function hours(from: number, to: number): number[] {
  const midnight = Math.floor(start / (24 * HOUR_MS)) * 24 * HOUR_MS;
  const found = Array.from({ length: 24 }, () => 0);
  for (let n = from; n < to; n += 1) {
    const hour = Math.floor((arrival(n) - midnight) / HOUR_MS);
    found[hour] = (found[hour] ?? 0) + 1;
  }
  return found;
}

const context = openDataDirectory(
  folder,
  LOCAL_SETTINGS,
  logTo(() => {}, Date.now),
);
const scratch = await mkdtemp(join(tmpdir(), 'lake-'));
const database = await openDatabase({ memoryLimit: '2GB', tempDirectory: scratch, places: ['/'] });
const connection = await database.connect();
await underLease(context, projectId, async (lease) => {
  for (let from = 0; from < events; from += BATCH) {
    const to = Math.min(events, from + BATCH);
    await publish(context, lease, async (_stamp, target) => {
      const name = 'batch.parquet';
      const path = join(scratch, name);
      const form = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP}`;
      await connection.run(`COPY (${rows(from, to)}) TO ${literal(path)} (${form})`);
      const { size } = await stat(path);
      await context.lake.take(path, `${target}${name}`);
      const [min, max] = [arrival(from), arrival(to - 1)];
      return [
        {
          name,
          model: 'events',
          rows: to - from,
          bytes: size,
          min_arrival: min,
          max_arrival: max,
          min_timestamp: min,
          max_timestamp: max,
          hours: toJsonText(hours(from, to)),
        },
      ];
    });
  }
});
connection.closeSync();
database.closeSync();
await context.close();
await rm(scratch, { recursive: true, force: true });
