/** From requests to the lake: every event that was acknowledged is there, once. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type LandingSegment, land } from '../../../lib/capture/land.ts';
import { Lander } from '../../../lib/capture/lander.ts';
import { openDatabase, parquet } from '../../../lib/duckdb/database.ts';
import { allFiles } from '../../../lib/lake/catalog.ts';
import { underLease } from '../../../lib/lake/lease.ts';
import { folderInbox } from '../../../lib/ports/inbox/folder.ts';
import type { CapturedRequest, Inbox } from '../../../lib/ports/inbox/inbox.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { HOUR_MS, MINUTE_MS } from '../../../lib/ports/units.ts';
import { START } from '../../support/context.ts';
import { fileIn, importContext, killableContext, PROJECT, run } from '../../support/imports.ts';
import { onEnd } from '../../support/on-end.ts';

const OTHER = 8;

type Context = Awaited<ReturnType<typeof importContext>>;

interface Sent {
  readonly event?: string;
  readonly uuid?: string;
  readonly distinct_id?: string;
  readonly timestamp?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
}

async function world() {
  const context = await importContext();
  const inbox = await folderInbox(join(context.folder, 'inbox'));
  onEnd(() => inbox.close());
  const lander = landerOf(context, inbox);
  const send = (events: readonly Sent[], about: Partial<CapturedRequest> & { readonly sent_at?: string } = {}) => {
    const { sent_at, ...rest } = about;
    return inbox.append({
      id: randomUUID(),
      projectId: PROJECT,
      receivedAt: context.clock(),
      path: '/batch/',
      query: {},
      address: '203.0.113.7',
      body: Buffer.from(JSON.stringify({ api_key: 'phc_ours', batch: events.map(whole), sent_at })),
      ...rest,
    });
  };
  return { context, inbox, lander, send };
}

const whole = (event: Sent) => ({ event: 'clicked', distinct_id: 'ada', ...event });

const landerOf = (context: Context, inbox: Inbox) =>
  new Lander({
    inbox,
    log: context.log,
    land: (segments: readonly LandingSegment[]) => land({ ...context, inbox }, segments),
  });

/** A column of all rows of a model in the lake, in order. */
async function inLake(context: Context, column: string, model: 'events' | 'persons' = 'events', projectId = PROJECT) {
  const files = await allFiles(context.table, projectId, model);
  if (files.length === 0) return [];
  const paths = files.map(({ path }) => context.lake.address(path));
  const database = await openDatabase({ places: paths });
  const connection = await database.connect();
  const answer = await connection.runAndReadAll(`SELECT ${column} FROM ${parquet(paths)} ORDER BY ALL`);
  connection.closeSync();
  database.closeSync();
  return answer.getRows().map(([value]) => (typeof value === 'bigint' ? Number(value) : value));
}

test('events land with the moment of their landing as arrival, and the inbox is empty then', async () => {
  const { context, inbox, lander, send } = await world();
  await send([
    { event: 'a', properties: { n: 1 } },
    { event: 'b', timestamp: '2025-12-31T23:00:00Z' },
  ]);
  context.clock.advance(MINUTE_MS);
  expect(await lander.pass()).toBe(2);
  expect(await inLake(context, 'event')).toEqual(['a', 'b']);
  expect(await inLake(context, 'timestamp_us // 1000')).toEqual([START - HOUR_MS, START]);
  expect(new Set(await inLake(context, 'inserted_us // 1000'))).toEqual(new Set([START + MINUTE_MS]));
  expect(await inLake(context, "properties->>'$.n'")).toEqual(['1', null]);
  expect(await inLake(context, 'properties->>\'$."$ip"\'')).toEqual(['203.0.113.7', '203.0.113.7']);
  expect(await inbox.segments()).toEqual([]);
  expect(await lander.pass()).toBe(0);
});

test('an event that is sent again is one event, whatever its corrected time', async () => {
  const { context, lander, send } = await world();
  const uuid = randomUUID();
  const event = { uuid, timestamp: '2026-01-01T00:00:00Z' };
  await send([event], { sent_at: '2026-01-01T00:00:00Z' });
  await send([event, event], { sent_at: '2026-01-01T00:00:00Z', receivedAt: START + 30_000 });
  expect(await lander.pass()).toBe(1);
  context.clock.advance(20 * HOUR_MS);
  await send([event], { sent_at: '2026-01-01T00:00:00Z' });
  await send([
    { ...event, distinct_id: 'bob' },
    { ...event, event: 'bought' },
  ]);
  expect(await lander.pass()).toBe(2);
  expect(await inLake(context, "distinct_id || ' ' || event")).toEqual(['ada bought', 'ada clicked', 'bob clicked']);
});

test('an event without a uuid is one event when the same bytes come again', async () => {
  const { lander, send } = await world();
  const events = [{ timestamp: '2026-01-01T00:00:00Z' }, { timestamp: '2026-01-01T00:00:00Z' }];
  await send(events);
  expect(await lander.pass()).toBe(2);
  await send(events);
  expect(await lander.pass()).toBe(0);
});

test('an event that was captured and is imported later is there once', async () => {
  const { context, lander, send } = await world();
  const uuid = randomUUID();
  await send([{ uuid, timestamp: '2026-01-01T00:00:00Z' }]);
  await lander.pass();
  const line = { uuid, event: 'clicked', distinct_id: 'ada', timestamp: '2026-01-01T00:00:00Z', properties: {} };
  const report = await run(context, fileIn(context, 'events.jsonl', JSON.stringify(line)));
  expect(report).toMatchObject({ added: 0, known: 1 });
});

test('persons are folded as imports fold them', async () => {
  const { context, lander, send } = await world();
  await send([{ distinct_id: 'anonymous 1', properties: { $set: { plan: 'free' } } }]);
  await lander.pass();
  context.clock.advance(1_000);
  await send([{ event: '$identify', properties: { $anon_distinct_id: 'anonymous 1', $set: { plan: 'pro' } } }]);
  await send([{ distinct_id: 'stream', properties: { $process_person_profile: false, $set: { x: 1 } } }]);
  await lander.pass();
  expect(new Set(await inLake(context, 'distinct_id', 'persons'))).toEqual(new Set(['ada', 'anonymous 1']));
  expect(new Set(await inLake(context, 'person_id', 'persons')).size).toBe(1);
  expect(await inLake(context, "max_by(properties->>'$.plan', inserted_us)", 'persons')).toEqual(['pro']);
});

test('the good events of a request land, and the bad ones are counted by reason', async () => {
  const { context, inbox, send } = await world();
  await send([{ event: 'good' }, { event: '' }, { distinct_id: '' }, { uuid: 'no' }, { uuid: 'neither' }]);
  const [segment] = await inbox.segments();
  const report = await land({ ...context, inbox }, [{ name: segment?.name ?? '', landed: [] }]);
  expect(report.projects).toEqual([
    {
      projectId: PROJECT,
      landed: 1,
      known: 0,
      refused: { missing_event_name: 1, missing_distinct_id: 1, invalid_uuid: 2 },
      delayMs: 0,
    },
  ]);
});

test('a project that an import holds waits, and no other with it', async () => {
  const { context, inbox, lander, send } = await world();
  await send([{ event: 'held' }]);
  await send([{ event: 'free' }], { projectId: OTHER });
  await underLease(context, PROJECT, async () => {
    expect(await lander.pass()).toBe(1);
    expect(await lander.pass()).toBe(0);
    expect(await inbox.segments()).toHaveLength(1);
  });
  expect(await lander.pass()).toBe(1);
  expect(await inLake(context, 'event')).toEqual(['held']);
  expect(await inLake(context, 'event', 'events', OTHER)).toEqual(['free']);
  expect(await inbox.segments()).toEqual([]);
});

test('events of a project that was deleted meanwhile are dropped', async () => {
  const { context, inbox, lander, send } = await world();
  await send([{}]);
  await context.table.write([{ change: keys.project(PROJECT), set: { deleted_at: 1 } }]);
  expect(await lander.pass()).toBe(0);
  expect(await inbox.segments()).toEqual([]);
});

test.each([false, true])('killed at every change (after it: %s), each event lands once', async (after) => {
  for (let n = 1, isOver = false; !isOver; n += 1) {
    const { context, inbox, lander, send } = await world();
    await send([{ event: 'a' }, { event: 'b', properties: { $set: { n } } }]);
    const { dying, hasDied } = killableContext(context, n, after);
    await landerOf(dying as Context, inbox)
      .pass()
      .catch(() => {});
    isOver = !hasDied();
    // Until the lease of the dead one is over.
    context.clock.advance(2 * MINUTE_MS);
    await lander.pass();
    await lander.pass();
    expect(await inLake(context, 'event')).toEqual(['a', 'b']);
    expect(await inLake(context, 'distinct_id', 'persons')).toEqual(['ada']);
    expect(await inbox.segments()).toEqual([]);
  }
});
