/** What posthog-node 5.70 sends, by default and with capture v1, in which its next version sends all; read whole. */
import { PostHog, type PostHogOptions } from 'posthog-node';
import { type Payload, readPayload } from '../../../lib/capture/payload.ts';
import { payloadHeaders } from '../../../lib/capture/v1.ts';
import { normalizeEvents } from '../../support/capture.ts';
import { onEnd } from '../../support/on-end.ts';
import { startReceiver } from '../../support/receiver.ts';
import { TOKEN } from '../../support/sdk-requests.ts';

const receiver = await startReceiver();
onEnd(() => receiver.close());
onEnd(() => delete process.env['POSTHOG_CAPTURE_MODE']);

type Mode = 'v0' | 'v1';

/** The payloads that the SDK sends for these calls. */
async function sent(calls: (posthog: PostHog) => void, options: PostHogOptions = {}, mode: Mode = 'v0') {
  receiver.reset();
  receiver.answer = () => ({ status: 200, body: mode === 'v0' ? '{"status":1}' : '{"results":{}}' });
  process.env['POSTHOG_CAPTURE_MODE'] = mode;
  const posthog = new PostHog(TOKEN, { host: receiver.url, flushAt: 100, flushInterval: 0, ...options });
  const errors: unknown[] = [];
  posthog.on('error', (error: unknown) => errors.push(error));
  calls(posthog);
  await posthog.shutdown();
  expect(errors).toEqual([]);
  return receiver.received.map(({ path, headers, bytes }): Payload => {
    const payload = readPayload({ path, query: {}, ...payloadHeaders(path, headers), body: bytes });
    if ('status' in payload) throw new Error(payload.detail);
    return payload;
  });
}

const calls = (posthog: PostHog): void => {
  posthog.capture({
    distinctId: 'ada',
    event: 'paid',
    properties: { amount: 1.5, note: 'é\0€', $session_id: 'session 1' },
    groups: { company: 'x' },
  });
  posthog.identify({ distinctId: 'ada', properties: { name: 'Ada', $set_once: { first: true } } });
  posthog.alias({ distinctId: 'ada', alias: 'visitor' });
  posthog.groupIdentify({ groupType: 'company', groupKey: 'x', properties: { size: 3 } });
  posthog.capture({
    distinctId: 'ada',
    event: 'old',
    timestamp: new Date('2020-01-02T03:04:05.678Z'),
    uuid: '0199aaaa-0000-7000-8000-00000000000a',
    sendFeatureFlags: false,
  });
};

test.each<[Mode, string, PostHogOptions]>([
  ['v0', 'gzip', {}],
  ['v0', 'no compression', { disableCompression: true }],
  ['v1', 'gzip', {}],
  ['v1', 'no compression', { disableCompression: true }],
])('every call arrives, by capture %s with %s', async (mode, _name, options) => {
  const [payload, ...others] = await sent(calls, options, mode);
  expect(others).toEqual([]);
  const path = mode === 'v0' ? '/batch/' : '/i/v1/analytics/events';
  expect(receiver.received[0]).toMatchObject({ method: 'POST', path });
  if (payload === undefined) throw new Error('nothing was sent');
  expect(payload).toMatchObject({ token: TOKEN });
  const now = Date.now();
  expect(Math.abs((payload.sentAt ?? 0) / 1000 - now)).toBeLessThan(60_000);

  const { captured, refused } = normalizeEvents(payload.events, {
    ...payload,
    now,
    request: 'r',
    clientAddress: '203.0.113.9',
  });
  expect(refused).toEqual([]);
  expect(captured.map(({ event, distinctId }) => [event, distinctId])).toEqual([
    ['paid', 'ada'],
    ['$identify', 'ada'],
    ['$create_alias', 'ada'],
    ['$groupidentify', '$company_x'],
    ['old', 'ada'],
  ]);
  const [paid, identify, alias, group, old] = captured;
  expect(JSON.parse(paid?.properties ?? '')).toMatchObject({
    amount: 1.5,
    note: 'é\ufffd€',
    $groups: { company: 'x' },
    $lib: 'posthog-node',
    $lib_version: '5.70.0',
    $session_id: 'session 1',
    $geoip_disable: true,
    $ip: '203.0.113.9',
  });
  expect(JSON.parse(identify?.personChange ?? '')).toEqual({
    set: { name: 'Ada' },
    setOnce: { first: true },
  });
  expect(JSON.parse(alias?.personChange ?? '')).toEqual({ merge: 'visitor' });
  expect(JSON.parse(group?.properties ?? '')).toMatchObject({ $group_type: 'company', $group_set: { size: 3 } });
  expect(old?.uuid).toBe('0199aaaa-0000-7000-8000-00000000000a');
  expect(old?.sentTimestamp).toBe(Date.UTC(2020, 0, 2, 3, 4, 5, 678) * 1000);
});

test.each<[Mode, string]>([
  ['v0', '{"status":1}'],
  ['v1', '{"results":{}}'],
])('a refused batch comes again with the same events, by capture %s', async (mode, body) => {
  const payloads = await sent(
    (posthog) => {
      let n = 0;
      receiver.answer = () => (n++ === 0 ? { status: 503 } : { status: 200, body });
      posthog.capture({ distinctId: 'ada', event: 'paid' });
    },
    { fetchRetryDelay: 1 },
    mode,
  );
  expect(payloads).toHaveLength(2);
  const [first, again] = payloads.map((payload, attempt) =>
    normalizeEvents(payload.events, {
      ...payload,
      now: 1_800_000_000_000 + attempt * 5000,
      request: 'r',
      clientAddress: null,
    }),
  );
  const identity = (answer: typeof first) =>
    answer?.captured.map(({ uuid, event, distinctId, sentTimestamp }) => [uuid, event, distinctId, sentTimestamp]);
  expect(identity(again)).toEqual(identity(first));
  // By the clock of the service it has moved: this is why the timestamp is not part of which event it is.
  expect(again?.captured[0]?.timestamp).not.toBe(first?.captured[0]?.timestamp);
});
