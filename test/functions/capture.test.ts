import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { handler as capture } from '../../functions/capture.ts';
import { handler as executionEnded } from '../../functions/steps/execution-ended.ts';
import { handler as landInbox } from '../../functions/steps/land-inbox.ts';
import { landing } from '../../infra/aws/runtime/ports/landing.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../lib/basics/units.ts';
import { LANDING_JOB, LATE_LANDING_JOB } from '../../lib/capture/landing.ts';
import { jobOps } from '../../lib/jobs/job.ts';
import { tick } from '../../lib/jobs/tick.ts';
import { allFiles } from '../../lib/lake/catalog.ts';
import { folderInbox } from '../../lib/ports/inbox/folder.ts';
import type { CapturedRequest, Inbox } from '../../lib/ports/inbox/inbox.ts';
import { keys, ranges } from '../../lib/ports/table/keys.ts';
import { inLake } from '../support/capture.ts';
import { temporaryFolder, testContext } from '../support/context.ts';
import { onEnd } from '../support/on-end.ts';
import { proxyEvent, type Sent } from '../support/proxy-event.ts';

const TOKEN = 'phc_1';

async function stage(change: (inbox: Inbox) => Inbox = (inbox) => inbox) {
  const own = testContext();
  const opened = await folderInbox(temporaryFolder());
  onEnd(() => opened.close());
  const inbox = change(opened);
  const project = { ...keys.project(7), id: 7, organization_id: 'o', deleted_at: null };
  await own.table.write([{ put: project }, { put: { ...keys.projectToken(TOKEN), project_id: 7 } }]);
  const context = { ...own, inbox };
  const run = capture(context);
  const send = (body: unknown, { path = '/batch', ...sent }: Sent = {}) => {
    const event = proxyEvent({ method: 'POST', paths: [path] }, { body, ...sent });
    return run({
      ...event,
      requestContext: { ...event.requestContext, identity: { sourceIp: '203.0.113.7' } },
    } as never);
  };
  const land = () =>
    landInbox({ ...context, landing: landing(context, join(context.folder, 'uuids')) })({ execution: 'e' });
  const job = () => own.table.get(keys.job('landing', LANDING_JOB));
  const rows = async () => (await allFiles(own.table, 7, 'events')).reduce((sum, file) => sum + file.rows, 0);
  return { context, clock: own.clock, inbox, send, land, job, rows };
}

const event = (n = 0) => ({ api_key: TOKEN, event: 'sent', distinct_id: 'ada', properties: { n } });

test('what an SDK sends is kept before it is answered, and lands once', async () => {
  const { send, inbox, land, rows, clock } = await stage();
  const packed = gzipSync(JSON.stringify({ api_key: TOKEN, batch: [event(1), event(2)] }));
  const headers = { Origin: 'https://shop.example', 'Content-Type': 'text/plain' };
  expect(await send(packed, { headers })).toMatchObject({
    statusCode: 200,
    headers: { 'Access-Control-Allow-Origin': 'https://shop.example' },
    body: '{"status":1}',
  });
  await send(packed, { headers });
  expect((await inbox.segments()).length).toBeGreaterThan(0);
  clock.advance(MINUTE_MS);
  expect(await land()).toEqual({ do: 'nothing' });
  expect(await rows()).toBe(2);
  expect(await inbox.segments()).toEqual([]);
});

test('a request is known by the id that the gateway gave it, whatever id its sender chose', async () => {
  const kept: CapturedRequest[] = [];
  const { send } = await stage((inbox) => ({ ...inbox, append: async (request) => void kept.push(request) }));
  await send(event());
  expect(kept.map(({ id }) => id)).toEqual(['request-1']);
});

test('what capture v1 says in headers lands with its events', async () => {
  const { context, send, land, rows, clock } = await stage();
  const sent = { event: 'sent', uuid: '0199eeee-0000-7000-8000-000000000001', distinct_id: 'ada' };
  const packed = brotliCompressSync(JSON.stringify({ created_at: '2026-01-01T00:00:00Z', batch: [sent] }));
  const headers = {
    Authorization: `Bearer ${TOKEN}`,
    'Content-Encoding': 'br',
    'Content-Type': 'application/json',
    'PostHog-Sdk-Info': 'posthog-go/2.0.0',
  };
  expect(await send(packed, { path: '/i/v1/analytics/events', headers })).toMatchObject({
    statusCode: 200,
    body: JSON.stringify({ results: { [sent.uuid]: { result: 'ok' } } }),
  });
  clock.advance(MINUTE_MS);
  await land();
  expect(await rows()).toBe(1);
  expect(await inLake(context, 7, 'properties->>\'$."$lib"\'')).toEqual(['posthog-go']);
});

test('each path is answered, and a token that nobody has is refused', async () => {
  const { send } = await stage();
  expect(
    await send('', { path: '/array/{token}/config', params: { token: TOKEN }, method: 'GET', bare: true }),
  ).toMatchObject({
    statusCode: 200,
    headers: { 'Content-Type': 'application/json' },
  });
  expect(await send({}, { path: '/flags', query: 'v=2' })).toMatchObject({ statusCode: 200 });
  expect(await send({ ...event(), api_key: 'phc_nobody' })).toMatchObject({ statusCode: 401 });
  expect(await send('', { method: 'OPTIONS' })).toMatchObject({ statusCode: 200 });
});

test('what cannot be kept is not acknowledged', async () => {
  const { send, job } = await stage((inbox) => ({
    ...inbox,
    append: () => Promise.reject(new Error('neither stream nor bucket')),
  }));
  expect(await send(event())).toMatchObject({ statusCode: 503, headers: { 'Retry-After': '5' } });
  // Somebody looks all the same: it may have been kept.
  expect(await job()).toBeDefined();
});

test('a landing is asked for before anything is kept, again each minute, and looks until it was quiet for long', async () => {
  const { send, land, job, clock, rows } = await stage();
  await send(event());
  const asked = await job();
  expect(asked?.due).toBe(clock() + MINUTE_MS);
  await send(event(1));
  expect(await job()).toEqual(asked);
  clock.advance(MINUTE_MS);
  await land();
  expect(await rows()).toBe(2);
  expect((await job())?.due).toBe(clock() + MINUTE_MS);
  for (let minute = 0; minute < 14; minute += 1) {
    clock.advance(MINUTE_MS);
    await land();
    expect((await job())?.due).toBe(clock() + MINUTE_MS);
  }
  clock.advance(MINUTE_MS);
  await land();
  expect(await job()).toBeUndefined();
  await send(event(2));
  expect((await job())?.due).toBe(clock() + MINUTE_MS);
});

const BROKEN = {
  machine: 'landing',
  execution: 'e',
  input: {},
  status: 'FAILED',
  error: { Error: 'Runtime.OutOfMemory', Cause: '' },
} as const;

test.each([
  ['while it lands', LANDING_JOB],
  ['while it looks for what comes late', LATE_LANDING_JOB],
])('a landing that breaks %s is begun anew a minute later, not when its watch of an hour is over', async (_, name) => {
  const { context, clock } = await stage();
  const key = keys.job('landing', name);
  await context.table.write(jobOps('landing', name, clock(), { quietSince: clock() }));
  const landing = { walk: () => Promise.reject(new Error('out of memory')) };
  await expect(landInbox({ ...context, landing })({ execution: 'e' })).rejects.toThrow('out of memory');
  expect((await context.table.get(key))?.due).toBe(clock() + HOUR_MS);
  await executionEnded(context)(BROKEN);
  const due = clock() + MINUTE_MS;
  expect(await context.table.get(key)).toMatchObject({ due, about: JSON.stringify({ quietSince: clock() }) });
  const begun: string[] = [];
  const workflow = { ...context.workflow, start: async (machine: string) => void begun.push(machine) };
  clock.advance(MINUTE_MS);
  await tick({ ...context, workflow });
  expect(begun).toEqual(['landing']);
});

test('one that breaks before it has begun comes less and less often, as any other job', async () => {
  const { context, clock } = await stage();
  const key = keys.job('landing', LANDING_JOB);
  await context.table.write(jobOps('landing', LANDING_JOB, clock() + HOUR_MS, { quietSince: clock() }));
  await context.table.write([{ change: key, set: { attempts: 5 } }]);
  await executionEnded(context)(BROKEN);
  expect((await context.table.get(key))?.due).toBe(clock() + HOUR_MS);
});

test('one that breaks when nothing is to be landed any more begins nothing', async () => {
  const { context } = await stage();
  await executionEnded(context)(BROKEN);
  expect(await context.table.get(keys.job('landing', LANDING_JOB))).toBeUndefined();
});

test.each(['before', 'during'])(
  'what is asked for %s the last look is looked for, though it is not there yet',
  async (when) => {
    const sent = { last: false, isThere: false };
    const world = await stage((inbox) => {
      const segments = inbox.segments.bind(inbox);
      inbox.segments = async () => {
        if (!sent.last || sent.isThere) return segments();
        if (when === 'during') await world.send(event(1));
        return [];
      };
      return inbox;
    });
    const { send, land, job, clock, rows } = world;
    await send(event());
    clock.advance(MINUTE_MS);
    await land();
    for (let minute = 0; minute < 14; minute += 1) {
      clock.advance(MINUTE_MS);
      await land();
    }
    sent.last = true;
    if (when === 'before') await send(event(1));
    clock.advance(MINUTE_MS);
    await land();
    expect((await job())?.due).toBe(clock() + MINUTE_MS);
    sent.isThere = true;
    clock.advance(MINUTE_MS);
    await land();
    expect(await rows()).toBe(2);
  },
);

describe('what the stream delivers late', () => {
  async function rested() {
    const held: CapturedRequest[] = [];
    const world = await stage();
    const { context, inbox, send, land, clock } = world;
    const append = inbox.append.bind(inbox);
    inbox.append = async (request) => void held.push(request);
    await send(event());
    for (let minute = 0; minute < 15; minute += 1) {
      clock.advance(MINUTE_MS);
      await land();
    }
    const dues = async () => {
      const { items } = await context.table.list(ranges.dueJobs(clock() + DAY_MS), { limit: 10 });
      const jobs = await context.table.many(items);
      return jobs.filter((each) => each?.kind === 'landing').map((each) => each?.due);
    };
    const deliver = async () => {
      for (const request of held.splice(0)) await append(request);
    };
    return { ...world, dues, deliver };
  }

  test('lands within the hour, though nobody asks for it', async () => {
    const { land, clock, dues, deliver, rows } = await rested();
    expect(await dues()).toEqual([clock() + HOUR_MS]);
    clock.advance(HOUR_MS);
    await land();
    expect(await dues()).toEqual([clock() + HOUR_MS]);
    await deliver();
    clock.advance(HOUR_MS);
    await land();
    expect(await rows()).toBe(1);
    // Where something came, more may come.
    expect(await dues()).toEqual([clock() + MINUTE_MS]);
  });

  test('is looked for as long as the stream tries, a day', async () => {
    const { land, clock, dues } = await rested();
    let hours = 0;
    for (; (await dues()).length > 0; hours += 1) {
      clock.advance(HOUR_MS);
      await land();
    }
    expect(hours).toBe(25);
  });

  test('keeps nobody waiting who asks meanwhile', async () => {
    const { send, land, clock, dues, rows, deliver } = await rested();
    clock.advance(10 * MINUTE_MS);
    await send(event(1));
    expect(await dues()).toContain(clock() + MINUTE_MS);
    await deliver();
    clock.advance(MINUTE_MS);
    await land();
    expect(await rows()).toBe(2);
    expect(await dues()).toEqual([clock() + MINUTE_MS]);
  });
});

test('a landing lists the inbox as it begins, and before its first and last pass, however many passes what waits takes', async () => {
  const { context, inbox } = await stage();
  const waiting = new Set(['a', 'b', 'c', 'd']);
  let lists = 0;
  const walked = await landing(
    {
      ...context,
      inbox: {
        ...inbox,
        segments: async () => {
          lists += 1;
          return [...waiting].map((name) => ({ name, bytes: 4 * 2 ** 20, writtenAt: context.clock() }));
        },
        read: async () => ({ requests: [], damaged: 0, unfinished: 0 }),
        remove: async (segments) => segments.forEach((name) => waiting.delete(name)),
      },
    },
    join(context.folder, 'uuids'),
  ).walk();
  expect(walked).toEqual({ found: 4, isCut: false });
  expect([waiting.size, lists]).toEqual([0, 3]);
});

test('a landing tells with each pass how much waits, however long it takes', async () => {
  const { context, inbox } = await stage();
  const waiting = new Set(['a', 'b', 'c']);
  const told: unknown[] = [];
  await landing(
    {
      ...context,
      metrics: { record: ({ InboxBytes }) => void (InboxBytes !== undefined && told.push(InboxBytes)) },
      inbox: {
        ...inbox,
        segments: async () => [...waiting].map((name) => ({ name, bytes: 4 * 2 ** 20, writtenAt: context.clock() })),
        read: async () => ({ requests: [], damaged: 0, unfinished: 0 }),
        remove: async (segments) => segments.forEach((name) => waiting.delete(name)),
      },
    },
    join(context.folder, 'uuids'),
  ).walk();
  expect(told).toEqual([3, 3, 2, 1].map((segments) => segments * 4 * 2 ** 20));
});

test('a landing that fails as a whole has told how old the oldest is that waits', async () => {
  const { context, inbox, clock } = await stage();
  const measures: object[] = [];
  const walked = landing(
    {
      ...context,
      metrics: { record: (one) => void measures.push(one) },
      inbox: {
        ...inbox,
        segments: async () => [
          { name: 'a', bytes: 5, writtenAt: clock() - HOUR_MS },
          { name: 'b', bytes: 6, writtenAt: clock() - MINUTE_MS },
        ],
        read: () => Promise.reject(new Error('no bucket')),
      },
    },
    join(context.folder, 'uuids'),
  ).walk();
  await expect(walked).rejects.toThrow('no bucket');
  expect(measures).toEqual([{ InboxBytes: 11, LandingDelay: HOUR_MS / SECOND_MS }]);
});

test('what comes alone is counted at once: nothing may come after it that would tell', async () => {
  const { send, clock, context } = await stage();
  const counted = () => context.table.get(keys.captureCounts(7, '2026-01-01'));
  expect(await send({ api_key: TOKEN, event: 'nobody' })).toMatchObject({ statusCode: 400 });
  expect(await counted()).toMatchObject({ refused_missing_distinct_id: 1 });
  clock.advance(3 * SECOND_MS);
  await send(event());
  expect(await counted()).toMatchObject({ accepted: 1 });
  // What comes in a row waits for the others.
  clock.advance(SECOND_MS);
  await send(event(1));
  expect(await counted()).toMatchObject({ accepted: 1 });
});

test('counts are told now and then, and by the landing', async () => {
  const { send, land, clock, context } = await stage();
  await send({ api_key: TOKEN, batch: [event(), { event: 'nobody' }] });
  clock.advance(10 * SECOND_MS);
  await send(event(1));
  const counted = () => context.table.get(keys.captureCounts(7, '2026-01-01'));
  expect(await counted()).toMatchObject({ accepted: 2, refused_missing_distinct_id: 1 });
  await land();
  expect(await counted()).toMatchObject({ landed: 2 });
});
