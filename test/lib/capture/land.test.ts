/** From requests to the lake: every event that was acknowledged is there, once. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import { CaptureCounts } from '../../../lib/capture/counts.ts';
import { land } from '../../../lib/capture/land.ts';
import { Lander } from '../../../lib/capture/lander.ts';
import { LandingTurns } from '../../../lib/capture/landing-turns.ts';
import { databasePool } from '../../../lib/duckdb/pool.ts';
import { allFiles } from '../../../lib/lake/catalog.ts';
import { underLease } from '../../../lib/lake/lease.ts';
import { folderInbox } from '../../../lib/ports/inbox/folder.ts';
import type { CapturedRequest, Inbox } from '../../../lib/ports/inbox/inbox.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { minutesOf, warningsOf } from '../../../lib/reading/ingestion/store.ts';
import { WorkerLost } from '../../../lib/workers/pool.ts';
import { inLake } from '../../support/capture.ts';
import { START } from '../../support/context.ts';
import { fileIn, importContext, killableContext, PROJECT, run } from '../../support/imports.ts';
import { onEnd } from '../../support/on-end.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { tableWith } from '../../support/table-override.ts';

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
  const counts = new CaptureCounts(context);
  const lander = landerOf(context, inbox, undefined, counts);
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
  return { context, inbox, lander, counts, send };
}

const whole = (event: Sent) => ({ event: 'clicked', distinct_id: 'ada', ...event });

const landerOf = (
  context: Context,
  inbox: Inbox,
  landing: ConstructorParameters<typeof Lander>[0]['land'] = (segments) => land({ ...context, inbox }, segments),
  counts = new CaptureCounts(context),
) =>
  new Lander({
    inbox,
    log: context.log,
    clock: context.clock,
    metrics: context.metrics,
    counts,
    land: landing,
  });

test('events land with the moment of their landing as arrival, and the inbox is empty then', async () => {
  const { context, inbox, lander, send } = await world();
  await send([
    { event: 'a', properties: { n: 1 } },
    { event: 'b', timestamp: '2025-12-31T23:00:00Z' },
  ]);
  context.clock.advance(MINUTE_MS);
  expect(await lander.pass()).toBe(2);
  expect(await inLake(context, PROJECT, 'event')).toEqual(['a', 'b']);
  expect(await inLake(context, PROJECT, 'timestamp_us // 1000')).toEqual([START - HOUR_MS, START]);
  expect(new Set(await inLake(context, PROJECT, 'inserted_us // 1000'))).toEqual(new Set([START + MINUTE_MS]));
  expect(await inLake(context, PROJECT, "properties->>'$.n'")).toEqual(['1', null]);
  expect(await inLake(context, PROJECT, 'properties->>\'$."$ip"\'')).toEqual(['203.0.113.7', '203.0.113.7']);
  expect(await inbox.segments()).toEqual([]);
  expect(await lander.pass()).toBe(0);
});

test('of a project that keeps no addresses none lands, also of events that came before it said so', async () => {
  const { context, lander, send } = await world();
  await send([{ event: 'a' }, { event: 'b', properties: { $ip: '10.0.0.1', n: 1 } }]);
  await send([{ event: 'c' }], { projectId: OTHER });
  await context.table.write([{ change: keys.project(PROJECT), set: { anonymize_ips: true }, if: 'present' }]);
  expect(await lander.pass()).toBe(3);
  expect(await inLake(context, PROJECT, 'properties::VARCHAR')).toEqual(['{"n":1}', '{}']);
  expect(await inLake(context, OTHER, 'properties::VARCHAR')).toEqual(['{"$ip":"203.0.113.7"}']);
  await context.table.write([{ change: keys.project(PROJECT), set: { anonymize_ips: false }, if: 'present' }]);
  await send([{ event: 'd' }]);
  expect(await lander.pass()).toBe(1);
  expect(await inLake(context, PROJECT, 'properties->>\'$."$ip"\'')).toEqual(['203.0.113.7', null, null]);
});

test('a change of a person that is not made is told, with why and whose, and its event lands', async () => {
  const { context, lander, counts, send } = await world();
  const identify = (distinct_id: string, other: string) => ({
    event: '$identify',
    distinct_id,
    properties: { $anon_distinct_id: other },
  });
  const large = { $set: { text: 'a'.repeat(600_000) } };
  await send([
    identify('bob', 'anonymous-bob'),
    { distinct_id: 'ada', properties: { $set: { plan: 'pro' } } },
    identify('ada', 'bob'),
    identify('eve', 'undefined'),
    identify('fay', 'null'),
    { distinct_id: 'ada', properties: large },
  ]);
  expect(await lander.pass()).toBe(6);
  await counts.flush();
  const warnings = await warningsOf(context, PROJECT);
  const told = warnings.toSorted((one, other) => (one.type < other.type ? -1 : 1));
  expect(told.map(({ type, count, warnings: [last] }) => [type, count, last?.details])).toEqual([
    ['cannot_merge_already_identified', 1, { event: null, distinctId: 'ada', message: expect.stringMatching(/\.$/) }],
    [
      'cannot_merge_with_illegal_distinct_id',
      2,
      { event: null, distinctId: expect.stringMatching(/eve|fay/), message: expect.stringMatching(/\.$/) },
    ],
    ['person_properties_size_violation', 1, { event: null, distinctId: 'ada', message: expect.stringMatching(/\.$/) }],
  ]);
  // The events were taken.
  const [minute] = await minutesOf(context, PROJECT, 1);
  expect(minute).toMatchObject({ refused: 0, landed: 6 });
});

test('a person gets the browser and the campaign of events that change them, and those events keep what was sent', async () => {
  const { context, lander, send } = await world();
  const sender = (browser: string, campaign: string) => ({ $browser: browser, utm_source: campaign });
  const sent = { ...sender('Firefox', 'mail'), $ip: '203.0.113.7' };
  await send([
    { event: '$pageview', properties: sender('Opera', 'ad') },
    { event: '$identify', properties: sent },
    { event: '$exception', properties: { $set: { plan: 'none' }, ...sender('Edge', 'none') } },
    { event: 'paid', properties: { $set: { plan: 'team' }, ...sender('Chrome', 'search') } },
    { event: '$pageview', properties: sender('Safari', 'ad') },
  ]);
  expect(await lander.pass()).toBe(5);
  const [person] = await inLake(context, PROJECT, 'properties::VARCHAR', 'persons');
  expect(JSON.parse(String(person))).toEqual({
    plan: 'team',
    ...sender('Chrome', 'search'),
    $initial_browser: 'Firefox',
    $initial_utm_source: 'mail',
  });
  const stored = await inLake(context, PROJECT, "CASE event WHEN '$identify' THEN properties::VARCHAR END");
  expect(stored.flatMap((one) => (typeof one === 'string' ? [JSON.parse(one)] : []))).toEqual([sent]);
});

test('visitors without cookies are nobody: their events land, and make no person of all who log in', async () => {
  const { context, lander, counts, send } = await world();
  const one = '$posthog_cookieless';
  const of = (distinct_id: string, event: string, properties: object = {}) => ({
    event,
    distinct_id,
    properties: { $cookieless_mode: true, ...properties },
  });
  await send([
    of(one, '$pageview'),
    of('alice', '$identify', { $anon_distinct_id: one, $set: { name: 'Alice' } }),
    of(one, '$pageview', { $set: { plan: 'free' } }),
    of('bob', '$identify', { $anon_distinct_id: one, $set: { name: 'Bob' } }),
  ]);
  expect(await lander.pass()).toBe(4);
  expect(await inLake(context, PROJECT, 'distinct_id')).toEqual([one, one, 'alice', 'bob'].toSorted());
  expect(await inLake(context, PROJECT, "distinct_id || (properties->>'$.name')", 'persons')).toEqual([
    'aliceAlice',
    'bobBob',
  ]);
  expect(new Set(await inLake(context, PROJECT, 'person_id', 'persons')).size).toBe(2);
  await counts.flush();
  const told = (await warningsOf(context, PROJECT)).map(({ type, count, warnings: [last] }) => [
    type,
    count,
    last?.details.event,
    last?.details.distinctId,
  ]);
  expect(told).toContainEqual(['cookieless_team_disabled', 2, '$pageview', one]);
  expect(told).toContainEqual(['cannot_merge_with_illegal_distinct_id', 2, null, expect.any(String)]);
  // They were taken.
  expect((await minutesOf(context, PROJECT, 1))[0]).toMatchObject({ refused: 0 });
});

test('a time that cannot be read, is not kept or is far ahead is told, and its event lands as one of 1970 or now', async () => {
  const { context, lander, counts, send } = await world();
  await send([
    { event: 'a', timestamp: '2026-W10-1T10:00:00Z' },
    { event: 'b', timestamp: '+012026-01-01T00:00:00Z' },
    { event: 'c', timestamp: '2026-01-02T00:00:00Z' },
    { event: 'd', timestamp: '2025-12-31T23:00:00Z' },
    { event: 'e', timestamp: '' },
    { event: 'f' },
    { event: 'g', timestamp: '1699-12-31T23:59:59Z' },
    { event: 'h', timestamp: '1700-01-01T00:00:00Z' },
  ]);
  expect(await lander.pass()).toBe(8);
  await counts.flush();
  const told = (await warningsOf(context, PROJECT)).map(({ type, count, warnings: [last] }) => [
    type,
    count,
    last?.details,
  ]);
  expect(told).toEqual([
    ['ignored_invalid_timestamp', 3, { event: 'g', distinctId: 'ada', message: expect.stringMatching(/\.$/) }],
    ['event_timestamp_in_future', 1, { event: 'c', distinctId: 'ada', message: expect.stringMatching(/\.$/) }],
  ]);
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
  expect(await inLake(context, PROJECT, "distinct_id || ' ' || event")).toEqual([
    'ada bought',
    'ada clicked',
    'bob clicked',
  ]);
});

test('events with one uuid that lie further apart than a day are two, together as one after the other', async () => {
  const at = (day: number) => ({ uuid: '0199aaaa-0000-7000-8000-00000000000b', timestamp: `2025-12-${day}T00:00:00Z` });
  for (const together of [[[at(20), at(27), at(20)]], [[at(20)], [at(27)], [at(20)]]]) {
    const { context, lander, send } = await world();
    for (const events of together) {
      context.clock.advance(1_000);
      await send(events);
      await lander.pass();
    }
    expect((await inLake(context, PROJECT, 'timestamp_us')).map(Number)).toEqual([
      Date.UTC(2025, 11, 20) * 1000,
      Date.UTC(2025, 11, 27) * 1000,
    ]);
  }
});

test('what landed and could not be forgotten adds nothing when it lands again, however long after', async () => {
  const { context, inbox, lander, send } = await world();
  await send([{ event: 'a' }, { event: 'b', timestamp: '2025-12-30T00:00:00Z' }]);
  const [segment] = await inbox.segments();
  // As of one that dies before it forgets the segment, and of a backup that has the segment and its events.
  expect(await land({ ...context, inbox }, [{ name: segment?.name ?? '', landed: [] }])).toMatchObject({
    projects: [{ landed: 2, known: 0 }],
  });
  context.clock.advance(5 * DAY_MS);
  await send([{ event: 'c' }]);
  expect(await lander.pass()).toBe(1);
  expect(await inLake(context, PROJECT, 'event')).toEqual(['a', 'b', 'c']);
  expect(await inbox.segments()).toEqual([]);
});

test('an event without a uuid is one event when the same bytes come again', async () => {
  const { lander, send } = await world();
  const events = [{ timestamp: '2026-01-01T00:00:00.250Z' }, { timestamp: '2026-01-01T00:00:00.250Z' }];
  await send(events);
  expect(await lander.pass()).toBe(2);
  await send(events);
  expect(await lander.pass()).toBe(0);
});

test('forty page views of a second, as older posthog-php sends each of them alone, are forty', async () => {
  const { lander, send } = await world();
  for (let view = 0; view < 40; view += 1) await send([{ timestamp: '2026-01-01T00:00:00+00:00' }]);
  expect(await lander.pass()).toBe(40);
});

test('equal events of two requests that came in the same millisecond are two, when none says a time', async () => {
  const { lander, send } = await world();
  await send([{}]);
  await send([{}]);
  expect(await lander.pass()).toBe(2);
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
  expect(new Set(await inLake(context, PROJECT, 'distinct_id', 'persons'))).toEqual(new Set(['ada', 'anonymous 1']));
  expect(new Set(await inLake(context, PROJECT, 'person_id', 'persons')).size).toBe(1);
  expect(await inLake(context, PROJECT, "max_by(properties->>'$.plan', inserted_us)", 'persons')).toEqual(['pro']);
});

test('of two values of one property the one that was sent last stays, whatever the events say of their time', async () => {
  const { context, lander, send } = await world();
  const plan = (name: string, timestamp: string) => ({ timestamp, properties: { $set: { plan: name } } });
  await send([plan('free', '2026-01-01T00:00:00Z'), plan('pro', '2025-12-31T00:00:00Z')]);
  await lander.pass();
  expect(await inLake(context, PROJECT, "properties->>'$.plan'", 'persons')).toEqual(['pro']);
});

const WHO = fc.constantFrom('ada', 'bob', 'visitor', 'phone');
const CHANGE = fc.record({
  event: fc.constantFrom('clicked', '$identify', '$create_alias', '$merge_dangerously'),
  distinct_id: WHO,
  other: WHO,
  /** In seconds before now, as the sender says. */
  ago: fc.nat(3 * 3_600),
  set: fc.boolean(),
  once: fc.boolean(),
  unset: fc.boolean(),
});
const REQUEST = fc.record({
  changes: fc.array(CHANGE, { minLength: 1, maxLength: 4 }),
  /** The request so many before it is sent again instead. */
  again: fc.option(fc.integer({ min: 1, max: 4 }), { freq: 3 }),
  /** What ends with it. */
  ends: fc.constantFrom('nothing', 'segment', 'landing'),
});

test('persons are the same however requests are cut into segments and landings', async () => {
  const personsOf = async (
    requests: readonly (typeof REQUEST extends fc.Arbitrary<infer R> ? R : never)[],
    isCut: boolean,
  ) => {
    const { context, inbox, lander, send } = await world();
    const sent: Sent[][] = [];
    for (const [n, { changes, again, ends }] of requests.entries()) {
      const events = changes.map(({ event, distinct_id, other, ago, set, once, unset }, at) => ({
        event,
        uuid: `0199aaaa-0000-7000-8000-${String(n * 100 + at).padStart(12, '0')}`,
        distinct_id,
        timestamp: new Date(START - ago * SECOND_MS).toISOString(),
        properties: {
          [event === '$identify' ? '$anon_distinct_id' : 'alias']: other,
          ...(set ? { $set: { plan: n, at } } : {}),
          ...(once ? { $set_once: { first: `${n} ${at}` } } : {}),
          ...(unset ? { $unset: ['first'] } : {}),
        },
      }));
      sent.push((again === null ? undefined : sent[n - again]) ?? events);
      // As the clock of the sender goes differently each time, so do the corrected times of what is sent again.
      await send(sent[n] ?? [], { sent_at: new Date(START + ((n * 7) % 13) * SECOND_MS).toISOString() });
      context.clock.advance(SECOND_MS);
      if (isCut && ends !== 'nothing') await inbox.segments();
      if (isCut && ends === 'landing') await lander.pass();
    }
    await lander.pass();
    const state =
      "concat_ws(' ', distinct_id, person_id, properties, created_us, is_identified, is_deleted, distinct_ids)";
    return inLake(
      context,
      PROJECT,
      `DISTINCT max_by(${state}, inserted_us) OVER (PARTITION BY distinct_id)`,
      'persons',
    );
  };
  await fc.assert(
    fc.asyncProperty(fc.array(REQUEST, { minLength: 2, maxLength: 8 }), async (requests) => {
      expect(await personsOf(requests, true)).toEqual(await personsOf(requests, false));
    }),
    { numRuns: propertyRuns(15) },
  );
});

test('whose distinct_id was cut is found by it when they are identified', async () => {
  const { context, lander, send } = await world();
  const long = 'v'.repeat(250);
  await send([{ distinct_id: long, properties: { $set: { plan: 'free' } } }]);
  await lander.pass();
  context.clock.advance(1_000);
  await send([{ event: '$identify', properties: { $anon_distinct_id: long } }]);
  await lander.pass();
  const distinctIds = await inLake(context, PROJECT, 'DISTINCT distinct_id', 'persons');
  expect(distinctIds).toEqual(['ada', 'v'.repeat(200)]);
  expect(new Set(await inLake(context, PROJECT, 'person_id', 'persons')).size).toBe(1);
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
      late: 0,
      known: 0,
      refused: { missing_event_name: 1, missing_distinct_id: 1, invalid_uuid: 2 },
      warned: {},
      refusedChanges: {},
      delayMs: 0,
    },
  ]);
});

test('forty of the largest events in one request land', async () => {
  const { context, inbox, lander, send } = await world();
  await send(Array.from({ length: 40 }, () => ({ properties: { text: 'a'.repeat(990_000) } })));
  expect(await lander.pass()).toBe(40);
  expect(await inLake(context, PROJECT, 'DISTINCT length(properties::VARCHAR)')).toHaveLength(1);
  expect(await inbox.segments()).toEqual([]);
});

test('the largest events land though thousands of small ones come with them', async () => {
  const { inbox, lander, send } = await world();
  const small = Array.from({ length: 20_000 }, (_, n) => ({
    distinct_id: String(n),
    timestamp: new Date(START - HOUR_MS - n).toISOString(),
  }));
  const large = Array.from({ length: 50 }, (_, n) => ({
    event: 'generated',
    distinct_id: `other ${n}`,
    timestamp: new Date(START).toISOString(),
    properties: { text: 'abcdefghij'.charAt(n % 10).repeat(950_000) },
  }));
  await send([...small, ...large]);
  expect(await lander.pass()).toBe(20_050);
  expect(await inbox.segments()).toEqual([]);
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
  expect(await inLake(context, PROJECT, 'event')).toEqual(['held']);
  expect(await inLake(context, OTHER, 'event')).toEqual(['free']);
  expect(await inbox.segments()).toEqual([]);
});

test('a project that cannot land for another reason waits too: the log says why, and the delay that it is there', async () => {
  const { context, inbox, send } = await world();
  await send([{ event: 'held' }]);
  await send([{ event: 'free' }], { projectId: OTHER });
  const take = context.lake.take.bind(context.lake);
  const lake = {
    ...context.lake,
    take: async (file: string, path: string) => {
      if (path.includes(`team_id=${PROJECT}/`)) throw new Error('no way in');
      await take(file, path);
    },
  };
  context.clock.advance(HOUR_MS);
  const measures: object[] = [];
  const metrics = { record: (numbers: object) => void measures.push(numbers) };
  expect(await landerOf({ ...context, lake, metrics }, inbox).pass()).toBe(1);
  expect(context.lines.filter(({ level }) => level === 'ERROR')).toMatchObject([
    { message: 'captured events could not land', fields: { project: PROJECT, reason: 'no way in' } },
  ]);
  // Whoever watches how late events land sees it too, though nothing of the project lands.
  expect(measures.filter((one) => !('EventsLanded' in one))).toEqual([{ LandingDelay: HOUR_MS / SECOND_MS }]);
  expect(await landerOf(context, inbox).pass()).toBe(1);
  expect(await inbox.segments()).toEqual([]);
});

test('a project that cannot land is tried ever more rarely, and keeps its order and no other waiting', async () => {
  const { context, inbox, send } = await world();
  const tried: number[] = [];
  let isMended = false;
  const lander = landerOf(context, inbox, async (segments) => {
    const read = await Promise.all(segments.map(async ({ name }) => (await inbox.read(name)).requests));
    const isTried = segments.some(
      ({ held = [] }, n) => !held.includes(PROJECT) && read[n]?.some(({ projectId }) => projectId === PROJECT),
    );
    if (isTried) tried.push((context.clock() - START) / SECOND_MS);
    const take = (file: string, path: string) =>
      !isMended && path.includes(`team_id=${PROJECT}/`)
        ? Promise.reject(new Error('no'))
        : context.lake.take(file, path);
    return land({ ...context, inbox, lake: { ...context.lake, take } }, segments);
  });
  await send([{ event: 'first' }]);
  for (let second = 0; second < 40; second += 1) {
    if (second === 20) await send([{ event: 'second' }]);
    if (second === 20) await send([{ event: 'other' }], { projectId: OTHER });
    await lander.pass();
    context.clock.advance(SECOND_MS);
  }
  expect(tried).toEqual([0, 1, 3, 7, 15, 31]);
  expect(await inLake(context, OTHER, 'event')).toEqual(['other']);
  isMended = true;
  context.clock.advance(4 * MINUTE_MS);
  await lander.pass();
  await lander.pass();
  expect(await inLake(context, PROJECT, 'event')).toEqual(['first', 'second']);
  expect(await inbox.segments()).toEqual([]);
});

test('files of the lake that a restored table does not know are imported, and add nothing where it knows them', async () => {
  const { context, lander, send } = await world();
  await send([{ event: 'a', properties: { $browser: 'Firefox', n: 1 } }, { event: 'b' }]);
  await lander.pass();
  const [file] = await allFiles(context.table, PROJECT, 'events');
  const path = join(context.folder, 'of-the-lake.parquet');
  await context.lake.save(file?.path ?? '', path);
  const restored = await importContext();
  // As docs/operations.md says it, "Back to an earlier state".
  const mapping = { columns: { timestamp: 'timestamp_us' } };
  expect(await run(restored, path, { mapping })).toMatchObject({ added: 2, known: 0 });
  for (const column of ['uuid', 'event', 'timestamp_us', 'properties'])
    expect(await inLake(restored, PROJECT, column)).toEqual(await inLake(context, PROJECT, column));
  expect(await run(context, path, { mapping })).toMatchObject({ added: 0, known: 2 });
});

test('events of a project that was deleted meanwhile are dropped', async () => {
  const { context, inbox, lander, send } = await world();
  await send([{}]);
  await context.table.write([{ change: keys.project(PROJECT), set: { deleted_at: 1 } }]);
  expect(await lander.pass()).toBe(0);
  expect(await inbox.segments()).toEqual([]);
});

test('killed before every change, each event lands once', async () => {
  for (let n = 1, isOver = false; !isOver; n += 1) {
    const { context, inbox, lander, send } = await world();
    await send([{ event: 'a' }, { event: 'b', properties: { $set: { n } } }]);
    const { dying, hasDied } = killableContext(context, n);
    await landerOf(dying as Context, inbox)
      .pass()
      .catch(() => {});
    isOver = !hasDied();
    // Until the lease of the dead one is over.
    context.clock.advance(2 * MINUTE_MS);
    await lander.pass();
    await lander.pass();
    expect(await inLake(context, PROJECT, 'event')).toEqual(['a', 'b']);
    expect(await inLake(context, PROJECT, 'distinct_id', 'persons')).toEqual(['ada']);
    expect(await inbox.segments()).toEqual([]);
  }
});

test('an import waits for a landing that is under way, unless it is stopped', async () => {
  const { context } = await world();
  const line = JSON.stringify({
    event: 'clicked',
    distinct_id: 'ada',
    timestamp: '2026-01-01T00:00:00Z',
    properties: {},
  });
  const file = fileIn(context, 'events.jsonl', line);
  const stopped = new AbortController();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const landing = underLease(context, PROJECT, () => (begin(), ended), { purpose: 'landing' });
  await begun;
  const imported = run(context, file);
  const other = run(context, file, { stop: stopped.signal });
  stopped.abort(new Error('it is to stop'));
  await expect(other).rejects.toThrow('it is to stop');
  end();
  await landing;
  expect(await imported).toMatchObject({ added: 1 });
});

test('captured events land between the batches of an import', async () => {
  const { context, inbox, lander, send } = await world();
  await send([{ event: 'captured' }]);
  const lines = Array.from({ length: 12_000 }, (_, n) =>
    JSON.stringify({ event: 'imported', distinct_id: `u${n}`, timestamp: '2026-01-01T00:00:00Z', properties: { n } }),
  );
  const file = fileIn(context, 'events.jsonl', lines.join('\n'));
  let [batches, isOver] = [0, false];
  // A batch is cut when it has been filled for a minute.
  const clock = Object.assign(() => context.clock() + 2 * MINUTE_MS * batches, context.clock);
  const begun = Promise.withResolvers<void>();
  const onProgress = (): void => {
    batches += 1;
    if (batches === 2) begun.resolve();
  };
  const imported = run({ ...context, clock }, file, { onProgress }).finally(() => {
    isOver = true;
  });
  await begun.promise;
  while ((await lander.pass()) === 0) await new Promise(setImmediate);
  expect(isOver).toBe(false);
  expect(await imported).toMatchObject({ added: 12_000, known: 0 });
  expect(batches).toBeGreaterThan(3);
  expect(await inbox.segments()).toEqual([]);
  const events = await inLake(context, PROJECT, 'event');
  expect(events.filter((event) => event === 'captured')).toHaveLength(1);
  expect(events).toHaveLength(12_001);
});

test('what is too much for one pass is left to the next, and what an import holds is not', async () => {
  const { context, inbox } = await world();
  const names = ['held', 'second', 'third', 'last'];
  const landed: string[][] = [];
  const lander = landerOf(
    context,
    {
      ...inbox,
      segments: async () =>
        names
          .filter((name) => !landed.flat().includes(name))
          .map((name) => ({ name, bytes: 2.5 * 2 ** 20, writtenAt: START })),
      remove: async () => {},
    },
    async (segments) => {
      landed.push(segments.map(({ name }) => name).filter((name) => name !== 'held'));
      return {
        projects: [],
        failures: [],
        left: [],
        segments: segments.map(({ name }) => ({
          name,
          landed: [],
          waiting: name === 'held' ? [PROJECT] : [],
          apart: [],
          damaged: 0,
          unfinished: 0,
        })),
      };
    },
  );
  const left: number[][] = [];
  do {
    await lander.pass();
    left.push([lander.left, lander.waitingBytes / 2 ** 20]);
  } while (lander.left > 0);
  expect(left).toEqual([
    [2, 10],
    [0, 7.5],
  ]);
  expect(landed).toEqual([['second'], ['third', 'last']]);
});

test('a segment that had to wait lands though others keep coming, whatever its size', async () => {
  const { context, inbox } = await world();
  const sizes = new Map([
    ['0001', 20],
    ['0002', 5],
    ['0003', 1],
  ]);
  let isHeld = true;
  const landed: string[] = [];
  const lander = landerOf(
    context,
    {
      ...inbox,
      segments: async () => [...sizes].map(([name, mib]) => ({ name, bytes: mib * 2 ** 20, writtenAt: START })),
      remove: async (segments) => segments.forEach((name) => sizes.delete(name)),
    },
    async (segments) => ({
      projects: [],
      failures: [],
      left: [],
      segments: segments.map(({ name }) => {
        if (!isHeld) landed.push(name);
        return { name, landed: [], waiting: isHeld ? [PROJECT] : [], apart: [], damaged: 0, unfinished: 0 };
      }),
    }),
  );
  do await lander.pass();
  while (lander.left > 0);
  isHeld = false;
  for (let n = 4; n < 12; n += 1) {
    sizes.set(String(n).padStart(4, '0'), 1);
    await lander.pass();
  }
  expect(landed).toEqual(expect.arrayContaining(['0001', '0002', '0003']));
  expect(landed.toSorted()).toEqual(Array.from({ length: 11 }, (_, n) => String(n + 1).padStart(4, '0')));
});

test('what had to wait lands before what came later, all of it once its project is free, and persons end as sent last', async () => {
  const { context, inbox, send } = await world();
  // Each is most of a pass.
  const large = async () => (await inbox.segments()).map((one) => ({ ...one, bytes: 3 * 2 ** 20 }));
  const read = (name: string) => inbox.read(name);
  const remove: Inbox['remove'] = (segments) => inbox.remove(segments);
  const lander = landerOf(context, { ...inbox, read, remove, segments: large });
  const passes = async () => {
    do {
      context.clock.advance(SECOND_MS);
      await lander.pass();
    } while (lander.left > 0);
  };
  const plan = async (name: string) => {
    await send([{ event: name, properties: { $set: { plan: name }, $set_once: { first: name } } }]);
    await inbox.segments();
  };
  await underLease(context, PROJECT, async () => {
    await plan('free');
    await passes();
    await plan('pro');
    await passes();
  });
  await plan('team');
  await send([{ event: 'other' }], { projectId: OTHER });
  // What is new is tried first, and then, with all that waits behind it, what is oldest.
  await passes();
  await passes();
  expect(await inbox.segments()).toEqual([]);
  const newest = (property: string) => `max_by(properties->>'$.${property}', inserted_us)`;
  expect(await inLake(context, PROJECT, newest('plan'), 'persons')).toEqual(['team']);
  expect(await inLake(context, PROJECT, newest('first'), 'persons')).toEqual(['free']);
});

test('very many small segments land a thousand at a time, are read some at a time, and removed together', async () => {
  const { context, inbox } = await world();
  // Requests past the delivery stream are segments of their own on AWS.
  const waiting = new Set(Array.from({ length: 2_500 }, (_, n) => `direct/${String(n).padStart(4, '0')}`));
  const names = [...waiting];
  const removed: (readonly string[])[] = [];
  let [atOnce, most] = [0, 0];
  const few: Inbox = {
    ...inbox,
    segments: async () => [...waiting].map((name) => ({ name, bytes: 600, writtenAt: START })),
    read: async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await turn();
      atOnce -= 1;
      return { requests: [], damaged: 0, unfinished: 0 };
    },
    remove: async (segments) => {
      removed.push(segments);
      for (const name of segments) waiting.delete(name);
    },
  };
  const lander = landerOf(context, few, (segments) => land({ ...context, inbox: few }, segments));
  do await lander.pass();
  while (lander.left > 0);
  expect(removed.map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
  expect(removed.flat()).toEqual(names);
  expect(most).toBe(40);
});

/** An inbox of so many segments without requests, which counts how often it is listed. */
function emptySegments(inbox: Inbox, count: number) {
  const waiting = new Set(Array.from({ length: count }, (_, n) => `direct/${String(n).padStart(6, '0')}`));
  const landed: string[] = [];
  const seen = { lists: 0, fails: false };
  const counting: Inbox = {
    ...inbox,
    segments: async () => {
      seen.lists += 1;
      return [...waiting].map((name, n) => ({ name, bytes: 600, writtenAt: START + n }));
    },
    read: async () => ({ requests: [], damaged: 0, unfinished: 0 }),
    remove: async (segments) => {
      if (seen.fails) throw new Error('not now');
      landed.push(...segments);
      for (const name of segments) waiting.delete(name);
    },
  };
  return { counting, waiting, landed, seen };
}

test('what waits is listed once for all passes that it is enough for, and lands once, in order', async () => {
  const { context, inbox } = await world();
  const { counting, waiting, landed, seen } = emptySegments(inbox, 10_000);
  const names = [...waiting];
  const lander = landerOf(context, counting, (segments) => land({ ...context, inbox: counting }, segments));
  do {
    await lander.pass();
    waiting.add(`segments/${landed.length}`);
  } while (lander.left > 0);
  expect(landed.slice(0, 10_000)).toEqual(names);
  expect(new Set(landed).size).toBe(landed.length);
  // Ten passes take the first list; what came meanwhile is in the second, and in the third.
  expect(seen.lists).toBe(3);
});

test('a list of what waits is made anew when it is half a minute old, or a pass has failed', async () => {
  const { context, inbox } = await world();
  const { counting, landed, seen } = emptySegments(inbox, 10_000);
  const lander = landerOf(context, counting, (segments) => land({ ...context, inbox: counting }, segments));
  const lists = async (): Promise<number> => {
    await lander.pass();
    return seen.lists;
  };
  expect([await lists(), await lists()]).toEqual([1, 1]);
  context.clock.advance(30 * SECOND_MS);
  expect([await lists(), await lists()]).toEqual([2, 2]);
  seen.fails = true;
  await expect(lander.pass()).rejects.toThrow('not now');
  seen.fails = false;
  expect([await lists(), await lists()]).toEqual([3, 3]);
  expect(landed).toHaveLength(6_000);
});

test('a segment that is damaged is set aside and counted, so that somebody hears of it', async () => {
  const { context, inbox } = await world();
  const [recorded, aside]: [object[], string[]] = [[], []];
  const lander = new Lander({
    inbox: {
      ...inbox,
      segments: async () => [{ name: 'torn', bytes: 100, writtenAt: START }],
      remove: async () => {},
      setAside: async (name) => void aside.push(name),
    },
    log: context.log,
    clock: context.clock,
    metrics: { record: (measures) => void recorded.push(measures) },
    counts: new CaptureCounts(context),
    land: async () => ({
      projects: [],
      failures: [],
      left: [],
      segments: [{ name: 'torn', landed: [], waiting: [], apart: [], damaged: 100, unfinished: 0 }],
    }),
  });
  await lander.pass();
  expect([aside, recorded]).toEqual([['torn'], [{ SegmentsDamaged: 1 }]]);
});

test('a segment that the disk cannot read holds up nobody: it is named, tried again ever more rarely, and lands when it can', async () => {
  const { context, inbox, send } = await world();
  await send([{ event: 'unread' }]);
  const name = (await inbox.segments())[0]?.name ?? '';
  const file = join(context.folder, 'inbox', name);
  renameSync(file, `${file}.moved`);
  mkdirSync(file);
  await send([{ event: 'later' }]);
  await send([{ event: 'beside it' }], { projectId: OTHER });
  const measures: object[] = [];
  const metrics = { record: (numbers: object) => void measures.push(numbers) };
  const lander = landerOf({ ...context, metrics }, inbox);
  expect(await lander.pass()).toBe(2);
  const reason = expect.stringContaining('EISDIR');
  expect(context.lines.filter(({ level }) => level === 'ERROR')).toMatchObject([
    { message: 'a segment of captured events cannot be read', fields: { segment: name, reason } },
  ]);
  for (let second = 1; second < 600; second += 1) {
    context.clock.advance(SECOND_MS);
    await lander.pass();
  }
  expect(context.lines.filter(({ level }) => level === 'ERROR')).toHaveLength(10);
  // Counted once, and whoever watches how late events land sees that some do not.
  expect(measures).toContainEqual({ LandingDelay: expect.any(Number) });
  expect(measures.filter((one) => 'SegmentsDamaged' in one)).toEqual([{ SegmentsDamaged: 1 }]);
  rmdirSync(file);
  renameSync(`${file}.moved`, file);
  context.clock.advance(4 * MINUTE_MS);
  expect(await lander.pass()).toBe(1);
  expect(await inLake(context, PROJECT, 'event')).toEqual(['later', 'unread']);
  expect(await inbox.segments()).toEqual([]);
});

test('a segment that could not be read once does not land before an older one of its project that pauses', async () => {
  const { context, inbox, send } = await world();
  let isBroken = true;
  const take: typeof context.lake.take = async (...given) => {
    if (isBroken) throw new Error('it is in the way');
    return context.lake.take(...given);
  };
  const lander = landerOf({ ...context, lake: { ...context.lake, take } }, inbox);
  await send([{ event: 'first' }]);
  for (let second = 0; second < 140; second += 1) {
    await lander.pass();
    context.clock.advance(SECOND_MS);
  }
  await send([{ event: 'second' }]);
  const file = join(context.folder, 'inbox', (await inbox.segments())[1]?.name ?? '');
  renameSync(file, `${file}.moved`);
  mkdirSync(file);
  await lander.pass();
  rmdirSync(file);
  renameSync(`${file}.moved`, file);
  isBroken = false;
  const seen: unknown[][] = [];
  for (let second = 0; second < 300; second += 1) {
    context.clock.advance(SECOND_MS);
    if ((await lander.pass()) > 0) seen.push(await inLake(context, PROJECT, 'event'));
  }
  expect(seen[0]).toContain('first');
  expect(seen.at(-1)).toEqual(['first', 'second']);
});

/**
 * A lander whose process dies when it takes in the request `bad`, unless it is `mended`. Each process begins anew, as a
 * function on AWS does; `service` is the one that outlives it, if it does.
 */
function dyingLander(context: Context, inbox: Inbox, bad: string) {
  const state = { isMended: false, deaths: 0 };
  const landing = async (service?: string): Promise<number> => {
    let isDead = false;
    const alive = async <R>(call: () => Promise<R>): Promise<R> => {
      if (isDead) throw new Error('killed');
      return call();
    };
    const table = tableWith(context.table, {
      get: (key) => alive(() => context.table.get(key)),
      many: (all) => alive(() => context.table.many(all)),
      list: (range, page) => alive(() => context.table.list(range, page)),
      write: (ops, options) => alive(() => context.table.write(ops, options)),
    });
    const process = {
      ...context,
      table,
      inbox: {
        read: async (name: string) => {
          const content = await inbox.read(name);
          const requests = content.requests.map((request) =>
            request.id !== bad || state.isMended
              ? request
              : Object.defineProperty({ ...request }, 'body', {
                  enumerable: true,
                  get: () => {
                    isDead = true;
                    throw new Error('killed');
                  },
                }),
          );
          return { ...content, requests };
        },
      },
    };
    const lander = landerOf(context, inbox, async (segments) => {
      const report = await land(process, segments, service === undefined ? {} : { service }).catch(() => undefined);
      if (report !== undefined && !isDead) return report;
      state.deaths += 1;
      throw new WorkerLost('died', 'Landing ended before its time: its process died.');
    });
    return lander.pass();
  };
  return { state, landing };
}

test('a request that takes down what lands it holds up no other, neither of others nor of its project', async () => {
  const { context, inbox, send } = await world();
  const { state, landing } = dyingLander(context, inbox, 'bad');
  await send([{ event: 'bad' }], { id: 'bad' });
  await send([{ event: 'beside it' }], { projectId: OTHER });
  await inbox.segments();
  await send([{ event: 'later' }]);
  await send([{ event: 'later' }], { projectId: OTHER });
  const tries = async (times: number, afterMs: number) => {
    for (let n = 0; n < times; n += 1) {
      context.clock.advance(afterMs);
      await landing().catch(() => {});
    }
  };
  // Until the lease of the dead one is over.
  await tries(4, 2 * MINUTE_MS);
  expect(await inLake(context, OTHER, 'event')).toEqual(['beside it', 'later']);
  expect(await inLake(context, PROJECT, 'event')).toEqual(['later']);
  expect(await inbox.segments()).toHaveLength(1);
  expect(state.deaths).toBe(3);
  expect(context.lines).toContainEqual(
    expect.objectContaining({
      message: 'captured events cannot land again and again; they are set apart',
      fields: expect.objectContaining({ project: PROJECT, segment: '0000000000000001.inbox', times: 2 }),
    }),
  );
  // It is tried again after ever longer times, an hour at most, and what comes meanwhile lands.
  await tries(10, HOUR_MS / 2);
  await send([{ event: 'meanwhile' }]);
  await tries(10, HOUR_MS / 2);
  expect(await inLake(context, PROJECT, 'event')).toEqual(['later', 'meanwhile']);
  expect(state.deaths).toBeGreaterThan(6);
  expect(state.deaths).toBeLessThan(15);
  state.isMended = true;
  await tries(2, HOUR_MS);
  expect(await inLake(context, PROJECT, 'event')).toEqual(['bad', 'later', 'meanwhile']);
  expect(await inbox.segments()).toEqual([]);
  expect(await context.table.get(keys.landingDeaths(PROJECT))).toBeUndefined();
});

test('a request that nobody can read is set apart, and holds up no other: it is told, kept, and lands when it can', async () => {
  const { context, inbox, send } = await world();
  const body = JSON.stringify({ api_key: 'phc_ours', batch: [whole({ event: 'bad' })] });
  await send([], { id: 'bad', body: Buffer.from(body.slice(1)) });
  await inbox.segments();
  await send([{ event: 'later' }]);
  await send([{ event: 'beside it' }], { projectId: OTHER });
  let isMended = false;
  const read = async (name: string) => {
    const content = await inbox.read(name);
    const mended = content.requests.map((one) => (one.id === 'bad' ? { ...one, body: Buffer.from(body) } : one));
    return isMended ? { ...content, requests: mended } : content;
  };
  const lander = landerOf(context, inbox, (segments) => land({ ...context, inbox: { read } }, segments));
  await lander.pass();
  expect(await inLake(context, OTHER, 'event')).toEqual(['beside it']);
  // It may have another reason: for a second all of the project waits, in its order.
  expect(await inLake(context, PROJECT, 'event')).toEqual([]);
  context.clock.advance(SECOND_MS);
  await lander.pass();
  expect(await inLake(context, PROJECT, 'event')).toEqual(['later']);
  expect(await inbox.segments()).toHaveLength(1);
  const reason = expect.stringMatching(/^request bad was accepted and cannot be read: /);
  const about = { project: PROJECT, segment: '0000000000000001.inbox', times: 2, reason };
  expect(context.lines.filter(({ level }) => level === 'ERROR')).toMatchObject([
    { message: 'captured events could not land', fields: { project: PROJECT, reason } },
    { message: 'captured events cannot land again and again; they are set apart', fields: about },
  ]);
  // What comes meanwhile lands at once, and it is tried ever more rarely.
  for (let minute = 0; minute < 60; minute += 1) {
    context.clock.advance(MINUTE_MS);
    await lander.pass();
  }
  await send([{ event: 'meanwhile' }]);
  expect(await lander.pass()).toBe(1);
  const tries = context.lines.filter(({ fields }) => fields?.['reason'] !== undefined).length;
  expect(tries).toBeGreaterThan(3);
  expect(tries).toBeLessThan(8);
  isMended = true;
  context.clock.advance(HOUR_MS);
  await lander.pass();
  expect(await inLake(context, PROJECT, 'event')).toEqual(['bad', 'later', 'meanwhile']);
  expect(await inbox.segments()).toEqual([]);
  expect(await context.table.get(keys.landingDeaths(PROJECT))).toBeUndefined();
});

test('a segment for which there is too little memory is set apart, and what came later lands', async () => {
  const { context, inbox, send } = await world();
  await send(Array.from({ length: 14 }, () => ({ properties: { text: 'a'.repeat(900_000) } })));
  await inbox.segments();
  await send([{ event: 'later' }]);
  const databases = databasePool({ memoryLimit: '80MB', threads: 1, folder: context.folder });
  onEnd(() => databases.close());
  const lander = landerOf(context, inbox, (segments) => land({ ...context, inbox, databases }, segments));
  for (let second = 0; second < 4; second += 1) {
    await lander.pass();
    context.clock.advance(SECOND_MS);
  }
  expect(await inLake(context, PROJECT, 'event')).toEqual(['later']);
  expect(await inbox.segments()).toHaveLength(1);
});

test('a failure that is not of what lands sets nothing apart: all of its project waits, in its order', async () => {
  const { context, inbox, send } = await world();
  await send([{ event: 'first' }]);
  await inbox.segments();
  await send([{ event: 'second' }]);
  const take = () => Promise.reject(new Error('Out of Memory Error: failed to offload data block of size 256.0 KiB'));
  const full = { ...context, lake: { ...context.lake, take } };
  const lander = landerOf(context, inbox, (segments) => land({ ...full, inbox }, segments));
  for (let minute = 0; minute < 10; minute += 1) {
    await lander.pass();
    context.clock.advance(MINUTE_MS);
  }
  expect(await inbox.segments()).toHaveLength(2);
  expect(await context.table.get(keys.landingDeaths(PROJECT))).toBeUndefined();
  expect(context.lines.filter(({ level }) => level === 'ERROR')).toContainEqual(
    expect.objectContaining({
      message: 'captured events could not land',
      fields: { project: PROJECT, reason: 'The disk of the service is full: space must be freed there.' },
    }),
  );
});

test('deaths that are not known to be of what landed keep its order: persons end as sent last', async () => {
  const { context, inbox, send } = await world();
  const { state, landing } = dyingLander(context, inbox, 'first');
  const plan = async (id: string) => {
    await send([{ event: id, properties: { $set: { plan: id } } }], { id });
    await inbox.segments();
  };
  await plan('first');
  await plan('last');
  for (let death = 0; death < 2; death += 1) {
    await landing().catch(() => {});
    context.clock.advance(2 * MINUTE_MS);
  }
  expect(state.deaths).toBe(2);
  state.isMended = true;
  await landing();
  expect(await inbox.segments()).toEqual([]);
  expect(await inLake(context, PROJECT, "max_by(properties->>'$.plan', inserted_us)", 'persons')).toEqual(['last']);
});

describe('when the whole service ends each time', () => {
  async function killed(times: number) {
    const { context, inbox, send } = await world();
    const { state, landing } = dyingLander(context, inbox, 'first');
    for (const id of ['first', 'last']) {
      await send([{ event: id, properties: { $set: { plan: id } } }], { id });
      await inbox.segments();
    }
    const kill = async (service: string) => {
      await landing(service).catch(() => {});
      context.clock.advance(2 * MINUTE_MS);
    };
    for (let n = 0; n < times; n += 1) await kill(`service ${n}`);
    return { context, inbox, state, kill };
  }

  test('nothing is set apart before ten deaths beside the first: persons end as sent last', async () => {
    const { context, inbox, state, kill } = await killed(10);
    expect(state.deaths).toBe(10);
    state.isMended = true;
    await kill('the last service');
    expect(await inbox.segments()).toEqual([]);
    expect(await inLake(context, PROJECT, "max_by(properties->>'$.plan', inserted_us)", 'persons')).toEqual(['last']);
  });

  test('what ends it is set apart at last, for all others to land', async () => {
    const { context, inbox, state, kill } = await killed(12);
    expect(state.deaths).toBe(11);
    expect(await inLake(context, PROJECT, 'event')).toEqual(['last']);
    expect(await inbox.segments()).toHaveLength(1);
    context.clock.advance(HOUR_MS);
    await kill('another service');
    await kill('yet another service');
    expect(state.deaths).toBe(12);
  });

  test('the deaths of what lands while a service goes on count apart from its ends, and to two', async () => {
    const { context, state, kill } = await killed(5);
    for (let n = 0; n < 4; n += 1) await kill('the same service');
    expect(state.deaths).toBe(7);
    expect(await inLake(context, PROJECT, 'event')).toEqual(['last']);
  });
});

test('what has landed after a death is forgotten before all of the rest was tried', async () => {
  const { context, inbox, send } = await world();
  const { landing } = dyingLander(context, inbox, '0');
  const names = Array.from({ length: 6 }, (_, n) => String(n));
  for (const id of names) {
    await send([{ event: id }], { id });
    await inbox.segments();
  }
  await landing().catch(() => {});
  context.clock.advance(2 * MINUTE_MS);
  const slow: Pick<Inbox, 'read'> = {
    read: async (name) => {
      const content = await inbox.read(name);
      const requests = content.requests.map((request) =>
        Object.defineProperty({ ...request }, 'body', {
          enumerable: true,
          get: () => {
            // Read twice: a landing of one of them takes three seconds.
            context.clock.advance(1.5 * SECOND_MS);
            return request.body;
          },
        }),
      );
      return { ...content, requests };
    },
  };
  const lander = landerOf(context, inbox, (segments) => land({ ...context, inbox: slow }, segments));
  const left: number[] = [];
  do {
    await lander.pass();
    left.push((await inbox.segments()).length);
  } while (lander.left > 0);
  expect(left).toEqual([4, 2, 0]);
  expect(await inLake(context, PROJECT, "string_agg(event, '' ORDER BY inserted_us)")).toEqual([names.join('')]);
  expect(await context.table.get(keys.landingDeaths(PROJECT))).toBeUndefined();
});

test('a landing that died is known of, also after an import has had the project meanwhile', async () => {
  const { context, inbox, send } = await world();
  const { landing } = dyingLander(context, inbox, 'bad');
  await send([{ event: 'bad' }], { id: 'bad' });
  await send([{ event: 'beside it' }], { projectId: OTHER });
  const line = { event: 'imported', distinct_id: 'ada', timestamp: '2026-01-01T00:00:00Z', properties: {} };
  await landing().catch(() => {});
  context.clock.advance(2 * MINUTE_MS);
  expect(await run(context, fileIn(context, 'events.jsonl', JSON.stringify(line)))).toMatchObject({ added: 1 });
  await landing().catch(() => {});
  expect(await inLake(context, OTHER, 'event')).toEqual(['beside it']);
});

test('who was killed while they landed what was good hold nothing up', async () => {
  const { context, inbox, send } = await world();
  const { state, landing } = dyingLander(context, inbox, 'good');
  await send([{ event: 'good' }], { id: 'good' });
  await landing().catch(() => {});
  state.isMended = true;
  context.clock.advance(2 * MINUTE_MS);
  expect(await landing()).toBe(1);
  expect(await inbox.segments()).toEqual([]);
  expect(await context.table.get(keys.landingDeaths(PROJECT))).toBeUndefined();
});

/** A world in which each project takes a second to land, with organizations of their own. */
async function slowWorld(owners: ReadonlyMap<number, string>) {
  const { context, inbox, send } = await world();
  for (const [id, organization_id] of owners)
    await context.table.write([{ put: { ...keys.project(id), id, organization_id, deleted_at: null } }]);
  const order: number[] = [];
  const landingOf = () => {
    const turns = new LandingTurns();
    const take = async (file: string, path: string) => {
      context.clock.advance(SECOND_MS);
      order.push(Number(/team_id=(\d+)/.exec(path)?.[1]));
      await context.lake.take(file, path);
    };
    return landerOf(context, inbox, (segments) =>
      land({ ...context, inbox, lake: { ...context.lake, take } }, segments, { turns }),
    );
  };
  return { context, inbox, send, order, landingOf };
}

test('who has very many projects holds up nobody else: a pass ends, and in the next each organization has its turn', async () => {
  const many = Array.from({ length: 23 }, (_, n) => 100 + n);
  const { context, inbox, send, order, landingOf } = await slowWorld(
    new Map([...many.map((id) => [id, 'many'] as const), [OTHER, 'few']]),
  );
  for (const projectId of many) await send([{}], { projectId });
  const lander = landingOf();
  expect(await lander.pass()).toBe(5);
  expect(order).toEqual(many.slice(0, 5));
  expect(lander.left).toBe(1);
  await send([{}], { projectId: OTHER });
  await send([{}], { projectId: many[0] as number });
  await lander.pass();
  await lander.pass();
  // Who was not served yet comes first; of an organization what waits longest.
  expect(order.slice(5)).toEqual([OTHER, ...many.slice(5, 14)]);
  do await lander.pass();
  while (lander.left > 0);
  for (const id of many) expect(await inLake(context, id, 'event')).toHaveLength(id === many[0] ? 2 : 1);
  expect(order).toHaveLength(25);
  expect(await inbox.segments()).toEqual([]);
});

test('what had no turn lands once, also when whoever lands is killed and begins anew after each pass', async () => {
  const ids = Array.from({ length: 12 }, (_, n) => 100 + n);
  const { context, inbox, send, landingOf } = await slowWorld(new Map(ids.map((id) => [id, 'many'])));
  for (const projectId of ids) await send([{ event: 'a' }, { event: 'b' }], { projectId });
  let passes = 0;
  for (; (await inbox.segments()).length > 0; passes += 1) await landingOf().pass();
  expect(passes).toBe(3);
  for (const id of ids) expect(await inLake(context, id, 'event')).toEqual(['a', 'b']);
});

test('what may have taken down a landing is tried though others take all the time of each pass', async () => {
  const ids = Array.from({ length: 30 }, (_, n) => 100 + n);
  const { context, inbox, send, landingOf } = await slowWorld(
    new Map([...ids.map((id) => [id, 'many'] as const), [OTHER, 'few']]),
  );
  await context.table.write([{ put: { ...keys.landingDeaths(OTHER), is_open: true, ttl: 2e9 } }]);
  for (let n = 0; n < 3; n += 1) {
    await send([{ event: `suspect ${n}` }], { projectId: OTHER });
    await inbox.segments();
  }
  for (const projectId of ids) await send([{}], { projectId });
  const lander = landingOf();
  for (let n = 0; n < 4; n += 1) await lander.pass();
  expect(await inLake(context, OTHER, 'event')).toEqual(['suspect 0', 'suspect 1', 'suspect 2']);
  expect(await context.table.get(keys.landingDeaths(OTHER))).toBeUndefined();
  do await lander.pass();
  while (lander.left > 0);
  expect(await inbox.segments()).toEqual([]);
});

test('a project falls no further behind after a death, though others take all the time of each pass', async () => {
  const ids = Array.from({ length: 12 }, (_, n) => 100 + n);
  const { context, inbox, send, landingOf } = await slowWorld(
    new Map([...ids.map((id) => [id, `organization ${id}`] as const), [OTHER, 'one where somebody died']]),
  );
  await context.table.write([{ put: { ...keys.landingDeaths(OTHER), is_open: true, ttl: 2e9 } }]);
  const sent: string[] = [];
  const sendNext = async (): Promise<void> => {
    const event = `event ${String(sent.length).padStart(2, '0')}`;
    sent.push(event);
    await send([{ event }], { projectId: OTHER });
    await inbox.segments();
  };
  for (let n = 0; n < 5; n += 1) await sendNext();
  const lander = landingOf();
  for (let n = 0; n < 20; n += 1) {
    await sendNext();
    for (const projectId of ids) await send([{}], { projectId });
    await lander.pass();
  }
  // Organizations have a turn in every third pass or so.
  const landed = await inLake(context, OTHER, 'event');
  expect(landed.length).toBeGreaterThanOrEqual(sent.length - 4);
  expect(landed).toEqual(sent.slice(0, landed.length));
});
