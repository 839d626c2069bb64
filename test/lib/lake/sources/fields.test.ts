import * as fc from 'fast-check';
import { isObject } from '../../../../lib/basics/json.ts';
import type { SourceEvent } from '../../../../lib/lake/sources/event.ts';
import { contentOfJson } from '../../../../lib/lake/sources/fields.ts';
import { anyText } from '../../../support/any-text.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const WHOLE = {
  event: 'signed up',
  distinct_id: 'ada',
  timestamp: '2026-01-02T03:04:05.678901Z',
  properties: { plan: 'free' },
};
const MICROS = Date.UTC(2026, 0, 2, 3, 4, 5) * 1000 + 678_901;

const read = (line: string): SourceEvent => {
  const event = contentOfJson(line);
  if (typeof event === 'string') throw new Error(event);
  return event;
};
const with_ = (change: object): string => JSON.stringify({ ...WHOLE, ...change });

test('an event is read with its fields', () => {
  expect(read(JSON.stringify(WHOLE))).toEqual({
    uuid: null,
    event: 'signed up',
    distinctId: 'ada',
    properties: '{"plan":"free"}',
    timestamp: MICROS,
    created: null,
    personId: null,
    personProperties: null,
    elementsChain: null,
    personChange: null,
  });
});

test('an event as this service exports it is read whole', () => {
  const line = {
    uuid: '0194F1E2-0000-7000-8000-00000000000A',
    ...WHOLE,
    created_at: '2026-01-02T03:04:06.000000Z',
    _inserted_at: '2026-01-02T03:05:00.000000Z',
    elements_chain: 'a.b:text="\u0001"',
    person_id: '0194f1e2-0000-7000-8000-00000000000b',
    person_properties: { name: 'Ada' },
  };
  expect(read(JSON.stringify(line))).toMatchObject({
    uuid: '0194f1e2-0000-7000-8000-00000000000a',
    created: Date.UTC(2026, 0, 2, 3, 4, 6) * 1000,
    personId: '0194f1e2-0000-7000-8000-00000000000b',
    personProperties: '{"name":"Ada"}',
    elementsChain: 'a.b:text="\u0001"',
  });
});

test.each([
  ['2026-01-02T03:04:05.678901Z', MICROS],
  ['2026-01-02 03:04:05.678901', MICROS],
  ['2026-01-02T04:04:05.6789019+01:00', MICROS],
  ['2026-01-01T21:34:05.678901-0530', MICROS],
  ['2026-01-02T03:04Z', Date.UTC(2026, 0, 2, 3, 4) * 1000],
  ['2026-01-02', Date.UTC(2026, 0, 2) * 1000],
  ['20261101', Date.UTC(2026, 10, 1) * 1000],
  // As a number it is of seconds, however much it looks like a day.
  [20_261_101, 20_261_101_000_000],
  ['1969-12-31T23:59:59.999999Z', -1],
  [MICROS / 1e6, MICROS],
  [Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 2) * 1000],
  [MICROS, MICROS],
  [0, 0],
])('timestamp %p', (timestamp, expected) => {
  expect(read(with_({ timestamp })).timestamp).toBe(expected);
});

describe('properties', () => {
  test('may be missing, null, or JSON text', () => {
    expect(read(with_({ properties: undefined })).properties).toBe('{}');
    expect(read(with_({ properties: null })).properties).toBe('{}');
    expect(read(with_({ properties: '{ "a": [1, 2] }' })).properties).toBe('{"a":[1,2]}');
  });

  test('take $set and $set_once in, unless they have their own', () => {
    const event = with_({ $set: { a: 1 }, $set_once: { b: 2 }, properties: { $set: { mine: 1 } } });
    expect(JSON.parse(read(event).properties)).toEqual({ $set: { mine: 1 }, $set_once: { b: 2 } });
  });

  test('may hold the distinct_id', () => {
    expect(read(with_({ distinct_id: undefined, properties: { distinct_id: 'inside' } })).distinctId).toBe('inside');
  });

  test('keep all digits of their numbers', () => {
    const numbers =
      '{"id":1234567890123456789,"huge":1e400,"fine":0.10000000000000000001,"list":[-98765432109876543210]}';
    const line = JSON.stringify(WHOLE).replace('{"plan":"free"}', numbers);
    expect(read(line).properties).toBe(numbers);
    expect(read(with_({ properties: numbers })).properties).toBe(numbers);
  });

  test('may have a number of as many digits as a line has room for', () => {
    // Where each zero is looked at as often as there are zeros behind it, this takes minutes.
    const number = `{"a":1${'0'.repeat(900_000)}1}`;
    expect(read(JSON.stringify(WHOLE).replace('{"plan":"free"}', number)).properties).toBe(number);
  });

  test('have their numbers as JavaScript writes them, where no digit is lost', () => {
    const numbers =
      '{"a":1.0,"b":1e3,"c":[2.50,-1.0E-2,1e21],"d":12345678901234567890.0,"e":10000000000000000000.0,"f":1e-7}';
    const line = JSON.stringify(WHOLE).replace('{"plan":"free"}', numbers);
    expect(read(line).properties).toBe(
      '{"a":1,"b":1000,"c":[2.5,-0.01,1e+21],"d":12345678901234567890.0,"e":10000000000000000000,"f":1e-7}',
    );
  });

  test('keep the sign of a zero that is a float', () => {
    const zeros = '{"a":-0.0,"b":[-0.00,0.0],"c":-0.05,"d":{"e":-0.0}}';
    const line = JSON.stringify(WHOLE).replace('{"plan":"free"}', zeros);
    expect(read(line).properties).toBe(zeros.replace('0.0]', '0]'));
    expect(read(with_({ properties: '{"price":-0.0}' })).properties).toBe('{"price":-0.0}');
  });

  test('may have any key', () => {
    const properties = '{"__proto__":{"x":1},"constructor":"c","toString":null,"hasOwnProperty":1}';
    expect(read(JSON.stringify(WHOLE).replace('{"plan":"free"}', properties)).properties).toBe(properties);
  });

  test('lose what databases refuse', () => {
    const properties = String.raw`{"a":"\u0000\ud800x","b":"\\ud800 \\\\u0000","c":"\ud83d\ude00"}`;
    const line = JSON.stringify(WHOLE).replace('{"plan":"free"}', () => properties);
    expect(JSON.parse(read(line).properties)).toEqual({ a: '\ufffd\ufffdx', b: '\\ud800 \\\\u0000', c: '😀' });
  });
});

test('a distinct_id has up to 400 characters, as at PostHog', () => {
  const longest = '😀'.repeat(400);
  const identify = { event: '$identify', distinct_id: longest, properties: { $anon_distinct_id: longest } };
  expect(read(with_(identify))).toMatchObject({ distinctId: longest, personChange: expect.stringContaining(longest) });
});

test('a number is a distinct_id, with all its digits', () => {
  expect(read(with_({ distinct_id: 42 })).distinctId).toBe('42');
  expect(read('{"event":"e","timestamp":0,"distinct_id":12345678901234567890}').distinctId).toBe(
    '12345678901234567890',
  );
});

test.each([
  ['hello', /^not JSON: /],
  ['[]', /^not a JSON object$/],
  ['null', /^not a JSON object$/],
  ['12345678901234567890', /^not a JSON object$/],
  [with_({ event: undefined }), /^no event$/],
  [with_({ event: ' ' }), /^event is blank$/],
  [with_({ event: 7 }), /^event is not text$/],
  [with_({ event: {} }), /^event is not text$/],
  [with_({ distinct_id: undefined }), /^no distinct_id$/],
  [with_({ distinct_id: '' }), /^no distinct_id$/],
  [with_({ distinct_id: ['a'] }), /^distinct_id is not text$/],
  [with_({ distinct_id: 'x'.repeat(401) }), /^distinct_id has more than 400 characters$/],
  [with_({ distinct_id: undefined, properties: { distinct_id: '☃'.repeat(401) } }), /^distinct_id has more than 400/],
  [
    with_({ event: '$identify', properties: { $anon_distinct_id: 'x'.repeat(401) } }),
    /^the other distinct_id has more than 400 characters$/,
  ],
  [with_({ event: '$create_alias', properties: { alias: 'x'.repeat(401) } }), /^the other distinct_id has more/],
  [
    with_({ event: undefined, distinct_id: 'x'.repeat(401), person_version: 1, person_id: crypto.randomUUID() }),
    /^distinct_id has/,
  ],
  [with_({ timestamp: undefined }), /^no timestamp$/],
  [with_({ timestamp: 'yesterday' }), /^timestamp is not an instant between 1700 and 2199$/],
  [with_({ timestamp: '2026-02-30T00:00:00Z' }), /^timestamp is not an instant/],
  [with_({ timestamp: '20261301' }), /^timestamp is not an instant/],
  [with_({ timestamp: 1e300 }), /^timestamp is not an instant/],
  [with_({ timestamp: {} }), /^timestamp is not an instant/],
  [with_({ uuid: 'x' }), /^uuid is not a UUID$/],
  [with_({ uuid: 5 }), /^uuid is not a UUID$/],
  [with_({ person_id: 'x' }), /^person_id is not a UUID$/],
  [with_({ properties: [] }), /^properties is not an object$/],
  [with_({ properties: '[' }), /^properties: not JSON: /],
  ['{"event":"e","distinct_id":"d","properties":12345678901234567890}', /^properties is not an object$/],
  [with_({ person_properties: 1 }), /^person_properties is not an object$/],
  [with_({ created_at: 'x' }), /^created_at is not an instant/],
])('%s is refused', (line, reason) => {
  expect(contentOfJson(line)).toMatch(reason);
});

test('what is nested too deeply is refused', () => {
  const deep = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
  expect(contentOfJson(JSON.stringify(WHOLE).replace('"free"', deep))).toBe('nested too deeply');
});

test.each(['properties', 'person_properties', '$set'])('%s may have a thousand levels, and not more', (name) => {
  const nested = (levels: number): string =>
    JSON.stringify({ ...WHOLE, [name]: { a: 'A' } }).replace('"A"', '['.repeat(levels) + ']'.repeat(levels));
  expect(typeof contentOfJson(nested(997))).toBe('object');
  expect(contentOfJson(nested(1_001))).toBe('nested too deeply');
});

test('any JSON, and any text, is an event or has a reason', () => {
  const event = fc.record(
    {
      event: fc.oneof(fc.string(), fc.jsonValue()),
      distinct_id: fc.oneof(fc.string(), fc.double(), fc.jsonValue()),
      timestamp: fc.oneof(
        fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
        fc.double(),
        fc.jsonValue(),
      ),
      uuid: fc.oneof(fc.uuid(), fc.jsonValue()),
      properties: fc.oneof(fc.jsonValue(), fc.json(), fc.dictionary(anyText(), fc.jsonValue())),
      $set: fc.jsonValue(),
      person_properties: fc.jsonValue(),
      elements_chain: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const line = fc.oneof(
    anyText(),
    fc.json(),
    event.map((value) => JSON.stringify(value)),
  );
  const everyLine = () =>
    fc.assert(
      fc.property(line, (text) => {
        const found = contentOfJson(text);
        if (typeof found === 'string') return found !== '';
        const isNamed = String(found.event).trim() !== '' && found.distinctId.trim() !== '';
        return isNamed && isObject(JSON.parse(found.properties)) && Number.isSafeInteger(found.timestamp);
      }),
      { numRuns: propertyRuns(3000) },
    );
  expect(everyLine).not.toThrow();
});
