import * as fc from 'fast-check';
import {
  type Arrival,
  type CapturedEvent,
  EVENT_REFUSALS,
  type RefusedEvent,
  refusalOf,
} from '../../../lib/capture/normalize.ts';
import { readPayload } from '../../../lib/capture/payload.ts';
import { payloadHeaders } from '../../../lib/capture/v1.ts';
import { LONGEST_ROW, stagedLine } from '../../../lib/lake/import/staging.ts';
import { contentOfJson } from '../../../lib/lake/sources/fields.ts';
import { anyText } from '../../support/any-text.ts';
import { normalizeEvents } from '../../support/capture.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { SDK_REQUESTS, SENT_AT, TOKEN } from '../../support/sdk-requests.ts';

const NOW = Date.UTC(2026, 10, 22, 12, 0, 0);
const ARRIVAL: Arrival = { token: TOKEN, request: 'r', now: NOW, sentAt: null, clientAddress: null };
const UUID = '0199aaaa-0000-7000-8000-00000000000a';
const MINIMAL = { event: 'e', distinct_id: 'ada', uuid: UUID, timestamp: '2026-11-22T11:00:00Z' };

const captured = (event: unknown, arrival: Partial<Arrival> = {}): CapturedEvent => {
  const { captured: events, refused } = normalizeEvents([event], { ...ARRIVAL, ...arrival });
  if (events[0] === undefined) throw new Error(refused[0]?.reason);
  return events[0];
};
/** The events that are not taken, as far as it is looked at them before they are kept. */
const refusalsAtArrival = (events: readonly unknown[], arrival: Arrival): RefusedEvent[] =>
  events.flatMap((event, index) => {
    const refusal = refusalOf(event, arrival);
    return refusal === null ? [] : [{ ...refusal, index }];
  });
const refused = (event: unknown): RefusedEvent | undefined => normalizeEvents([event], ARRIVAL).refused[0];
/** What is captured of an event of which these members are sent, as JSON text. */
const capturedJson = (members: string): CapturedEvent | undefined => {
  const payload = readPayload({
    path: '/e/',
    query: {},
    body: Buffer.from(`{"event":"e","distinct_id":"ada","token":"${TOKEN}",${members}}`),
  });
  if ('status' in payload) throw new Error(payload.detail);
  return normalizeEvents(payload.events, ARRIVAL).captured[0];
};
const propertiesOf = (event: object, arrival: Partial<Arrival> = {}): unknown =>
  JSON.parse(captured({ ...MINIMAL, ...event }, arrival).properties);

test('an event becomes what an import of it gives', () => {
  const event = { ...MINIMAL, properties: { plan: 'free', $set: { name: 'Ada' } } };
  const { sentTimestamp, ...fields } = captured(event);
  expect(fields).toEqual(contentOfJson(JSON.stringify(event)));
  expect(sentTimestamp).toBe(Date.UTC(2026, 10, 22, 11) * 1000);
});

test('nobody is deleted by who knows a token, which is public', () => {
  const $set = { name: 'Ada' };
  expect(captured({ ...MINIMAL, event: '$delete_person', $set })).toMatchObject({
    event: '$delete_person',
    personChange: null,
  });
});

test.each(SDK_REQUESTS)('all events of $sdk are taken', ({ path, query, headers, body }) => {
  const payload = readPayload({ path, query, ...payloadHeaders(path, headers), body });
  if ('status' in payload) throw new Error(payload.detail);
  const { captured: events, refused: bad } = normalizeEvents(payload.events, {
    ...ARRIVAL,
    sentAt: payload.sentAt,
    clientAddress: '203.0.113.9',
  });
  expect(bad).toEqual([]);
  expect(events).toHaveLength(payload.events.length);
  expect(events.map(({ event }) => event)).not.toContain('');
  for (const { properties } of events) expect(JSON.parse(properties)).toMatchObject({ $ip: '203.0.113.9' });
  for (const { timestamp } of events) expect(timestamp).toBeGreaterThan((SENT_AT - 3001) * 1000);
});

describe('an event is refused by name', () => {
  test.each([
    ['not_an_object', 7],
    ['not_an_object', [MINIMAL]],
    ['missing_event_name', { ...MINIMAL, event: undefined }],
    ['missing_event_name', { ...MINIMAL, event: ' ' }],
    ['missing_event_name', { ...MINIMAL, event: 7 }],
    ['missing_distinct_id', { ...MINIMAL, distinct_id: null }],
    ['missing_distinct_id', { ...MINIMAL, distinct_id: ' \n' }],
    ['missing_distinct_id', { ...MINIMAL, distinct_id: '', properties: { distinct_id: 'ada' } }],
    ['invalid_uuid', { ...MINIMAL, uuid: 'x' }],
    ['invalid_uuid', { ...MINIMAL, uuid: 7 }],
    ['invalid_properties', { ...MINIMAL, properties: [] }],
    ['invalid_properties', { ...MINIMAL, properties: '{}' }],
    ['nested_too_deeply', { ...MINIMAL, properties: JSON.parse(`${'{"a":'.repeat(128)}{}${'}'.repeat(128)}`) }],
    ['event_too_big', { ...MINIMAL, properties: { text: 'é'.repeat(500_000) } }],
    ['event_too_big', { ...MINIMAL, properties: { $elements_chain: 'a'.repeat(1_000_000) } }],
  ])('%s', (reason, event) => {
    expect(refused(event)?.reason).toBe(reason);
  });

  test('for what it is nested in, and others keep all digits of their whole numbers', () => {
    const deep = `{"event":"deep","distinct_id":"ada","properties":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    const body = `{"api_key":"${TOKEN}","batch":[${deep},{"event":"e","distinct_id":"ada","properties":{"id":12345678901234567890}}]}`;
    const payload = readPayload({ path: '/batch/', query: {}, body: Buffer.from(body) });
    if ('status' in payload) throw new Error(payload.detail);
    const { captured: events, refused: bad } = normalizeEvents(payload.events, ARRIVAL);
    expect(bad.map(({ reason }) => reason)).toEqual(['nested_too_deeply']);
    expect(events.map(({ properties }) => properties)).toEqual(['{"id":12345678901234567890}']);
  });

  test('and the others are taken', () => {
    const answer = normalizeEvents([MINIMAL, { distinct_id: 'bob' }, { ...MINIMAL, event: 'f' }], ARRIVAL);
    expect(answer.captured.map(({ event }) => event)).toEqual(['e', 'f']);
    expect(answer.refused).toEqual([{ reason: 'missing_event_name', index: 1, event: null, distinctId: 'bob' }]);
  });
});

describe('the distinct_id', () => {
  test.each([
    [{ distinct_id: ' ada ' }, ' ada '],
    [{ distinct_id: undefined, $distinct_id: 'eve' }, 'eve'],
    [{ distinct_id: null, properties: { distinct_id: 'bob' } }, 'bob'],
    [{ properties: { distinct_id: 'bob' } }, 'ada'],
    [{ distinct_id: 23.5 }, '23.5'],
    [{ distinct_id: true }, 'true'],
    [{ distinct_id: ['a', 1] }, '["a",1]'],
    [{ distinct_id: 'a\0b\ud800' }, 'a\ufffdb\ufffd'],
    [{ distinct_id: 'x'.repeat(201) }, 'x'.repeat(200)],
    [{ distinct_id: '🦔'.repeat(201) }, '🦔'.repeat(200)],
    [{ distinct_id: '€'.repeat(200) }, '€'.repeat(200)],
  ])('of %j is %j', (event, distinctId) => {
    expect(captured({ ...MINIMAL, ...event }).distinctId).toBe(distinctId);
  });
});

describe('the uuid', () => {
  const { uuid: _, ...whole } = MINIMAL;
  const bare = { ...whole, timestamp: '2026-11-22T11:00:00.250Z' };
  const uuidOf = (event: unknown, arrival: Partial<Arrival> = {}): string => captured(event, arrival).uuid;

  test.each([
    [UUID.toUpperCase(), UUID],
    [UUID.replaceAll('-', ''), UUID],
    [` ${UUID}`, UUID],
    [`{${UUID.toUpperCase()}}`, UUID],
    [`urn:uuid:${UUID}`, UUID],
    [`URN:UUID:${UUID}`, UUID],
  ])('%s is %s', (uuid, stored) => {
    expect(uuidOf({ ...MINIMAL, uuid })).toBe(stored);
  });

  test('is none that is a number, of any size, or has half of what stands around one', () => {
    expect(() => captured({ ...MINIMAL, uuid: 5 })).toThrow('invalid_uuid');
    for (const uuid of [`{${UUID}`, `${UUID}}`, `uuid:${UUID}`, `urn:uuid:{${UUID}}`])
      expect(() => captured({ ...MINIMAL, uuid })).toThrow('invalid_uuid');
    expect(capturedJson('"uuid":12345678901234567890')).toBeUndefined();
  });

  test('is made of all digits of whole numbers', () => {
    const uuidOf = (id: string) => capturedJson(`"timestamp":"2026-11-22T11:00:00Z","properties":{"id":${id}}`)?.uuid;
    expect(uuidOf('12345678901234567890')).toBe(uuidOf('12345678901234567890'));
    expect(uuidOf('12345678901234567890')).not.toBe(uuidOf('12345678901234567891'));
  });

  test('is made of the content where there is none, so that another attempt is the same event', () => {
    const later = { now: NOW + 5000, sentAt: (NOW + 5000) * 1000, clientAddress: '203.0.113.9' };
    for (const empty of [undefined, null, '']) {
      const event = { ...bare, uuid: empty };
      expect(uuidOf(event)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(uuidOf(event, later)).toBe(uuidOf(event));
    }
  });

  test('is another for another project, name, person, time or property', () => {
    const others = [
      uuidOf(bare),
      uuidOf(bare, { token: 'phc_other' }),
      uuidOf({ ...bare, event: 'f' }),
      uuidOf({ ...bare, distinct_id: 'bob' }),
      uuidOf({ ...bare, timestamp: '2026-11-22T11:00:00.001Z' }),
      uuidOf({ ...bare, properties: { a: 1 } }),
      uuidOf({ ...bare, $set: { a: 1 } }),
    ];
    expect(new Set(others).size).toBe(others.length);
  });

  test('does not depend on when the event was sent, or how long ago it was then', () => {
    expect(uuidOf({ ...bare, sent_at: '2026-11-22T11:00:01Z' })).toBe(uuidOf({ ...bare, sent_at: 'later' }));
    const event = { event: 'e', distinct_id: 'ada', properties: { $insert_id: 'x' } };
    expect(uuidOf({ ...event, offset: 10 })).toBe(uuidOf({ ...event, offset: 5010 }, { now: NOW + 5000 }));
  });

  test('of an event that says no time is that of its request: none is lost because it equals an earlier one', () => {
    const event = { event: 'e', distinct_id: 'ada' };
    expect(uuidOf(event)).toBe(uuidOf(event));
    expect(uuidOf(event, { now: NOW + 1 })).not.toBe(uuidOf(event));
    // A batch that says when it was sent is the same batch however often it comes.
    expect(uuidOf(event, { now: NOW + 1, sentAt: 5 })).toBe(uuidOf(event, { sentAt: 5 }));
  });

  test('of an event that only says how old it is is that of its request, too: age says nothing of which it is', () => {
    const beat = { event: 'heartbeat', distinct_id: 'sensor-7', properties: { ok: true } };
    const one = uuidOf({ ...beat, offset: 600_000 });
    expect(uuidOf({ ...beat, offset: 1_200_000 }, { now: NOW + 3000, request: 'another' })).not.toBe(one);
    expect(uuidOf({ ...beat, offset: 600_000 }, { request: 'another' })).not.toBe(one);
    const batches = [1, 2].map(
      (sentAt) =>
        normalizeEvents(
          [600_000, 1_200_000].map((offset) => ({ ...beat, offset })),
          { ...ARRIVAL, sentAt },
        ).captured,
    );
    expect(new Set(batches.flat().map(({ uuid }) => uuid)).size).toBe(4);
  });

  test.each([
    ['2026-11-22T11:00:00+00:00'],
    ['2026-11-22T11:00:00.000Z'],
    ['2026/11/22 11:00:00'],
    [1_795_345_200],
    ['1795345200000'],
  ])(
    'of an event whose time is a whole second, %j, is that of its request: a second has many equal ones',
    (timestamp) => {
      const event = { ...whole, timestamp };
      expect(uuidOf(event)).toBe(uuidOf(event));
      expect(uuidOf(event, { request: 'another' })).not.toBe(uuidOf(event));
      const batch = { sentAt: NOW * 1000 + 1 };
      expect(uuidOf(event, { ...batch, request: 'another' })).toBe(uuidOf(event, batch));
      // When a batch was sent says no more where it is a whole second, too.
      const sentAt = NOW * 1000;
      expect(uuidOf(event, { sentAt, request: 'another' })).not.toBe(uuidOf(event, { sentAt }));
    },
  );

  test.each([
    [{ messageId: 'm' }, { messageId: 'n' }],
    [{ properties: { $insert_id: 'm' } }, { properties: { $insert_id: 'n' } }],
  ])('of an event that says which it is in another way, %j, is made of that', (one, other) => {
    expect(uuidOf({ ...whole, ...one }, { request: 'another' })).toBe(uuidOf({ ...whole, ...one }));
    expect(uuidOf({ ...whole, ...other })).not.toBe(uuidOf({ ...whole, ...one }));
  });

  test.each(['now', 0, '', {}])('of an event whose timestamp is %j is so too: that is no time', (timestamp) => {
    const event = { event: 'e', distinct_id: 'ada', timestamp };
    expect(uuidOf(event, { now: NOW + 1 })).not.toBe(uuidOf(event));
  });

  test('of equal events of one request differs, in the same way each time', () => {
    for (const event of [bare, whole]) {
      const uuids = (): string[] => normalizeEvents([event, event, event], ARRIVAL).captured.map(({ uuid }) => uuid);
      expect(new Set(uuids()).size).toBe(3);
      expect(uuids()).toEqual(uuids());
    }
    expect(normalizeEvents([MINIMAL, MINIMAL], ARRIVAL).captured.map(({ uuid }) => uuid)).toEqual([UUID, UUID]);
  });
});

describe('time', () => {
  const at = (iso: string): number => Date.parse(iso) * 1000;
  const happened = (event: object, sentAt: string | null = null): string => {
    const { timestamp } = captured(
      { ...MINIMAL, timestamp: undefined, ...event },
      { sentAt: sentAt === null ? null : at(sentAt) },
    );
    return new Date(timestamp / 1000).toISOString();
  };
  const now = new Date(NOW).toISOString();
  const eleven = '2026-11-22T11:00:00.000Z';

  // Two of these are PostHog's own: its fixed clocks.
  test.each([
    [{ timestamp: eleven }, '2026-11-22T12:00:10Z', '2026-11-22T10:59:50.000Z'],
    [{ timestamp: eleven }, '2026-11-22T11:59:50Z', '2026-11-22T11:00:10.000Z'],
    [{ timestamp: eleven }, null, eleven],
    [{ timestamp: eleven, properties: { $ignore_sent_at: true } }, '2026-11-22T12:00:10Z', eleven],
    [
      { timestamp: eleven, properties: { $ignore_sent_at: 'true' } },
      '2026-11-22T12:00:10Z',
      '2026-11-22T10:59:50.000Z',
    ],
    [{ timestamp: '2014-01-01T00:00:00Z' }, '2014-01-01T00:00:01Z', '2026-11-22T11:59:59.000Z'],
    [{ timestamp: '0001-01-01T00:00:00Z' }, '0001-01-01T00:01:00Z', '2026-11-22T11:59:00.000Z'],
    [{ timestamp: '9999-01-01T00:00:00Z' }, '9999-01-01T00:01:00Z', '2026-11-22T11:59:00.000Z'],
    [{ timestamp: eleven, offset: 5000 }, '2026-11-22T12:00:10Z', '2026-11-22T11:59:55.000Z'],
    [{ offset: 1.5 }, null, '2026-11-22T11:59:59.998Z'],
    [{ offset: 'x', timestamp: eleven }, null, eleven],
    [{}, '2026-11-22T12:00:10Z', now],
    [{ timestamp: 'yesterday 1' }, '2026-11-22T12:00:10Z', now],
    [{ timestamp: '' }, null, now],
    [{ timestamp: { a: 1 } }, null, now],
    [{ timestamp: '2026-02-30T00:00:00Z' }, null, now],
    [{ timestamp: '2026-11-23T11:00:00.000Z' }, null, '2026-11-23T11:00:00.000Z'],
    [{ timestamp: '2026-11-23T11:00:00.001Z' }, null, now],
    [{ timestamp: '9999-12-31T23:59:59Z' }, null, now],
    [{ offset: -1e300 }, null, now],
    [{ offset: 1e300 }, null, '1970-01-01T00:00:00.000Z'],
    [{ timestamp: '0001-01-01T00:00:00Z' }, null, '1970-01-01T00:00:00.000Z'],
    [{ timestamp: '-0044-03-15T12:00:00Z' }, '2026-11-22T12:00:10Z', '1970-01-01T00:00:00.000Z'],
    [{ timestamp: '+012026-11-22T11:00:00Z' }, null, '1970-01-01T00:00:00.000Z'],
    [{ timestamp: '12026-11-22' }, null, '1970-01-01T00:00:00.000Z'],
    [{ timestamp: '+002026-11-22T11:00:00Z' }, '2026-11-22T12:00:10Z', now],
    [{ timestamp: '1999-01-01T00:00:00Z' }, null, '1999-01-01T00:00:00.000Z'],
    [{ timestamp: eleven }, '9999-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
  ])('%j sent at %s is %s', (event, sentAt, expected) => {
    expect(happened(event, sentAt)).toBe(expected);
  });

  test.each([
    ['2026-11-22T11:00:00Z', eleven],
    ['2026-11-22T14:00:00+03', eleven],
    ['2026-11-22T14:00:00.000+03:00', eleven],
    ['2026-11-22T05:30:00-0530', eleven],
    ['2026-11-22T11:00:00', eleven],
    ['2026-11-22 11:00:00.000000', eleven],
    ['2026-11-22', '2026-11-22T00:00:00.000Z'],
    ['2026/11/22', '2026-11-22T00:00:00.000Z'],
    ['2026/11/22 11:00', eleven],
    ['11/22/2026', '2026-11-22T00:00:00.000Z'],
    ['11/22/2026 11:00:00', eleven],
    ['Sun, 22 Nov 2026 11:00:00 GMT', eleven],
    ['22 Nov 2026 13:00:00 +0200', eleven],
    ['Sun Nov 22 2026 12:00:00 GMT+0100 (Central European Standard Time)', eleven],
    ['Sun Nov 22 2026 11:00:00 GMT+0000 (Coordinated Universal Time)', eleven],
    ['Nov 22, 2026', '2026-11-22T00:00:00.000Z'],
    ['November 22, 2026 11:00', eleven],
    ['22 September 2026 11:00', '2026-09-22T11:00:00.000Z'],
    ['Nov 22, 2026, 11:00:00 AM', eleven],
    ['11/22/2026, 11:00:00 am', eleven],
    ['11/22/2026, 1:30 PM', '2026-11-22T13:30:00.000Z'],
    ['11/22/2026, 12:30:00 PM', '2026-11-22T12:30:00.000Z'],
    ['11/22/2026, 12:30:00 AM', '2026-11-22T00:30:00.000Z'],
    ['11/22/2026, 1:30:00\u202fPM', '2026-11-22T13:30:00.000Z'],
    ['2026-11-22 13:00:00.5 +0200 EET', '2026-11-22T11:00:00.500Z'],
    ['2026-11-22 11:00:00 +0000 UTC', eleven],
    ['2026-11-22 11:00:00 +0000 UTC m=+12.345678901', eleven],
    ['2026-11-22 08:00:00 -0300 -03', eleven],
    ['2026-11-22 16:30:00 +0530 +0530', eleven],
    ['20261122T110000Z', eleven],
    ['20261122T110000.5+0000', '2026-11-22T11:00:00.500Z'],
    ['2026-1-5', '2026-01-05T00:00:00.000Z'],
    ['2026-1-5 9:07', '2026-01-05T09:07:00.000Z'],
    ['1795345200', eleven],
    ['1795345200000', eleven],
    [1795345200, eleven],
    [1795345200.5, '2026-11-22T11:00:00.500Z'],
    [1795345200000, eleven],
    ['1795345200000000', eleven],
  ])('%s is read as %s', (timestamp, expected) => {
    expect(happened({ timestamp })).toBe(expected);
  });

  test.each([
    '2026-W10-1T10:00:00Z',
    '11/22/2026 13:00 PM',
    '2026-11-22 13:00:00 EET',
    '11/22/2026 0:30 AM',
    'Juno 22, 2026',
    '22.11.2026',
    [1],
    '20261322T110000Z',
  ])('%j is no time', (timestamp) => {
    expect(happened({ timestamp })).toBe(now);
  });

  test('is read of numbers that JavaScript has not', () => {
    expect(capturedJson('"timestamp":1795345200123456789')).toMatchObject({ timestamp: 1795345200123457 });
    expect(capturedJson('"timestamp":12345678901234567890')).toMatchObject({
      timestamp: NOW * 1000,
      sentTimestamp: null,
    });
    expect(capturedJson('"offset":12345678901234567890')).toMatchObject({ timestamp: 0 });
  });

  test('as sent is kept beside it, and does not move with the attempts', () => {
    const attempts = [0, 7000].map((wait) =>
      captured(
        { ...MINIMAL, timestamp: '2026-11-22T11:00:00.000123Z' },
        { now: NOW + wait, sentAt: (NOW + 10) * 1000 },
      ),
    );
    expect(attempts.map(({ sentTimestamp }) => sentTimestamp)).toEqual([at(eleven) + 123, at(eleven) + 123]);
    expect(attempts.map(({ timestamp }) => timestamp - at(eleven))).toEqual([-9877, 6_990_123]);
    expect(captured({ ...MINIMAL, timestamp: 'x' }).sentTimestamp).toBeNull();
  });
});

describe('properties', () => {
  test('take in what stands beside them', () => {
    expect(
      propertiesOf({
        properties: { $set: { a: 1, b: 1 }, plan: 'free' },
        $set: { b: 2 },
        $set_once: { c: 3 },
        $unset: ['d'],
        groups: { company: 'x' },
      }),
    ).toEqual({ $set: { a: 1, b: 2 }, $set_once: { c: 3 }, $unset: ['d'], $groups: { company: 'x' }, plan: 'free' });
    expect(propertiesOf({ properties: { $groups: { a: 'b' } }, groups: { a: 'c' }, $set: 'x' })).toEqual({
      $groups: { a: 'b' },
    });
  });

  test('what is set beside them changes the person', () => {
    const { personChange } = captured({ ...MINIMAL, event: '$identify', $set: { name: 'Ada' }, $set_once: { at: 1 } });
    expect(JSON.parse(personChange ?? '')).toEqual({ set: { name: 'Ada' }, setOnce: { at: 1 } });
  });

  test('have the address of the client, unless the event says otherwise', () => {
    const from = { clientAddress: '203.0.113.9' };
    expect(propertiesOf({}, from)).toEqual({ $ip: '203.0.113.9' });
    expect(propertiesOf({ properties: { $ip: '10.0.0.1' } }, from)).toEqual({ $ip: '10.0.0.1' });
    expect(propertiesOf({ properties: { $ip: null } }, from)).toEqual({ $ip: null });
    expect(propertiesOf({ properties: { capture_internal: true } }, from)).toMatchObject({ $ip: '127.0.0.1' });
    expect(propertiesOf({})).toEqual({});
  });

  test('have numbers as JavaScript writes them, and no name that is special in JavaScript', () => {
    const event = JSON.parse(
      `{"event":"e","distinct_id":"a","properties":{"a":1.0,"b":-0.0,"c":1e21,"d":1e400,"__proto__":{"x":1}}}`,
    );
    expect(captured(event).properties).toBe('{"a":1,"b":0,"c":1e+21,"d":null,"__proto__":{"x":1}}');
  });

  test('have whole numbers with all their digits, wherever these stand', () => {
    const captured = capturedJson(
      `"properties":{"id":12345678901234567890,"list":[9007199254740993],"$set":{"account":-9223372036854775807}},"$unset":12345678901234567890`,
    );
    expect(captured?.properties).toBe(
      '{"id":12345678901234567890,"list":[9007199254740993],"$set":{"account":-9223372036854775807}}',
    );
    expect(captured?.personChange).toContain('"account":-9223372036854775807');
    const elements = '"properties":{"$elements":[{"tag_name":"a","attr__data-id":12345678901234567890}]}';
    expect(capturedJson(elements)?.elementsChain).toContain('attr__data-id="12345678901234567890"');
  });

  test('are text that any database takes', () => {
    expect(propertiesOf({ properties: { a: '\0', b: '\ud800', 'c\0': 1 } })).toEqual({
      a: '\ufffd',
      b: '\ufffd',
      'c\ufffd': 1,
    });
  });

  test('of the event as it was sent are not touched', () => {
    const event = Object.freeze({
      ...MINIMAL,
      $set: Object.freeze({ a: 1 }),
      properties: Object.freeze({ $elements: [], $set: Object.freeze({}) }),
    });
    expect(propertiesOf(event)).toEqual({ $set: { a: 1 } });
  });
});

describe('elements', () => {
  test('become a chain, as PostHog makes it', () => {
    const $elements = [
      {
        tag_name: 'a',
        $el_text: 'say "hi"; now',
        attr__class: 'small  big "x"',
        attr__href: '/a-url',
        attr__id: 'one',
        'attr__data-attr': 'a"b',
        nth_child: 2,
        nth_of_type: 1,
        other: 'x',
      },
      { tag_name: 'button', attr__class: ['b', 'a'] },
      { $el_text: null, attr__x: null, attr__y: { z: 1 } },
      'div',
    ];
    const event = captured({ ...MINIMAL, event: '$autocapture', properties: { $elements, a: 1 } });
    expect(event.elementsChain).toBe(
      String.raw`a.x.big.small:attr__class="small  big \"x\""attr__data-attr="a\"b"attr__href="/a-url"attr__id="one"attr_id="one"href="/a-url"nth-child="2"nth-of-type="1"text="say \"hi\"; now"` +
        String.raw`;button.a.b:attr__class="b,a"nth-child="0"nth-of-type="0"` +
        String.raw`;:attr__y="{\"z\":1}"nth-child="0"nth-of-type="0"`,
    );
    expect(event.properties).toBe('{"a":1}');
  });

  test('that come as a chain stay it, outside of the properties', () => {
    const properties = { $elements_chain: 'a.b:text="x"', $elements: [{ tag_name: 'p' }] };
    expect(captured({ ...MINIMAL, properties })).toMatchObject({ elementsChain: 'a.b:text="x"', properties: '{}' });
    expect(captured({ ...MINIMAL, properties: { $elements: 'x', $elements_chain: 7 } })).toMatchObject({
      elementsChain: null,
      properties: '{}',
    });
  });
});

describe('any JSON value as an event', () => {
  const value = fc.jsonValue({ maxDepth: 4 });
  const events = fc.oneof(
    value,
    fc.record(
      {
        event: fc.oneof(anyText(), value),
        distinct_id: fc.oneof(anyText(), value),
        uuid: fc.oneof(fc.uuid(), value),
        timestamp: fc.oneof(
          fc.date().map(String),
          fc.date({ noInvalidDate: true }).map((date) => date.toJSON()),
          value,
        ),
        offset: value,
        properties: fc.oneof(fc.dictionary(anyText(), value), value),
        $set: value,
        $set_once: value,
        $unset: value,
        groups: value,
      },
      { requiredKeys: ['event', 'distinct_id'] },
    ),
    fc
      .dictionary(
        fc.constantFrom('$elements', '$elements_chain', '$set', '$ip', 'alias', '$ignore_sent_at', 'distinct_id'),
        fc.oneof(
          value,
          fc.array(
            fc.dictionary(fc.constantFrom('tag_name', '$el_text', 'attr__class', 'attr__href', 'nth_child'), value),
          ),
        ),
      )
      .map((properties) => ({ event: '$identify', distinct_id: 'a', properties })),
  );

  test('is taken in a form that the lake holds, or refused by name; another attempt gives the same', () => {
    fc.assert(
      fc.property(fc.array(events), fc.option(fc.integer()), fc.option(fc.ipV4()), (sent, sentAt, clientAddress) => {
        const arrival = { ...ARRIVAL, sentAt, clientAddress };
        const answer = normalizeEvents(sent, arrival);
        expect(normalizeEvents(structuredClone(sent), arrival)).toEqual(answer);
        expect(answer.captured.length + answer.refused.length).toBe(sent.length);
        expect(refusalsAtArrival(sent, arrival)).toEqual(answer.refused);
        for (const { reason } of answer.refused) expect(Object.keys(EVENT_REFUSALS)).toContain(reason);
        for (const event of answer.captured) {
          expect(Number.isSafeInteger(event.timestamp)).toBe(true);
          expect(event.timestamp).toBeLessThanOrEqual((NOW + 23 * 3_600_000) * 1000);
          expect(event.uuid).toMatch(/^[0-9a-f-]{36}$/);
          expect(JSON.parse(event.properties)).toEqual(expect.any(Object));
          for (const text of [
            event.event,
            event.distinctId,
            event.properties,
            event.elementsChain ?? '',
            event.personChange ?? '',
          ]) {
            expect(text.isWellFormed()).toBe(true);
            expect(text).not.toContain('\0');
          }
        }
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test('is found too big when it arrives exactly when it is when it lands', () => {
    const arrival = { ...ARRIVAL, clientAddress: '2001:db8:1111:2222:3333:4444:5555:6666' };
    // As they are sent, and how many bytes of each are stored.
    const fillers: readonly (readonly [filler: unknown, bytes: number])[] = [
      ['x', 1],
      ['\u0001', 6],
      ['\ud800', 6],
      ['é', 2],
      ['🦔', 4],
      ['"', 2],
    ];
    const properties = { empty: {}, list: [1, -1.5e-300], $ip: arrival.clientAddress };
    for (const [filler, bytes] of fillers) {
      for (const name of ['text', '$elements_chain', '$set']) {
        const most = Math.floor(1_000_000 / bytes);
        const reasons = [most - 200, most + 1].map((times) => {
          const text = String(filler).repeat(times);
          const sent = { ...MINIMAL, properties: { ...properties, [name]: name === '$set' ? { text } : text } };
          const at = refusalsAtArrival([sent], arrival);
          expect(at).toEqual(normalizeEvents([sent], arrival).refused);
          return at[0]?.reason;
        });
        expect(reasons).toEqual([undefined, 'event_too_big']);
      }
    }
    for (const numbers of [Array.from({ length: 45_454 }, () => 1e20), Array.from({ length: 45_600 }, () => 1e20)]) {
      const sent = { ...MINIMAL, properties: { numbers } };
      expect(refusalsAtArrival([sent], arrival)).toEqual(normalizeEvents([sent], arrival).refused);
    }
    // An element is 31 bytes of a chain at least.
    for (const elements of [1_000, 40_000]) {
      const sent = { ...MINIMAL, properties: { $elements: Array.from({ length: elements }, () => ({})) } };
      expect(refusalsAtArrival([sent], arrival)).toEqual(normalizeEvents([sent], arrival).refused);
    }
  });

  test('that is taken is not too long for the lake, whatever it is made of', () => {
    const long = 'x'.repeat(2000);
    for (const filler of ['\u0001', '"', 'é', '🦔', 'x']) {
      for (const name of ['$set', '$elements_chain', '$current_url']) {
        // About as large as an event may be.
        const bytes = Buffer.byteLength(JSON.stringify(filler)) - 2;
        const text = filler.repeat(Math.floor((1_000_000 - 60) / bytes));
        const event = captured({
          event: long,
          distinct_id: '\u0001'.repeat(2000),
          properties: name === '$set' ? { $set: { a: text } } : { $set: { plan: 'pro' }, [name]: text },
        });
        const line = stagedLine({ ...event, row: 1e9, file: 1e6, own: true });
        expect(line.length).toBeLessThan(LONGEST_ROW / 3);
      }
    }
  });
});
