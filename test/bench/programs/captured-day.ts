/**
 * Lands generated events in the lake of a service, as requests that came over one day, so many landings in all, and joins
 * the files that this makes. Prints how many files there were before, and are then.
 */
import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { land } from '../../../lib/capture/land.ts';
import { allFiles } from '../../../lib/lake/catalog.ts';
import { compact } from '../../../lib/lake/compact.ts';
import { lakeDatabases } from '../../../lib/lake/databases.ts';
import { contentUuid } from '../../../lib/lake/sources/event.ts';
import { folderInbox } from '../../../lib/ports/inbox/folder.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { input, tell } from '../program.ts';

interface Input {
  readonly dataDirectory: string;
  readonly projectId: number;
  readonly requests: number;
  readonly eventsEach: number;
  /** They come evenly over this time, milliseconds. */
  readonly start: number;
  readonly length: number;
  /** How often what has come is landed. */
  readonly landings: number;
}

const { dataDirectory, projectId, requests, eventsEach, start, length, landings } = input as Input;

let now = start;
const folder = await mkdtemp(join(tmpdir(), 'captured-'));
const inbox = await folderInbox(join(folder, 'inbox'));
const directory = openDataDirectory(
  dataDirectory,
  LOCAL_SETTINGS,
  logTo(() => {}, Date.now),
);
const databases = lakeDatabases(directory.lake, { folder });
const context = { ...directory, databases, inbox, clock: () => now };

/** An event of about 500 bytes as JSON, of 10,000 people. */
const eventOf = (n: number): object => ({
  uuid: contentUuid(String(n)),
  event: '$pageview',
  distinct_id: `user-${n % 10_000}`,
  timestamp: new Date(now).toISOString(),
  properties: {
    $current_url: `https://www.example.com/products/${n % 5_000}?ref=${n}`,
    $session_id: contentUuid(String(n >> 4)),
    $browser: 'Firefox',
    $screen_width: 800 + (n % 1_200),
    price: n / 100,
    note: hash('sha512', String(n)),
  },
});

for (let r = 0, landed = 0; r < requests; r += 1) {
  now = start + Math.floor((r * length) / requests);
  const batch = Array.from({ length: eventsEach }, (_, e) => eventOf(r * eventsEach + e));
  const body = Buffer.from(JSON.stringify({ api_key: 'phc_project', batch }));
  await inbox.append({ id: String(r), projectId, receivedAt: now, path: '/batch/', query: {}, address: null, body });
  if (Math.floor(((r + 1) * landings) / requests) === landed) continue;
  landed += 1;
  const segments = (await inbox.segments()).map(({ name }) => ({ name, landed: [] }));
  const { failures } = await land(context, segments);
  if (failures.length > 0) throw new Error(failures[0]?.reason);
  await inbox.remove(segments.map(({ name }) => name));
}
const filesBefore = (await allFiles(context.table, projectId, 'events')).length;
for (let joined = 1; joined > 0; ) ({ joined } = await compact({ ...context, clock: Date.now }, projectId));
const files = await allFiles(context.table, projectId, 'events');
tell({ filesBefore, files: files.length, events: files.reduce((rows, file) => rows + file.rows, 0) });
await inbox.close();
await directory.close();
await rm(folder, { recursive: true, force: true });
