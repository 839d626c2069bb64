/** What posthog-node of today sends, read whole. */
import { PostHog, type PostHogOptions } from 'posthog-node';
import { type Payload, readPayload } from '../../../lib/capture/payload.ts';
import { normalizeEvents } from '../../support/capture.ts';
import { onEnd } from '../../support/on-end.ts';
import { startReceiver } from '../../support/receiver.ts';
import { TOKEN } from '../../support/sdk-requests.ts';

const receiver = await startReceiver();
onEnd(() => receiver.close());

/** The payloads that the SDK sends for these calls. */
async function sent(calls: (posthog: PostHog) => void, options: PostHogOptions = {}): Promise<Payload[]> {
  receiver.reset();
  receiver.answer = () => ({ status: 200, body: '{"status":1}' });
  const posthog = new PostHog(TOKEN, { host: receiver.url, flushAt: 100, flushInterval: 0, ...options });
  const errors: unknown[] = [];
  posthog.on('error', (error: unknown) => errors.push(error));
  calls(posthog);
  await posthog.shutdown();
  expect(errors).toEqual([]);
  return receiver.received.map(({ path, bytes }) => {
    const payload = readPayload({ path, query: {}, body: bytes });
    if ('status' in payload) throw new Error(payload.detail);
    return payload;
  });
}

const calls = (posthog: PostHog): void => {
  posthog.capture({
    distinctId: 'ada',
    event: 'paid',
    properties: { amount: 1.5, note: 'é\0€' },
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

test.each([
  ['gzip', {}],
  ['no compression', { disableCompression: true }],
])('every call arrives, with %s', async (_name, options) => {
  const [payload, ...others] = await sent(calls, options);
  expect(others).toEqual([]);
  expect(receiver.received[0]).toMatchObject({ method: 'POST', path: '/batch/' });
  if (payload === undefined) throw new Error('nothing was sent');
  expect(payload).toMatchObject({ token: TOKEN, historicalMigration: false });
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
    $geoip_disable: true,
    $ip: '203.0.113.9',
  });
  expect(JSON.parse(identify?.personChange ?? '')).toEqual({
    set: { name: 'Ada' },
    setOnce: { first: true },
    identify: true,
  });
  expect(JSON.parse(alias?.personChange ?? '')).toEqual({ merge: 'visitor', identify: true });
  expect(JSON.parse(group?.properties ?? '')).toMatchObject({ $group_type: 'company', $group_set: { size: 3 } });
  expect(old?.uuid).toBe('0199aaaa-0000-7000-8000-00000000000a');
  expect(old?.sentTimestamp).toBe(Date.UTC(2020, 0, 2, 3, 4, 5, 678) * 1000);
});

test('a refused batch comes again with the same bytes, and so with the same events', async () => {
  receiver.answer = () => ({ status: 200 });
  const payloads = await sent(
    (posthog) => {
      let n = 0;
      receiver.answer = () => (n++ === 0 ? { status: 503 } : { status: 200, body: '{"status":1}' });
      posthog.capture({ distinctId: 'ada', event: 'paid' });
    },
    { fetchRetryDelay: 1 },
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
