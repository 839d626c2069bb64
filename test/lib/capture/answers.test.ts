/** What SDKs are answered over HTTP, and that no SDK of today logs an error at it. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { PostHog } from 'posthog-node';
import { SDK_LIMITS } from '../../../infra/local/gateway/sdk-endpoint.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import {
  answerSdk,
  BUSY_SDK_TEMPLATES,
  isSdkPath,
  SDK_TEMPLATES,
  type SdkAnswer,
} from '../../../lib/capture/answers.ts';
import { CaptureCounts } from '../../../lib/capture/counts.ts';
import { captureEndpoint } from '../../../lib/capture/endpoint.ts';
import { folderInbox } from '../../../lib/ports/inbox/folder.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { describeInBrowser } from '../../support/browser.ts';
import { captureService } from '../../support/capture.ts';
import { onEnd } from '../../support/on-end.ts';
import { proxyEvent } from '../../support/proxy-event.ts';
import { SDK_REQUESTS, TOKEN } from '../../support/sdk-requests.ts';

const MEGABYTE = 1024 * 1024;

const world = await captureService();
const { service, token, context } = world;
const byV1 = await captureService();

const ORIGIN = 'https://shop.example';

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
}

/** Sends a request as a page of `ORIGIN` does. */
const ask = (path: string, { method = 'POST', body, headers = {}, address = '203.0.113.1' }: Sent = {}) =>
  fetch(`${service.address}${path}`, {
    method,
    headers: { Origin: ORIGIN, 'X-Forwarded-For': address, ...headers },
    ...(body === undefined
      ? {}
      : {
          body: body instanceof Uint8Array ? Buffer.from(body) : typeof body === 'string' ? body : JSON.stringify(body),
        }),
  });

const event = (more: object = {}) => ({ api_key: token, event: 'clicked', distinct_id: 'ada', ...more });

const status = async (answer: Promise<Response>): Promise<number> => (await answer).status;

test('docs/capture.md names each path of SDKs, and no other', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/capture.md'), 'utf8');
  const [, table = ''] = page.split('| path, with and without a slash at the end | |');
  const rows = table.split('\n\n', 1)[0]?.split('\n') ?? [];
  const named = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  );
  const templates = named.map((path) => path.replace('<token>', '{token}'));
  expect(templates.toSorted()).toEqual(SDK_TEMPLATES.toSorted());
  for (const path of templates.flatMap((one) => [one, `${one}/`]))
    expect([path, isSdkPath(path.replace('{token}', 'phc_1'))]).toEqual([path, true]);
  for (const path of ['/', '/ee', '/e//', '/x/e', '/array/a/b/config', '/array/a/configXjs', '/i/v1/x/events'])
    expect([path, isSdkPath(path)]).toEqual([path, false]);
  expect(BUSY_SDK_TEMPLATES).toEqual(['/i/v0/e', '/e', '/batch', '/i/v1/analytics/events', '/i/v1/ai/events']);
});

describe('an event is taken', () => {
  test.each(['/i/v0/e', '/i/v0/ai/batch', '/e', '/batch', '/capture', '/track', '/engage'])(
    'at %s, with a slash and without',
    async (path) => {
      for (const at of [path, `${path}/`]) {
        const answer = await ask(at, { body: event() });
        expect([answer.status, await answer.json()]).toEqual([200, { status: 1 }]);
      }
    },
  );

  test('and only what is not taken has a line of the log at INFO', async () => {
    const before = context.lines.length;
    await ask('/e/', { body: event() });
    await ask('/e/', { body: event({ api_key: 'phc_nobody' }) });
    const lines = context.lines.slice(before).filter(({ message }) => message === 'answered');
    expect(lines.map(({ level, fields }) => [fields['status'], level])).toEqual([
      [200, 'DEBUG'],
      [401, 'INFO'],
    ]);
  });

  test('by GET, and from a beacon, which is answered without a body', async () => {
    const data = encodeURIComponent(Buffer.from(JSON.stringify(event())).toString('base64'));
    expect(await status(ask(`/e/?data=${data}`, { method: 'GET' }))).toBe(200);
    const answer = await ask('/e/?beacon=1', { body: event() });
    expect([answer.status, await answer.text()]).toEqual([204, '']);
  });

  test('in every form in which an SDK has sent it', async () => {
    await context.table.write([{ put: { ...keys.projectToken(TOKEN), project_id: service.project.id } }]);
    for (const { sdk, method, path, query, headers, body } of SDK_REQUESTS) {
      const about = new URLSearchParams(query).toString();
      const answer = await ask(`${path}?${about}`, { method, headers, ...(method === 'POST' ? { body } : {}) });
      expect([sdk, answer.status]).toEqual([sdk, query['beacon'] === '1' ? 204 : 200]);
    }
  });

  test('with the address of its sender, whatever else a request says of it', async () => {
    await ask('/e', {
      body: event({ event: 'from afar' }),
      headers: { 'X-Forwarded-For': '198.51.100.9, ::ffff:203.0.113.7' },
    });
    expect(await world.landed("properties->>'$.\"$ip\"' || ' ' || event")).toContain('203.0.113.7 from afar');
  });
});

describe('capture v1', () => {
  const uuid = (n: number): string => `0199eeee-0000-7000-8000-00000000000${n}`;
  const sent = (n: number, more: object = {}) => ({
    event: 'paid',
    uuid: uuid(n),
    distinct_id: 'ada',
    timestamp: '2026-01-01T00:00:00Z',
    options: {},
    ...more,
  });
  const send = (batch: readonly unknown[], headers: Readonly<Record<string, string>> = {}, to = byV1.service.address) =>
    fetch(`${to}/i/v1/analytics/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${byV1.token}`, 'X-Forwarded-For': '203.0.113.1', Origin: ORIGIN, ...headers },
      body: JSON.stringify({ created_at: '2026-01-01T00:00:00Z', batch }),
    });

  test('takes events, and tells of each what became of it', async () => {
    const batch = [
      sent(1),
      sent(2, { distinct_id: ' ' }),
      sent(3, { uuid: uuid(3).toUpperCase() }),
      sent(4, { uuid: 'none' }),
      sent(5, { properties: [] }),
      { event: 'without a uuid', distinct_id: 'ada' },
      7,
    ];
    const answer = await send(batch);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await answer.json()).toEqual({
      results: {
        [uuid(1)]: { result: 'ok' },
        [uuid(2)]: { result: 'drop', details: 'missing_distinct_id' },
        [uuid(3)]: { result: 'ok' },
        none: { result: 'drop', details: 'invalid_uuid' },
        [uuid(5)]: { result: 'drop', details: 'invalid_properties' },
      },
    });
    const landed = await byV1.landed("uuid || ' ' || event");
    expect(landed).toEqual(expect.arrayContaining([`${uuid(1)} paid`, `${uuid(3)} paid`]));
    expect(landed).toContainEqual(expect.stringMatching(/ without a uuid$/));
  });

  test('tells it where none of them can be taken, too', async () => {
    const answer = await send([sent(1, { event: '' })]);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { results: { [uuid(1)]: { result: 'drop', details: 'missing_event_name' } } },
    ]);
  });

  test('tells of a uuid that two events have that it is taken when one of them is', async () => {
    const bad = { event: '' };
    const answer = await send([sent(6, bad), sent(6), sent(7), sent(7, bad), sent(8, bad), sent(8, bad)]);
    expect(await answer.json()).toEqual({
      results: {
        [uuid(6)]: { result: 'ok' },
        [uuid(7)]: { result: 'ok' },
        [uuid(8)]: { result: 'drop', details: 'missing_event_name' },
      },
    });
  });

  test('tells it of ten thousand, and of the others nothing, which is that they are taken', async () => {
    const batch = Array.from({ length: 10_001 }, (_, n) => ({ uuid: `${n}` }));
    const { results } = (await (await send(batch)).json()) as { results: object };
    expect(Object.keys(results)).toHaveLength(10_000);
    expect(new Set(Object.values(results).map(({ result }: { result: string }) => result))).toEqual(new Set(['drop']));
  });

  test('corrects timestamps by when the request says that it was sent', async () => {
    const { service: one, token: own, landed } = await captureService();
    const headers = { Authorization: `Bearer ${own}`, 'PostHog-Request-Timestamp': '2025-12-31T23:00:00.000Z' };
    await send([sent(1, { timestamp: '2025-12-31T22:00:00Z' })], headers, one.address);
    await send([sent(2, { options: { disable_skew_correction: true } })], headers, one.address);
    expect(await landed("strftime(make_timestamp(timestamp_us), '%x %X')")).toEqual([
      '2025-12-31 23:00:00',
      '2026-01-01 00:00:00',
    ]);
  });

  test.each<[string, Readonly<Record<string, string>>, readonly unknown[], number, RegExp]>([
    ['no token', { Authorization: 'Basic 1' }, [sent(1)], 401, /no project token/],
    ['a personal API key', { Authorization: 'Bearer phx_1' }, [sent(1)], 401, /personal API key/],
    [
      'a token that no project has',
      { Authorization: 'Bearer phc_nobody' },
      [sent(1)],
      401,
      /no project with this token/,
    ],
    ['an empty batch', {}, [], 400, /no events/],
    ['an encoding that is not known', { 'Content-Encoding': 'lz4' }, [sent(1)], 415, /gzip, deflate, br, zstd/],
  ])('refuses %s in plain text, which a page may read', async (_what, headers, batch, expected, says) => {
    const answer = await send(batch, headers);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([expected, ORIGIN]);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await answer.text()).toMatch(says);
  });

  test('over the quota of a day is 402, which no SDK sends again, and counted', async () => {
    const limited = await captureService({ eventsPerDay: 0 });
    const answer = await send([sent(1)], { Authorization: `Bearer ${limited.token}` }, limited.service.address);
    expect([answer.status, await answer.text()]).toEqual([402, expect.stringMatching(/in a day/)]);
    await limited.counts.flush();
    const found = await limited.context.table.get(keys.captureCounts(limited.service.project.id, '2026-01-01'));
    expect(found).toMatchObject({ refused_over_quota: 1 });
  });

  test('lets a page send its headers', async () => {
    const asked = 'authorization,content-type,posthog-attempt,posthog-request-id,posthog-sdk-info';
    const answer = await ask('/i/v1/analytics/events', {
      method: 'OPTIONS',
      headers: { 'Access-Control-Request-Headers': asked, 'Access-Control-Request-Method': 'POST' },
    });
    expect([answer.status, answer.headers.get('access-control-allow-headers')]).toEqual([200, asked]);
  });
});

describe('what cannot be taken', () => {
  test.each<[string, unknown, number, RegExp]>([
    [
      'a token that no project has',
      { api_key: 'phc_nobody', event: 'x', distinct_id: 'a' },
      401,
      /no project with this token/,
    ],
    ['no token', { event: 'x', distinct_id: 'a' }, 401, /no project token/],
    ['a personal API key', { api_key: 'phx_1', event: 'x', distinct_id: 'a' }, 401, /personal API key/],
    ['nothing', '', 400, /no data/],
    ['no JSON', '{"api_key": ', 400, /not JSON/],
    ['an empty batch', { api_key: 'phc_x', batch: [] }, 400, /no events/],
    [
      'bad events alone',
      { api_key: token, batch: [{ event: '', distinct_id: 'a' }] },
      400,
      /No event can be taken\. The event has no name/,
    ],
  ])('%s is refused in plain text', async (_what, body, expected, says) => {
    const answer = await ask('/batch/', { body });
    expect(answer.status).toBe(expected);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await answer.text()).toMatch(says);
  });

  test('over 20 MB is refused as too large, after it was read', async () => {
    expect(await status(ask('/batch/', { body: Buffer.alloc(20 * MEGABYTE + 1, '1') }))).toBe(413);
  });

  test('what unpacks to more than is read is too large, and a beacon keeps its status', async () => {
    const bomb = gzipSync(Buffer.alloc(101 * MEGABYTE, ' '));
    const answer = await ask('/batch/?beacon=1', { body: bomb });
    expect([answer.status, await answer.text()]).toEqual([413, expect.stringContaining('when it is decoded')]);
  });

  test('bad events among good ones are counted by reason, with one of them', async () => {
    const { project } = service;
    const batch = [
      { event: 'good', distinct_id: 'a' },
      { event: 'x' },
      { event: 'the last' },
      { event: 'y', distinct_id: 'a', uuid: '1' },
    ];
    expect(await status(ask('/batch', { body: { api_key: token, batch } }))).toBe(200);
    await world.counts.flush();
    const found = await context.table.get(keys.captureCounts(project.id, '2026-01-01'));
    expect(found).toMatchObject({ refused_missing_distinct_id: 2, refused_invalid_uuid: 1 });
    expect(JSON.parse(String(found?.['sample_missing_distinct_id']))).toEqual({
      event: 'the last',
      distinct_id: null,
      at: context.clock(),
    });
  });

  test('are shown as ingestion warnings, and minute by minute', async () => {
    const own = await captureService();
    const { service: ours } = own;
    const { project } = ours;
    const send = (batch: readonly object[]) =>
      fetch(`${ours.address}/batch`, { method: 'POST', body: JSON.stringify({ api_key: own.token, batch }) });
    const path = `/api/projects/${project.id}`;
    expect((await ours.call('GET', `${path}/ingestion_warnings/`)).body).toEqual([]);
    const batch = [{ event: 'good', distinct_id: 'a' }, { event: 'x' }, { event: 'the last' }];
    await send(batch);
    await own.counts.flush();
    own.context.clock.advance(DAY_MS);
    await send([...batch, { event: '', distinct_id: 'a' }]);
    own.counts.add(project.id, { landed: 1, known: 0, late: 1, delayMs: 1_500 });
    own.counts.add(project.id, { landed: 0, known: 1, delayMs: 900 });
    await own.counts.flush();
    const { body: warnings } = await ours.call('GET', `${path}/ingestion_warnings/`);
    expect(warnings).toMatchObject([
      {
        type: 'missing_distinct_id',
        count: 4,
        lastSeen: '2026-01-02T00:00:00Z',
        warnings: [
          { timestamp: '2026-01-02T00:00:00Z', details: { event: 'the last', distinctId: null } },
          { timestamp: '2026-01-01T00:00:00Z' },
        ],
      },
      {
        type: 'missing_event_name',
        count: 1,
        warnings: [{ details: { message: expect.stringContaining('no name') } }],
      },
    ]);
    const [{ sparkline }] = warnings as unknown as [{ sparkline: [number, string][] }];
    expect(sparkline).toHaveLength(30);
    expect(sparkline.slice(-3)).toEqual([
      [0, '2025-12-31'],
      [2, '2026-01-01'],
      [2, '2026-01-02'],
    ]);
    const { body: numbers } = await ours.call('GET', `${path}/ingestion_numbers/?minutes=1440`);
    const { results } = numbers as unknown as { results: object[] };
    expect(results).toHaveLength(1440);
    expect(results[0]).toEqual({
      minute: '2026-01-02T00:00:00Z',
      accepted: 1,
      refused: 3,
      landed: 1,
      known: 1,
      late: 1,
      delay_seconds: 1.5,
    });
    expect(results[1]).toMatchObject({ accepted: 0, refused: 0, delay_seconds: null });
    const { body: hour } = await ours.call('GET', `${path}/ingestion_numbers/`);
    expect((hour as unknown as { results: object[] }).results).toHaveLength(60);
  });
});

test('every answer is one that a browser shows to the page that asked', async () => {
  const body = event();
  const answers = [
    ask('/e', { body }),
    ask('/e?beacon=1', { body }),
    ask('/e', { body: '' }),
    ask('/e', { body: { ...body, api_key: 'phc_nobody' } }),
    ask('/e', { method: 'PUT', body }),
    ask('/batch', { body: Buffer.alloc(20 * MEGABYTE + 1, '1') }),
    ask('/s/', { body: '[]' }),
    ask('/flags/?v=2', { body }),
    ask('/decide/?v=3', { body }),
    ask(`/array/${token}/config.js`, { method: 'GET' }),
    ask(`/array/${token}/config`, { method: 'GET' }),
    ask('/e', { method: 'OPTIONS', headers: { 'Access-Control-Request-Headers': 'content-type,x-other' } }),
  ];
  const found = await Promise.all(answers);
  expect(found.map((answer) => answer.status)).toEqual([200, 204, 400, 401, 405, 413, 200, 200, 200, 200, 200, 200]);
  for (const { headers } of found) {
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(headers.get('access-control-allow-credentials')).toBe('true');
    expect(headers.get('access-control-expose-headers')).toBe('Retry-After');
    expect(headers.get('vary')).toBe('Origin');
  }
  expect(found.at(-1)?.headers.get('access-control-allow-headers')).toBe('content-type,x-other');
});

test.each([
  ['/flags/definitions', { flags: [], group_type_mapping: {}, cohorts: {} }],
  ['/api/feature_flag/local_evaluation', { flags: [], group_type_mapping: {}, cohorts: {} }],
  ['/api/early_access_features', { earlyAccessFeatures: [] }],
  ['/api/surveys', { surveys: [] }],
])(
  'SDKs that ask %s are told that there is nothing, with or without a slash, a key and a query',
  async (path, body) => {
    for (const target of [path, `${path}/`, `${path}?send_cohorts&token=${token}`]) {
      const answer = await ask(target, { method: 'GET', headers: { Authorization: 'Bearer phx_x' } });
      expect([answer.status, await answer.json()]).toEqual([200, body]);
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    }
    expect((await ask(`${path}/1`, { method: 'GET' })).headers.get('access-control-allow-origin')).toBeNull();
  },
);

test('nothing of it holds for the API', async () => {
  const answer = await ask('/api/organizations/', { method: 'GET' });
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([401, null]);
});

test('posthog-js gets its configuration as a script that defines it', async () => {
  const answer = await ask(`/array/${token}/config.js`, { method: 'GET' });
  expect(answer.headers.get('content-type')).toBe('application/javascript; charset=utf-8');
  const window: { _POSTHOG_REMOTE_CONFIG?: Record<string, { config: object; siteApps: [] }> } = {};
  runInNewContext(await answer.text(), { window });
  const config = await (await ask(`/array/${token}/config`, { method: 'GET' })).json();
  expect(window._POSTHOG_REMOTE_CONFIG).toEqual({ [token]: { config, siteApps: [] } });
  expect(config).toMatchObject({ analytics: { endpoint: '/i/v0/e/' }, hasFeatureFlags: false });
});

test('who has no other way gets the configuration with the flags, when asking for it', async () => {
  const config = await (await ask(`/array/${token}/config`, { method: 'GET' })).json();
  const flagsOf = async (query: string) => (await ask(`/flags/?${query}`, { body: { token } })).json();
  const none = { flags: {}, errorsWhileComputingFlags: false, requestId: expect.any(String) };
  expect(await flagsOf('v=2&config=true')).toEqual({ ...(config as object), ...none });
  expect(await flagsOf('v=2')).toEqual(none);
});

/** Answers one request, with a part of what answers it replaced. */
async function answered(changes: Parameters<typeof captureService>[0]): Promise<SdkAnswer> {
  const { token: own, context: other } = await captureService();
  const body = Buffer.from(JSON.stringify({ ...event(), api_key: own }));
  const taken = { token: own, taken: 1, bytes: 0, refused: {}, results: [] };
  const replaced = {
    ...other,
    inbox: { append: async () => {} },
    tokens: { projectOf: async () => 1 },
    counts: { add: () => {}, refuse: () => {}, acceptedToday: async () => 0 },
    read: async () => taken,
    mayTake: () => 0,
    notKept: () => {},
    eventsPerDay: null,
    ...changes,
  };
  const request = { id: '1', method: 'POST', path: '/e', query: {}, headers: { origin: ORIGIN }, body, address: null };
  return answerSdk(replaced, request);
}

test('what cannot be kept at this moment is to be sent again', async () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const broken = () => Promise.reject(full);
  for (const changes of [{ inbox: { append: broken } }, { tokens: { projectOf: broken } }, { read: broken }]) {
    const answer = await answered(changes);
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '5', 'Access-Control-Allow-Origin': ORIGIN },
    });
    expect(answer.body).toMatch(/^The disk of the service is full: space must be freed there\./);
  }
});

test('a sender is not told what the service did not expect, such as the path of a file', async () => {
  const gone = Object.assign(new Error("ENOENT: no such file or directory, statfs '/srv/inbox'"), { code: 'ENOENT' });
  const answer = await answered({ inbox: { append: () => Promise.reject(gone) } });
  expect(answer).toMatchObject({ status: 503, body: 'The service cannot keep this now. Try again in 5 s.' });
});

test('requests that cannot be kept are told in the log once a minute, with their number', async () => {
  const append = () => Promise.reject(new Error('broken'));
  const full = await captureService({ inbox: { append } });
  const { context: own } = full;
  const send = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      const body = JSON.stringify({ ...event(), api_key: full.token });
      expect((await fetch(`${full.service.address}/e`, { method: 'POST', body })).status).toBe(503);
    }
  };
  const told = () => own.lines.filter(({ message }) => message === 'requests could not be kept');
  await send(5);
  expect(told()).toMatchObject([{ level: 'ERROR', fields: { requests: 1, error: new Error('broken') } }]);
  own.clock.advance(MINUTE_MS);
  await send(2);
  expect(told().map(({ fields }) => fields['requests'])).toEqual([1, 5]);
});

/** Of `Retry-After`; less where the test is slow. */
const secondsOf = (answer: Response | undefined): number => Number(answer?.headers.get('retry-after'));

describe('a flood', () => {
  test('of large requests waits in line, a line has an end, and small requests of others are answered meanwhile', async () => {
    // A list of 600,000 numbers is 1.2 MB, and none of them an event.
    const large = Buffer.from(`[${'0,'.repeat(600_000)}${JSON.stringify(event())}]`);
    const answers = Array.from({ length: 24 }, () => ask('/batch', { body: large, address: '198.51.100.1' }));
    const order: string[] = [];
    const larges = answers.map(async (answer) => {
      const { status: found } = await answer;
      if (found === 200) order.push('large');
      return found;
    });
    const small = status(ask('/e', { body: event(), address: '198.51.100.2' })).then((found) => {
      order.push('small');
      return found;
    });
    expect(await small).toBe(200);
    const found = await Promise.all(larges);
    expect(order[0]).toBe('small');
    expect(new Set(found)).toEqual(new Set([200, 503]));
    // One is read and eight wait; more, if the first are done before the last have come.
    expect(found.filter((one) => one === 200).length).toBeGreaterThanOrEqual(9);
  });

  test('of an address is held back, and another address is not', async () => {
    const { service: limited, token: own } = await captureService(
      {},
      { limits: { ...SDK_LIMITS, ofAddress: { rate: 0.1, burst: 2 } } },
    );
    const from = (address: string) =>
      fetch(`${limited.address}/e`, {
        method: 'POST',
        headers: { 'X-Forwarded-For': address },
        body: JSON.stringify({ ...event(), api_key: own }),
      });
    const found = [
      await from('198.51.100.1'),
      await from('198.51.100.1'),
      await from('198.51.100.1'),
      await from('198.51.100.2'),
    ];
    expect(found.map((answer) => answer.status)).toEqual([200, 200, 503, 200]);
    expect(secondsOf(found[2])).toBeLessThanOrEqual(10);
    expect(secondsOf(found[2])).toBeGreaterThan(0);
    // One sender has all the addresses of a network of IPv6.
    const six = [
      await from('2001:db8::1'),
      await from('2001:db8::2'),
      await from('2001:db8::3'),
      await from('2001:db8:0:1::3'),
    ];
    expect(six.map((answer) => answer.status)).toEqual([200, 200, 503, 200]);
  });

  test('of a project is held back, from wherever it comes, and another project is not', async () => {
    const {
      service: limited,
      token: own,
      context: other,
    } = await captureService({}, { limits: { ...SDK_LIMITS, ofProject: { rate: 0.1, burst: 3 } } });
    await other.table.write([{ put: { ...keys.projectToken('phc_other'), project_id: 999 } }]);
    const send = (api_key: string, address: string, events: number) =>
      fetch(`${limited.address}/batch`, {
        method: 'POST',
        headers: { 'X-Forwarded-For': address },
        body: JSON.stringify({
          api_key,
          batch: Array.from({ length: events }, () => ({ event: 'x', distinct_id: 'a' })),
        }),
      });
    const found = [
      await send(own, '198.51.100.1', 4),
      await send(own, '198.51.100.2', 1),
      await send('phc_other', '198.51.100.1', 1),
    ];
    expect(found.map((answer) => answer.status)).toEqual([200, 503, 200]);
    // One is owed, and one is asked for.
    expect(secondsOf(found[1])).toBeLessThanOrEqual(20);
    expect(secondsOf(found[1])).toBeGreaterThan(10);
  });

  test('of a project is held back by what it is when it is unpacked, if that is more than its events usually are', async () => {
    const limited = await captureService({}, { limits: { ...SDK_LIMITS, ofProject: { rate: 0.1, burst: 9_000 } } });
    const padding = 'x'.repeat(900_000);
    const body = gzipSync(
      JSON.stringify({
        api_key: limited.token,
        batch: Array.from({ length: 11 }, () => ({ event: 'x', distinct_id: 'a', properties: { padding } })),
      }),
    );
    expect(body.length).toBeLessThan(15_000);
    const send = () => fetch(`${limited.service.address}/batch`, { method: 'POST', body });
    expect((await send()).status).toBe(200);
    expect((await send()).status).toBe(503);
  });

  test('over the quota of a day is dropped, counted, and answered as PostHog does; the next day takes again', async () => {
    const limited = await captureService({ eventsPerDay: 2 });
    const send = async (): Promise<unknown> => {
      const body = JSON.stringify({
        ...event(),
        api_key: limited.token,
        uuid: undefined,
        timestamp: '2026-01-01T00:00:00Z',
      });
      return (await fetch(`${limited.service.address}/e`, { method: 'POST', body })).json();
    };
    const over = { status: 1, quota_limited: ['events'] };
    expect([await send(), await send(), await send()]).toEqual([{ status: 1 }, { status: 1 }, over]);
    await limited.counts.flush();
    const found = await limited.context.table.get(keys.captureCounts(limited.service.project.id, '2026-01-01'));
    expect(found).toMatchObject({ accepted: 2, refused_over_quota: 1 });
    limited.context.clock.set(Date.UTC(2026, 0, 2));
    expect(await send()).toEqual({ status: 1 });
  });

  test('of a project is held back by several functions of AWS together, as far as they have told of it', async () => {
    const { context: own, service: one, token: api_key } = await captureService();
    const inbox = await folderInbox(join(own.folder, 'inbox-of-functions'));
    onEnd(() => inbox.close());
    const functions = { ...own, inbox, settings: { ...own.settings, eventsPerDay: 1_000_000 } };
    const [first, second] = [captureEndpoint(functions), captureEndpoint(functions)];
    const row = { method: 'POST', paths: ['/e'] } as const;
    const send = async (by: typeof first) => {
      own.clock.advance(10 * SECOND_MS);
      return by(proxyEvent(row, { body: event({ api_key }) }));
    };
    const tell = async (accepted: number): Promise<void> => {
      const others = new CaptureCounts(own);
      others.add(one.project.id, { accepted });
      await others.flush();
    };
    expect([(await send(first)).statusCode, (await send(second)).statusCode]).toEqual([200, 200]);
    await tell(599_998);
    // Each has told the table of one, and hears then how many there are.
    expect([(await send(first)).statusCode, (await send(second)).statusCode]).toEqual([200, 200]);
    const late = await send(first);
    expect([late.statusCode, late.headers?.['Retry-After']]).toEqual([503, '10']);
    own.clock.advance(MINUTE_MS);
    expect((await send(first)).statusCode).toBe(200);
    await tell(500_000);
    expect([(await send(first)).body, (await send(first)).body].map((text) => JSON.parse(text))).toEqual([
      { status: 1 },
      { status: 1, quota_limited: ['events'] },
    ]);
  });
});

test('the token of a project that was deleted is unknown at once', async () => {
  const other = await captureService();
  const { service: one } = other;
  const send = () =>
    fetch(`${one.address}/e`, { method: 'POST', body: JSON.stringify({ ...event(), api_key: other.token }) });
  expect(await status(send())).toBe(200);
  expect((await one.call('DELETE', `/api/projects/${one.project.id}/`)).status).toBe(204);
  expect(await status(send())).toBe(401);
  // What was counted of it is forgotten.
  await other.counts.flush();
  expect(await other.context.table.get(keys.captureCounts(one.project.id, '2026-01-01'))).toBeUndefined();
});

test.each(['v0', 'v1'])('posthog-node 5.70 logs no error, and its events land, by capture %s', async (mode) => {
  const { service: one, token: own, landed } = await captureService();
  process.env['POSTHOG_CAPTURE_MODE'] = mode;
  onEnd(() => delete process.env['POSTHOG_CAPTURE_MODE']);
  const errors: unknown[] = [];
  const posthog = new PostHog(own, { host: one.address, flushAt: 20, flushInterval: 0 });
  posthog.on('error', (error: unknown) => errors.push(error));
  for (let n = 0; n < 45; n += 1) posthog.capture({ distinctId: `user ${n % 3}`, event: 'paid', properties: { n } });
  posthog.identify({ distinctId: 'user 0', properties: { name: 'Ada' } });
  expect((await posthog.evaluateFlags('user 0')).isEnabled('beta')).toBe(false);
  await posthog.shutdown();
  expect(errors).toEqual([]);
  const names = await landed('event');
  expect(names.filter((name) => name === 'paid')).toHaveLength(45);
  expect(names).toContain('$identify');
  expect(new Set(await landed('properties->>\'$."$lib"\''))).toEqual(new Set(['posthog-node']));
});

describeInBrowser('posthog-js in a browser', (open) => {
  test('logs no error, and its events land, those of the last moment too', async () => {
    let taken = Promise.withResolvers<void>();
    const metrics = { record: () => taken.resolve() };
    const { service: one, token: own, landed } = await captureService({ metrics });
    const script = readFileSync(join(import.meta.dirname, '../../../node_modules/posthog-js/dist/array.js'));
    const page = `<!doctype html><title>Shop</title><button>Buy</button><script src="/posthog.js"></script><script>
      posthog.init(${JSON.stringify(own)}, {
        api_host: ${JSON.stringify(one.address)}, opt_out_useragent_filter: true, disable_session_recording: true,
      });
      posthog.capture('made by hand', { price: 1.5 });
      posthog.identify('ada', { name: 'Ada' });
    </script>`;
    // The page has an origin of its own, as those of SDKs have.
    const site = createServer(({ url }, response) => {
      const isScript = url === '/posthog.js';
      response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html').end(isScript ? script : page);
    }).listen(0, '127.0.0.1');
    onEnd(() => site.close());
    await new Promise((resolve) => site.once('listening', resolve));
    const { page: tab, complaints } = await open();
    const first = tab.waitForResponse((answer) => new URL(answer.url()).pathname === '/i/v0/e/');
    await tab.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    await tab.getByRole('button').click();
    expect((await first).status()).toBe(200);
    await tab.evaluate("posthog.capture('at last')");
    taken = Promise.withResolvers();
    await tab.goto('about:blank');
    const names = new Set<unknown>();
    while (!names.has('at last')) {
      await taken.promise;
      taken = Promise.withResolvers();
      for (const name of await landed('event')) names.add(name);
    }
    await tab.close();
    expect(complaints).toEqual([]);
    for (const name of ['$pageview', 'made by hand', '$identify', '$autocapture', 'at last'])
      expect(names).toContain(name);
  });
});
