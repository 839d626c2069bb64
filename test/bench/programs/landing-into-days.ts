/**
 * Lands the same number of events again and again, by turns in lakes that hold days of different sizes. Prints the
 * processor time that a landing took in each, the least of all rounds, and what the first took, which knows nothing of the
 * day yet; in milliseconds.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { land } from '../../../lib/capture/land.ts';
import { openDatabase } from '../../../lib/duckdb/database.ts';
import { lakeDatabases } from '../../../lib/lake/databases.ts';
import { writeDayFiles } from '../../../lib/lake/day-files.ts';
import { UuidLists } from '../../../lib/lake/import/uuid-lists.ts';
import { underLease } from '../../../lib/lake/lease.ts';
import { publish } from '../../../lib/lake/publish.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { input, tell } from '../program.ts';

interface Input {
  /** Events of the days, a lake for each. */
  readonly days: readonly number[];
  readonly events: number;
  readonly rounds: number;
}

const { days, events, rounds } = input as Input;

const PROJECT = 1;
const ROWS_OF_A_FILE = 500_000;
const EVENTS_EACH = 50;

const folder = await mkdtemp(join(tmpdir(), 'days-'));
const log = logTo(() => {}, Date.now);

async function lakeOf(rows: number) {
  const home = join(folder, String(rows));
  const directory = openDataDirectory(home, LOCAL_SETTINGS, log);
  await directory.table.write([
    { put: { ...keys.project(PROJECT), id: PROJECT, organization_id: 'o', deleted_at: null } },
  ]);
  const scratch = join(folder, `${rows}-scratch`);
  const database = await openDatabase({
    tempDirectory: join(scratch, 'spill'),
    places: [scratch, directory.lake.root],
  });
  const connection = await database.connect();
  for (let left = rows; left > 0; left -= ROWS_OF_A_FILE) {
    await underLease(directory, PROJECT, (lease) =>
      publish(directory, lease, async ({ at }, into) => {
        await connection.run(`CREATE OR REPLACE TABLE rows AS SELECT gen_random_uuid()::VARCHAR AS uuid,
            '$pageview' AS event, 'user-' || range % 10000 AS distinct_id, ${PROJECT}::BIGINT AS team_id,
            '{"n":' || range || ',"note":"' || sha256(range::VARCHAR) || '"}' AS properties,
            ${at}000::BIGINT - range AS timestamp_us, ${at}000::BIGINT AS inserted_us, ${at}000::BIGINT AS created_us,
            NULL::VARCHAR AS elements_chain, NULL::VARCHAR AS person_id, NULL::VARCHAR AS person_properties
          FROM range(${Math.min(left, ROWS_OF_A_FILE)})`);
        return writeDayFiles(connection, 'events', 'rows', {
          scratch: join(scratch, 'parquet'),
          folder: into,
          lake: directory.lake,
        });
      }),
    );
  }
  connection.closeSync();
  database.closeSync();
  const lists = new UuidLists(join(folder, `${rows}-uuids`));
  const databases = lakeDatabases(directory.lake, { folder });
  return { directory, databases, lists, took: [] as number[] };
}

const eventOf = (n: number): object => ({
  uuid: randomUUID(),
  event: '$pageview',
  distinct_id: `user-${n % 10_000}`,
  timestamp: new Date().toISOString(),
  properties: { n, $current_url: `https://www.example.com/products/${n % 5_000}`, note: randomUUID() },
});

const lakes = [];
for (const rows of days) lakes.push(await lakeOf(rows));
for (let round = 0; round <= rounds; round += 1) {
  for (const { directory, databases, lists, took } of lakes) {
    const requests = Array.from({ length: events / EVENTS_EACH }, (_, r) => {
      const batch = Array.from({ length: EVENTS_EACH }, (_event, e) => eventOf(r * EVENTS_EACH + e));
      const body = Buffer.from(JSON.stringify({ api_key: 'phc_project', batch }));
      const about = { id: String(r), projectId: PROJECT, receivedAt: Date.now(), path: '/batch/', query: {} };
      return { ...about, address: null, body };
    });
    const inbox = { read: async () => ({ requests, damaged: 0, unfinished: 0 }) };
    const began = process.cpuUsage();
    const { projects, failures } = await land({ ...directory, databases, inbox }, [{ name: 'one', landed: [] }], {
      lists,
    });
    const { user, system } = process.cpuUsage(began);
    if (projects[0]?.landed !== events) throw new Error(failures[0]?.reason ?? `${projects[0]?.landed} events landed`);
    took.push((user + system) / 1000);
  }
}
tell({ days: lakes.map(({ took: [first = 0, ...others] }) => ({ first, least: Math.min(...others) })) });
for (const { directory } of lakes) await directory.close();
await rm(folder, { recursive: true, force: true });
