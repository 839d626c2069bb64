/**
 * Requests as PostHog's SDKs send them, from the first versions to those of today, and as people do without one. All
 * are of the project with `TOKEN`.
 */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import lz from 'lz-string';

export const TOKEN = 'phc_Tn8pQ2vXyZ0123456789abcdefghijklmnopqrstuvw';
/** By the sender's clock, which is right. */
export const SENT_AT = Date.UTC(2026, 10, 22, 12, 0, 0);

export interface SdkRequest {
  readonly sdk: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The names of its events. */
  readonly events: readonly string[];
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const TEXT = { 'content-type': 'text/plain' };
const JSON_TYPE = { 'content-type': 'application/json' };

const iso = (ago: number): string => new Date(SENT_AT - ago).toISOString();
/** With a character of three bytes, and such that its base64 has a plus. */
const TITLE = 'Préis >>> 100 % €';

export const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
export const gzipped = (value: unknown): Buffer => gzipSync(JSON.stringify(value));

const properties = (version: string, more: object = {}): object => ({
  $lib: 'web',
  $lib_version: version,
  $current_url: 'https://shop.example/prices?a=1&b=2',
  title: TITLE,
  distinct_id: '18c5e1f2a3-visitor',
  token: TOKEN,
  ...more,
});

/** Before uuids: told apart by `$insert_id`, and timed by how long ago it was. */
const early = (version: string, event: string, ago: number): object => ({
  event,
  properties: properties(version, { $insert_id: `${event}${ago}`, $time: (SENT_AT - ago) / 1000 }),
  offset: ago,
});

const web = (version: string, event: string, ago: number): object => ({
  uuid: `0199aaaa-0000-7000-8000-${String(ago).padStart(12, '0')}`,
  event,
  properties: properties(version),
  timestamp: iso(ago),
});

const node = (event: string, ago: number, version: string): object => ({
  distinct_id: 'user-7',
  event,
  properties: { plan: 'team', $lib: 'posthog-node', $lib_version: version, $geoip_disable: true },
  type: 'capture',
  library: 'posthog-node',
  library_version: version,
  timestamp: iso(ago),
  uuid: `0199bbbb-0000-7000-8000-${String(ago).padStart(12, '0')}`,
});

const python = (event: string, ago: number, version: string): object => ({
  properties: { amount: 1, $lib: 'posthog-python', $lib_version: version },
  timestamp: iso(ago).replace('Z', '000+00:00'),
  context: {},
  distinct_id: 'user-7',
  event,
});

/** What capture v1 says beside the events. */
const v1Headers = (sdk: string, encoding?: string): Record<string, string> => ({
  ...JSON_TYPE,
  authorization: `Bearer ${TOKEN}`,
  'posthog-sdk-info': sdk,
  'posthog-attempt': '1',
  'posthog-request-id': '0199cccc-0000-7000-8000-000000000001',
  'posthog-request-timestamp': iso(0),
  ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
});

const v1 = (event: string, ago: number, more: object = {}): object => ({
  event,
  uuid: `0199dddd-0000-7000-8000-${String(ago).padStart(12, '0')}`,
  distinct_id: 'user-7',
  timestamp: iso(ago),
  options: {},
  properties: { plan: 'team', title: TITLE },
  ...more,
});

/** `created_at` is that of the first attempt. */
const v1Batch = (...batch: readonly object[]): Buffer =>
  Buffer.from(JSON.stringify({ created_at: iso(60_000), batch }));

const query = (version: string, more: Record<string, string> = {}): Record<string, string> => ({
  ip: '1',
  _: String(SENT_AT),
  ver: version,
  ...more,
});

/** A form whose value is escaped, as browsers do. */
const form = (data: string, more = ''): Buffer => Buffer.from(`data=${encodeURIComponent(data)}${more}`);
/** Some versions did not escape. */
const bareForm = (data: string): Buffer => Buffer.from(`data=${data}`);

const post = (
  sdk: string,
  path: string,
  headers: Record<string, string>,
  body: Buffer,
  events: readonly string[],
  of: Record<string, string> = {},
): SdkRequest => ({ sdk, method: 'POST', path, query: of, headers, body, events });

export const SDK_REQUESTS: readonly SdkRequest[] = [
  post(
    'posthog-js 1.20, lz64',
    '/e/',
    FORM,
    form(
      lz.compressToBase64(JSON.stringify([early('1.20.0', '$pageview', 3000), early('1.20.0', 'clicked', 10)])),
      '&compression=lz64',
    ),
    ['$pageview', 'clicked'],
    query('1.20.0', { compression: 'lz64' }),
  ),
  post(
    'posthog-js 1.20, base64',
    '/e/',
    FORM,
    form(base64(early('1.20.0', '$pageview', 3000))),
    ['$pageview'],
    query('1.20.0'),
  ),
  post(
    'posthog-js 1.20, beacon',
    '/e/',
    FORM,
    form(base64([early('1.20.0', '$pageleave', 5)])),
    ['$pageleave'],
    query('1.20.0', { beacon: '1' }),
  ),
  post(
    'posthog-js 1.20, people.set',
    '/engage/',
    FORM,
    form(base64({ $set: { name: TITLE }, $token: TOKEN, $distinct_id: '18c5e1f2a3-visitor', $device_id: 'd' })),
    ['$identify'],
    query('1.20.0'),
  ),
  post(
    'posthog-js 1.57, lz64',
    '/e/',
    FORM,
    form(lz.compressToBase64(JSON.stringify(early('1.57.2', '$autocapture', 40)))),
    ['$autocapture'],
    query('1.57.2', { compression: 'lz64' }),
  ),
  post(
    'posthog-js 1.57, base64 with bare plus signs',
    '/e/',
    FORM,
    bareForm(base64([early('1.57.2', '$pageview', 3000), early('1.57.2', 'clicked', 10)])),
    ['$pageview', 'clicked'],
    query('1.57.2'),
  ),
  post(
    'posthog-js 1.96, base64 with bare plus signs',
    '/e/',
    FORM,
    bareForm(base64(web('1.96.1', '$pageview', 3000))),
    ['$pageview'],
    query('1.96.1', { compression: 'base64' }),
  ),
  post(
    'posthog-js 1.96, gzip',
    '/e/',
    TEXT,
    gzipped([web('1.96.1', '$pageview', 3000), web('1.96.1', 'clicked', 10)]),
    ['$pageview', 'clicked'],
    query('1.96.1', { compression: 'gzip-js' }),
  ),
  post(
    'posthog-js 1.200, gzip',
    '/e/',
    TEXT,
    gzipped([web('1.200.0', '$pageview', 3000), web('1.200.0', '$autocapture', 10)]),
    ['$pageview', '$autocapture'],
    query('1.200.0', { compression: 'gzip-js' }),
  ),
  post(
    'posthog-js 1.200, beacon',
    '/e/',
    FORM,
    form(base64(web('1.200.0', '$pageleave', 5))),
    ['$pageleave'],
    query('1.200.0', { compression: 'base64', beacon: '1' }),
  ),
  post(
    'posthog-js 1.449, gzip without a hint',
    '/i/v0/e/',
    TEXT,
    gzipped({
      api_key: TOKEN,
      batch: [web('1.449.2', '$pageview', 3000), web('1.449.2', '$set', 10)],
      sent_at: iso(0),
    }),
    ['$pageview', '$set'],
  ),
  post(
    'posthog-js 1.449, without its configuration',
    '/e/',
    JSON_TYPE,
    Buffer.from(JSON.stringify({ api_key: TOKEN, batch: [web('1.449.2', '$pageview', 3000)], sent_at: iso(0) })),
    ['$pageview'],
  ),
  post(
    'posthog-js 1.449, beacon without its configuration',
    '/e/',
    FORM,
    form(base64({ api_key: TOKEN, batch: [web('1.449.2', '$pageleave', 3)], sent_at: iso(0) })),
    ['$pageleave'],
    { compression: 'base64' },
  ),
  post(
    'posthog-node 3',
    '/batch/',
    JSON_TYPE,
    Buffer.from(
      JSON.stringify({
        api_key: TOKEN,
        batch: [node('signed up', 900, '3.6.0'), node('paid', 4, '3.6.0')],
        sent_at: iso(0),
      }),
    ),
    ['signed up', 'paid'],
  ),
  post(
    'posthog-node 5, gzip',
    '/batch/',
    { ...JSON_TYPE, 'content-encoding': 'gzip' },
    gzipped({
      api_key: TOKEN,
      batch: [node('signed up', 900, '5.70.0')],
      sent_at: iso(0),
      historical_migration: true,
    }),
    ['signed up'],
  ),
  post(
    'posthog-python 2',
    '/batch/',
    JSON_TYPE,
    Buffer.from(
      JSON.stringify({
        batch: [
          python('signed up', 900, '2.3.1'),
          {
            timestamp: iso(5),
            context: {},
            distinct_id: 'user-7',
            $set: { name: TITLE },
            event: '$identify',
            properties: {},
          },
        ],
        sentAt: iso(0),
        api_key: TOKEN,
      }),
    ),
    ['signed up', '$identify'],
  ),
  post(
    'posthog-python 7, NaN and floats',
    '/batch/',
    JSON_TYPE,
    Buffer.from(
      `{"batch": [{"properties": {"share": NaN, "most": Infinity, "least": -Infinity, "amount": 1.0, "text": "NaN, -Infinity", "big": 123456789012345678901234567890}, "timestamp": "${iso(7)}", "distinct_id": "user-7", "event": "measured", "uuid": "3c1b5a1e-2f4d-4c6b-9a8e-0d1c2b3a4f5e"}], "historical_migration": false, "sent_at": "${iso(0)}", "api_key": "${TOKEN}"}`,
    ),
    ['measured'],
  ),
  post(
    'posthog-python 7, gzip',
    '/batch/',
    { ...JSON_TYPE, 'content-encoding': 'gzip' },
    gzipped({
      batch: [{ ...python('paid', 4, '7.53.0'), uuid: '5f0c1f9e-8d63-4b34-8f33-6b8f0d2a7c11' }],
      historical_migration: false,
      sent_at: iso(0),
      api_key: TOKEN,
    }),
    ['paid'],
  ),
  post(
    'curl',
    '/capture/',
    JSON_TYPE,
    Buffer.from(
      JSON.stringify({ api_key: TOKEN, event: 'by hand', properties: { distinct_id: 'me' }, timestamp: iso(60) }),
    ),
    ['by hand'],
  ),
  post(
    'posthog-node 6, gzip',
    '/i/v1/analytics/events',
    v1Headers('posthog-node/6.0.0', 'gzip'),
    gzipSync(v1Batch(v1('signed up', 900, { session_id: 's-1', options: { process_person_profile: false } }))),
    ['signed up'],
  ),
  post(
    'posthog-python 8',
    '/i/v1/analytics/events',
    { ...v1Headers('posthog-python/8.0.0'), 'posthog-request-timestamp': iso(0).replace('Z', '000+00:00') },
    v1Batch(v1('paid', 4), v1('$identify', 5, { properties: { $set: { name: TITLE } } })),
    ['paid', '$identify'],
  ),
  post(
    'posthog-python 8, deflate, of an AI',
    '/i/v1/ai/events',
    v1Headers('posthog-python/8.0.0', 'deflate'),
    deflateSync(v1Batch(v1('$ai_generation', 4))),
    ['$ai_generation'],
  ),
  post(
    'posthog-go 2, brotli',
    '/i/v1/analytics/events',
    v1Headers('posthog-go/2.0.0', 'br'),
    brotliCompressSync(v1Batch(v1('paid', 4))),
    ['paid'],
  ),
  post(
    'posthog-go 2, zstd',
    '/i/v1/analytics/events',
    v1Headers('posthog-go/2.0.0', 'zstd'),
    zstdCompressSync(v1Batch(v1('paid', 4))),
    ['paid'],
  ),
  post(
    'posthog-node 5, of an AI',
    '/i/v0/ai/batch/',
    JSON_TYPE,
    Buffer.from(JSON.stringify({ api_key: TOKEN, batch: [node('$ai_generation', 4, '5.70.0')], sent_at: iso(0) })),
    ['$ai_generation'],
  ),
  {
    sdk: 'a picture in a mail',
    method: 'GET',
    path: '/track',
    query: { data: base64({ event: 'opened', properties: { token: TOKEN, distinct_id: 'reader' } }) },
    headers: {},
    body: Buffer.alloc(0),
    events: ['opened'],
  },
];
