import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  constants as zlib,
  zstdCompressSync,
} from 'node:zlib';
import * as fc from 'fast-check';
import lz from 'lz-string';
import { type CaptureRequest, type Payload, type RefusedPayload, readPayload } from '../../../lib/capture/payload.ts';
import { DECODE_LIMITS } from '../../../lib/capture/undecodable.ts';
import { type PayloadHeaders, payloadHeaders } from '../../../lib/capture/v1.ts';
import { anyText } from '../../support/any-text.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { base64, SDK_REQUESTS, SENT_AT, TOKEN } from '../../support/sdk-requests.ts';

const requestOf = (body: string | Buffer, more: Partial<CaptureRequest> = {}): CaptureRequest => ({
  path: '/e/',
  query: {},
  body: Buffer.from(body),
  ...more,
});
const taken = (answer: Payload | RefusedPayload): Payload => {
  if ('status' in answer) throw new Error(answer.detail);
  return answer;
};
const read = (body: string | Buffer, more: Partial<CaptureRequest> = {}): Payload =>
  taken(readPayload(requestOf(body, more)));
const refusal = (body: string | Buffer, more: Partial<CaptureRequest> = {}): unknown => {
  const answer = readPayload(requestOf(body, more));
  return 'status' in answer ? [answer.status, answer.reason] : answer;
};
/** An event of the project as JSON, with something that old ways of packing could break. */
const event = (more: object = {}): object => ({ event: 'e', token: TOKEN, distinct_id: 'ada', ...more });

describe('what SDKs send', () => {
  /** Those that do not say when they send. */
  const SILENT = ['posthog-python 2', 'curl', 'a picture in a mail'];

  test.each(SDK_REQUESTS)('$sdk arrives whole', ({ sdk, path, query, headers, body, events }) => {
    const payload = read(body, { path, query, ...payloadHeaders(path, headers) });
    expect(payload.token).toBe(TOKEN);
    expect(payload.events.map((one) => (one as { event: unknown }).event)).toEqual(events);
    expect(payload.sentAt).toBe(SILENT.includes(sdk) ? null : SENT_AT * 1000);
  });

  test.each(['lz64', 'gzip-js', 'GZIP', 'base64', 'b64', 'br', ''])(
    'a hint is not believed: compression=%s',
    (compression) => {
      for (const { path, query, headers, body } of SDK_REQUESTS) {
        const about = { path, ...payloadHeaders(path, headers) };
        expect(read(body, { ...about, query: { ...query, compression } })).toEqual(read(body, { ...about, query }));
      }
    },
  );
});

describe('a request that is sent in another way has the same events', () => {
  const encodings: Readonly<Record<string, (text: string) => Buffer | string>> = {
    gzip: (text) => gzipSync(text),
    'gzip of several parts, of which the last is empty': (text) =>
      Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9)), gzipSync('')]),
    base64: (text) => Buffer.from(text).toString('base64'),
    'base64 of gzip': (text) => gzipSync(text).toString('base64'),
    'gzip of base64': (text) => gzipSync(Buffer.from(text).toString('base64')),
    'deflate, with its head': (text) => deflateSync(text),
    zstd: (text) => zstdCompressSync(text),
    lz64: (text) => lz.compressToBase64(text),
    'a form': (text) => new URLSearchParams({ ver: '1', data: text, compression: '' }).toString(),
    'a form of base64 with bare plus signs': (text) => `data=${Buffer.from(text).toString('base64')}`,
    'a form of base64 of gzip': (text) => `data=${encodeURIComponent(gzipSync(text).toString('base64'))}`,
    'a form of lz64': (text) => `ip=1&_=1&data=${encodeURIComponent(lz.compressToBase64(text))}`,
    'base64 of a form of base64': (text) =>
      Buffer.from(`data=${Buffer.from(text).toString('base64')}`).toString('base64'),
    'a byte order mark': (text) => `\ufeff${text}`,
  };
  const batches = fc
    .record({
      batch: fc.array(fc.record({ event: anyText(), properties: fc.object() }), { minLength: 1 }),
      sent: anyText(),
    })
    .map(({ batch, sent }) => JSON.stringify({ api_key: TOKEN, batch, sent_at: sent }));

  test.each(Object.entries(encodings))('%s', (_name, encode) => {
    fc.assert(
      fc.property(batches, fc.constantFrom('/e', '/batch/', '/capture', '/i/v0/e/'), (text, path) => {
        // The mark itself is counted with the rest.
        expect(read(encode(text), { path })).toEqual({ ...read(text, { path }), bytes: expect.any(Number) });
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test.each(Object.entries(encodings))('with all digits of whole numbers: %s', (_name, encode) => {
    const text = `{"event":"e","token":"${TOKEN}","distinct_id":"ada","properties":{"order_id":12345678901234567890}}`;
    expect(JSON.stringify(read(encode(text)).events)).toBe(`[${text}]`);
  });

  test('a form with as many other fields as there is room', () => {
    const text = JSON.stringify(event());
    // A parser whose time goes by the square of their number takes hours.
    expect(read(`ip=1&data=${encodeURIComponent(text)}${'&a'.repeat(5_000_000)}&data=x`)).toEqual(read(text));
  });

  test('in the query', () => {
    const text = JSON.stringify([event({ properties: { title: 'é>>>' } })]);
    for (const data of [text, base64(JSON.parse(text)), base64(JSON.parse(text)).replaceAll('+', ' ')])
      expect(read('', { query: { data } })).toEqual(read(text));
  });

  test('lz-string packs texts of all lengths, as it did for browsers', () => {
    for (const times of [1, 40, 3000, 70_000]) {
      const text = JSON.stringify(event({ properties: { text: `${'ab€\ud800'.repeat(times)}${times}` } }));
      expect(read(lz.compressToBase64(text)).events).toEqual([JSON.parse(text.toWellFormed())]);
    }
  });
});

describe('JSON as Python writes it', () => {
  const properties = (json: string): unknown =>
    (read(`{"event":"e","token":"${TOKEN}","properties":${json}}`).events[0] as { properties: unknown }).properties;

  test('NaN and infinities are null, in texts they stay', () => {
    expect(
      properties('{"a": NaN, "b": [-Infinity,Infinity, NaN], "NaN": "\\\\", "c": "say \\"NaN\\", -Infinity: NaN"}'),
    ).toEqual({
      a: null,
      b: [null, null, null],
      NaN: '\\',
      c: 'say "NaN", -Infinity: NaN',
    });
  });

  test('integers of any size are numbers with all their digits', () => {
    const written = (json: string): string => JSON.stringify(properties(json));
    const kept =
      '{"a":123456789012345678901234567890,"b":[-9007199254740993,{"c":[[9223372036854775807]]}],"__proto__":18446744073709551615,"d":9007199254740992,"e":"say \\"f\\": 12345678901234567890, ,12345678901234567890"}';
    expect(written(kept)).toBe(kept);
    expect(written('{"a": NaN, "b": 12345678901234567890, "c": "\\\\", "d":[1.0 ,\n12345678901234567891]}')).toBe(
      '{"a":null,"b":12345678901234567890,"c":"\\\\","d":[1,12345678901234567891]}',
    );
    expect(
      properties('{"a": 1.0, "b": 1e400, "c": 0.5434027777777778, "d": 12345678901234567890.25, "e": 1e22}'),
    ).toEqual({
      a: 1,
      b: Infinity,
      c: 0.5434027777777778,
      d: 12345678901234567000,
      e: 1e22,
    });
    for (const wrong of ['{"a": 01234567890123456789}', '{"a": 12345678901234567890-1}', '{"a": -}'])
      expect(refusal(`{"event":"e","token":"${TOKEN}","properties":${wrong}}`)).toEqual([400, 'undecodable']);
  });

  test('an integer that is larger than any double is infinite, as one with a power is: no program reads so many digits', () => {
    const digits = (many: number) => '9'.repeat(many);
    const written = JSON.stringify(
      properties(`{"a":${digits(308)},"b":${digits(309)},"c":[-${digits(200_000)}],"d":12345678901234567890}`),
    );
    expect(written).toBe(`{"a":${digits(308)},"b":null,"c":[null],"d":12345678901234567890}`);
  });

  test('an integer keeps its digits wherever it stands, and however long it is', () => {
    const numbers = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.stringMatching(/^\d{0,40}$/));
    const written = numbers.map(([first, more]) => `${first}${more}`);
    fc.assert(
      fc.property(written, fc.boolean(), fc.string({ maxLength: 40 }), (digits, isNegative, text) => {
        const number = `${isNegative ? '-' : ''}${digits}`;
        const given = properties(`{"t":${JSON.stringify(text)},"n":${number},"l":[0.${digits},${number}]}`);
        // What a double writes alike is as JavaScript writes it.
        const found = /"n":([^,]*),/.exec(JSON.stringify(given))?.[1] ?? '';
        expect(found.includes('e') ? String(BigInt(Number(found))) : found).toBe(number);
        expect(given).toMatchObject({ t: text });
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test('a long number in the place of a name is no JSON, as any number there', () => {
    const long = '12345678901234567891';
    for (const properties of [`{"a":0,${long}:1,"n":${long}}`, `{"n":${long},"z":{${long}:{}}}`])
      expect(refusal(`{"event":"e","token":"${TOKEN}","properties":${properties}}`)).toEqual([400, 'undecodable']);
  });

  test('a number of millions of digits is read as soon as any other', () => {
    const digits = '7'.repeat(8_000_000);
    expect(properties(`{"n":${digits}}`)).toEqual({ n: Infinity });
  });

  test('a number that names somebody keeps its digits', () => {
    expect(
      read(
        `{"token":"${TOKEN}","event":"$create_alias","distinct_id": 12345678901234567890,"properties":{"alias":9007199254740993,"$anon_distinct_id":1.0,"distinct_id":7,"text":"\\"alias\\": 12345678901234567890"}}`,
      ).events,
    ).toEqual([
      {
        token: TOKEN,
        event: '$create_alias',
        distinct_id: '12345678901234567890',
        properties: {
          alias: '9007199254740993',
          $anon_distinct_id: '1.0',
          distinct_id: 7,
          text: '"alias": 12345678901234567890',
        },
      },
    ]);
  });

  test('lone surrogates, NUL and bytes that are no UTF-8 are read', () => {
    expect(properties('{"a":"\\ud800","b":"\\u0000"}')).toEqual({ a: '\ud800', b: '\0' });
    const bytes = Buffer.from(`{"event":"e?","token":"${TOKEN}"}`);
    bytes[bytes.indexOf('?')] = 0xff;
    expect(read(bytes).events).toEqual([{ event: 'e\ufffd', token: TOKEN }]);
  });
});

describe('a batch', () => {
  test('says when it was sent; that its events are old is nothing to us', () => {
    const body = JSON.stringify({
      token: TOKEN,
      batch: [event()],
      sent_at: '2026-11-22T12:00:00.5Z',
      historical_migration: true,
    });
    expect(read(body)).toEqual({
      token: TOKEN,
      events: [event()],
      sentAt: (SENT_AT + 500) * 1000,
      bytes: body.length,
    });
    expect(read(JSON.stringify({ api_key: TOKEN, batch: [event()] })).sentAt).toBeNull();
  });

  test.each([
    [{ _: String(SENT_AT) }, SENT_AT * 1000],
    [{ sent_at: String(SENT_AT) }, SENT_AT * 1000],
    [{ _: String(SENT_AT / 1000) }, null],
    [{ _: 'now' }, null],
    [{}, null],
  ])('is sent at what the query %j says', (query, sentAt) => {
    expect(read(JSON.stringify(event()), { query }).sentAt).toBe(sentAt);
  });

  test('what is sent to /engage without a name is an $identify, elsewhere it has none', () => {
    const body = JSON.stringify([{ $token: TOKEN, $distinct_id: 'a', $set: {} }, event()]);
    const names = (path: string): unknown[] =>
      read(body, { path }).events.map((one) => (one as { event?: unknown }).event);
    expect(names('/engage')).toEqual(['$identify', 'e']);
    expect(names('/engage/')).toEqual(['$identify', 'e']);
    expect(names('/e/')).toEqual([undefined, 'e']);
  });

  test('keeps what is no event among its events, for its reason to be told', () => {
    expect(read(JSON.stringify({ api_key: TOKEN, batch: [1, null, event()] })).events).toEqual([1, null, event()]);
  });
});

describe('capture v1', () => {
  const path = '/i/v1/analytics/events';
  const headers: PayloadHeaders = {
    authorization: `Bearer ${TOKEN}`,
    'posthog-sdk-info': 'posthog-go/2.0.0',
    'posthog-request-timestamp': '2026-11-22T13:00:00.5+01:00',
  };
  const of = (batch: unknown): string => JSON.stringify({ created_at: '2026-11-22T11:00:00Z', batch });
  const plain = (text: string): Buffer => Buffer.from(text);
  const SENT = { event: 'e', distinct_id: 'ada', uuid: 'u', timestamp: 't' };
  const eventOf = (sent: unknown): unknown => read(of([sent]), { path, headers }).events[0];

  test('keeps all digits of whole numbers, and takes them for true where an SDK says yes or no', () => {
    const sent = `{"batch":[{"event":"e","distinct_id":"ada","properties":{"id":12345678901234567890},"options":{"cookieless_mode":12345678901234567890}}]}`;
    expect(JSON.stringify(read(gzipSync(sent), { path, headers }).events)).toBe(
      '[{"event":"e","distinct_id":"ada","properties":{"id":12345678901234567890,"$cookieless_mode":true,"$lib":"posthog-go","$lib_version":"2.0.0"}}]',
    );
  });

  test('says in headers whose events they are, which SDK sends them, and when', () => {
    expect(read(of([SENT]), { path, headers })).toMatchObject({
      token: TOKEN,
      sentAt: (SENT_AT + 500) * 1000,
      events: [{ ...SENT, properties: { $lib: 'posthog-go', $lib_version: '2.0.0' } }],
    });
    expect(read(of([SENT]), { path: `${path}/`, headers: { authorization: `bearer  ${TOKEN} ` } })).toMatchObject({
      sentAt: null,
      events: [{ ...SENT, properties: {} }],
    });
  });

  test.each([
    ['posthog/of/somebody/2.3.4', { $lib: 'posthog/of/somebody', $lib_version: '2.3.4' }],
    [' posthog-rs / 1.2 ', { $lib: 'posthog-rs', $lib_version: '1.2' }],
    ['posthog-rs', {}],
    ['posthog-rs/', {}],
    ['/1.0', {}],
    [`posthog-rs/${'9'.repeat(200)}`, {}],
  ])('names its SDK: %s', (info, properties) => {
    expect(read(of([SENT]), { path, headers: { ...headers, 'posthog-sdk-info': info } }).events).toEqual([
      { ...SENT, properties },
    ]);
  });

  test('has beside the properties what is a property everywhere else', () => {
    const options = {
      cookieless_mode: 'TRUE ',
      disable_skew_correction: 1,
      process_person_profile: '0',
      product_tour_id: 'tour',
      another: true,
    };
    const sent = { ...SENT, session_id: 's', window_id: null, options, properties: { $lib: 'mine', $session_id: 'x' } };
    expect(eventOf(sent)).toEqual({
      ...SENT,
      properties: {
        $session_id: 's',
        $cookieless_mode: true,
        $ignore_sent_at: true,
        $process_person_profile: false,
        $product_tour_id: 'tour',
        $lib: 'posthog-go',
        $lib_version: '2.0.0',
      },
    });
    expect(eventOf({ ...SENT, options: { process_person_profile: 'maybe' } })).toMatchObject({
      properties: { $process_person_profile: 'maybe' },
    });
    expect(eventOf({ ...SENT, distinct_id: ' ada\n', options: [] })).toMatchObject({ distinct_id: 'ada' });
    for (const none of [1, null, 'e', { ...SENT, properties: [] }]) expect(eventOf(none)).toEqual(none);
  });

  test.each<[string | undefined, (text: string) => Buffer]>([
    [undefined, plain],
    ['identity', plain],
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    // A header that a proxy has left, or taken away.
    ['gzip', plain],
    ['deflate', plain],
    ['br', plain],
    ['zstd', plain],
    [undefined, gzipSync],
    [undefined, zstdCompressSync],
  ])('is packed as Content-Encoding says: %s', (encoding, pack) => {
    const about = encoding === undefined ? headers : { ...headers, 'content-encoding': encoding };
    expect(read(pack(of([SENT])), { path, headers: about })).toEqual(read(of([SENT]), { path, headers }));
  });

  test('is unpacked from brotli whose first byte is a bracket', () => {
    const body = brotliCompressSync(of([{ ...SENT, properties: { text: 'x'.repeat(100_000) } }]));
    expect(body.toString('latin1', 0, 1)).toBe('[');
    const about = { path, headers: { ...headers, 'content-encoding': 'br' } };
    expect(read(body, about)).toMatchObject({ events: [{ event: 'e' }] });
  });

  test.each<[string, PayloadHeaders, string | Buffer, number, string]>([
    ['no token', { 'content-encoding': 'gzip' }, gzipSync(of([SENT])), 401, 'missing_token'],
    ['a token of another scheme', { authorization: `Basic ${TOKEN}` }, of([SENT]), 401, 'missing_token'],
    ['a personal API key', { authorization: 'Bearer phx_1' }, of([SENT]), 401, 'invalid_token'],
    ['an encoding that is not known', { ...headers, 'content-encoding': 'lz4' }, '', 415, 'unsupported_encoding'],
    ['damaged brotli', { ...headers, 'content-encoding': 'br' }, 'no brotli', 400, 'undecodable'],
    ['damaged zstd', headers, zstdCompressSync(of([SENT])).subarray(0, 40), 400, 'undecodable'],
    ['no batch', headers, JSON.stringify(SENT), 400, 'undecodable'],
    ['an empty batch', headers, of([]), 400, 'empty'],
    ['nothing', headers, '', 400, 'empty'],
  ])('is refused with %s', (_what, about, body, status, reason) => {
    expect(refusal(body, { path, headers: about })).toEqual([status, reason]);
  });

  test.each<[string, Buffer]>([
    ['br', brotliCompressSync(Buffer.alloc(64 * 1024 * 1024, 0x20), { params: { [zlib.BROTLI_PARAM_QUALITY]: 1 } })],
    ['deflate', deflateRawSync(Buffer.alloc(64 * 1024 * 1024, 0x20))],
    ['deflate', deflateSync(Buffer.alloc(64 * 1024 * 1024, 0x20))],
    ['zstd', zstdCompressSync(Buffer.alloc(64 * 1024 * 1024, 0x20))],
  ])('is too large, and takes no memory, as a bomb of %s', (encoding, body) => {
    const limits = { bytes: 3 * 1024 * 1024, values: 5000 };
    const before = process.resourceUsage().maxRSS;
    const about = { path, headers: { ...headers, 'content-encoding': encoding } };
    expect(readPayload(requestOf(body, about), limits)).toMatchObject({ status: 413, reason: 'too_large' });
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(64 * 1024);
  });

  test('of zstd that asks for more memory than what is sent over HTTP may is refused', () => {
    const body = zstdCompressSync(of([SENT]).padEnd(20 * 1024 * 1024), { params: { [zlib.ZSTD_c_windowLog]: 24 } });
    expect(refusal(body, { path, headers })).toEqual([400, 'undecodable']);
  });
});

describe('the token', () => {
  const other = `${TOKEN.slice(0, -1)}_`;
  test.each([
    ['of the batch wins', { api_key: TOKEN, batch: [event({ token: other }), event({ token: 'third' })] }],
    ['of the batch may be called token', { token: TOKEN, batch: [{ event: 'e' }] }],
    ['of an event', event()],
    ['of an event as api_key', { event: 'e', api_key: TOKEN }],
    ['of an event as $token', { event: 'e', $token: TOKEN }],
    ['in properties', { event: 'e', properties: { token: TOKEN } }],
    ['of some events', [event(), { event: 'e' }]],
    ['with white space around it', event({ token: ` ${TOKEN}\n` })],
  ])('%s', (_name, body) => {
    expect(read(JSON.stringify(body)).token).toBe(TOKEN);
  });

  test.each([
    ['several_tokens', [event(), event({ token: other })]],
    ['missing_token', { event: 'e' }],
    ['missing_token', event({ token: '' })],
    ['invalid_token', event({ token: '  ' })],
    ['invalid_token', event({ token: 'x'.repeat(65) })],
    ['invalid_token', event({ token: 'phc_\u0000' })],
    ['invalid_token', event({ token: 'phc_é' })],
    ['invalid_token', event({ token: 7 })],
    ['invalid_token', event({ token: 'phx_secret' })],
    ['invalid_token', { api_key: { a: 1 }, batch: [] }],
  ])('is refused: %s', (reason, body) => {
    expect(refusal(JSON.stringify(body))).toEqual([401, reason]);
  });
});

/** What grows most: brackets, of which each code brings one more than the one before. */
function longestLz64(codes: number): Buffer {
  const bits: number[] = [];
  const write = (code: number, width: number): void => {
    for (let bit = 0; bit < width; bit++) bits.push((code >> bit) & 1);
  };
  write(0, 2);
  write('['.charCodeAt(0), 8);
  for (let entries = 4; entries < codes + 4; entries++) write(entries, Math.floor(Math.log2(entries)) + 1);
  const bytes = Buffer.alloc(Math.ceil(bits.length / 24) * 3);
  for (const [at, bit] of bits.entries()) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (bit << (7 - (at & 7)));
  return Buffer.from(bytes.toString('base64'));
}

describe('a request is refused', () => {
  test.each([
    ['empty', ''],
    ['empty', '  \n'],
    ['empty', 'data='],
    ['empty', JSON.stringify({ api_key: TOKEN, batch: [] })],
    ['undecodable', '[]'],
    ['undecodable', 'true'],
    ['undecodable', '"text"'],
    ['undecodable', '[1,2]'],
    ['undecodable', '{"event":"e"'],
    ['undecodable', '{"event":NaNa}'],
    ['undecodable', Buffer.from([0x1f, 0x8b, 0x08, 0, 1, 2, 3])],
    ['undecodable', gzipSync('{}').subarray(0, 15)],
    ['undecodable', 'N7////////'],
  ])('as %s', (reason, body) => {
    expect(refusal(body)).toEqual([400, reason]);
  });

  test('when it is wrapped too often', () => {
    let body = Buffer.from('{}');
    for (let n = 0; n < 5; n++) body = gzipSync(body);
    expect(refusal(body)).toEqual([400, 'undecodable']);
  });

  const limits = { bytes: 3 * 1024 * 1024, values: 5000 };
  test.each([
    ['gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20))],
    ['lz64', longestLz64(3_000)],
    ['values', gzipSync(`[${'{},'.repeat(500_000)}{}]`)],
    ['depth', gzipSync('['.repeat(2_000_000))],
    ['NaN', gzipSync(`[${'NaN,'.repeat(500_000)}{}]`)],
    ['size', Buffer.alloc(limits.bytes + 1, 0x20)],
  ])('as too large: a bomb of %s', (_name, body) => {
    const answer = readPayload(requestOf(body), limits);
    expect(answer).toMatchObject({ status: 413, reason: 'too_large' });
  });

  test.each([
    ['gzip', Buffer.concat(Array.from({ length: 16 }, () => gzipSync(Buffer.alloc(16 * 1024 * 1024, 0x20))))],
    ['lz64', longestLz64(16_000)],
  ])('before it is unpacked: 256 MB of %s take no memory', (_name, body) => {
    const before = process.resourceUsage().maxRSS;
    expect(readPayload(requestOf(body), limits)).toMatchObject({ status: 413 });
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(64 * 1024);
  });

  test.each([
    [2_400, 200],
    [2_500, 413],
  ])('by its names and values: an event with %i properties is answered with %i', (properties, status) => {
    const many = Object.fromEntries(Array.from({ length: properties }, (_, n) => [`name${n}`, n]));
    const answer = readPayload(requestOf(JSON.stringify(event({ properties: many }))), limits);
    expect('status' in answer ? answer.status : 200).toBe(status);
  });

  test('not for marks within texts', () => {
    const text = JSON.stringify(event({ properties: { text: '[{,:'.repeat(500_000) } }));
    expect(taken(readPayload(requestOf(text), limits)).events).toHaveLength(1);
    expect(DECODE_LIMITS.bytes).toBeGreaterThan(limits.bytes);
  });
});

describe('any bytes', () => {
  const isWhole = (answer: Payload | RefusedPayload): boolean =>
    'status' in answer
      ? [400, 401, 413, 415].includes(answer.status) && answer.detail.trim() !== ''
      : /^[!-~]{1,64}$/.test(answer.token) &&
        answer.events.length > 0 &&
        (answer.sentAt === null || Number.isFinite(answer.sentAt));
  const valid = SDK_REQUESTS.map(({ body }) => body);
  /** A request of an SDK with a few bytes changed, cut off or doubled. */
  const damaged = fc
    .tuple(
      fc.constantFrom(...valid),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
      fc.nat(),
      fc.boolean(),
    )
    .map(([body, changes, end, isCut]) => {
      const bytes = Buffer.from(isCut ? body.subarray(0, end % (body.length + 1)) : body);
      for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
      return bytes;
    });
  const bytes = fc.oneof(
    damaged,
    fc.uint8Array({ maxLength: 600 }).map((one) => Buffer.from(one)),
    fc.uint8Array({ maxLength: 600 }).map((one) => Buffer.from(Buffer.from(one).toString('base64'))),
    fc.uint8Array({ maxLength: 600 }).map((one) => gzipSync(one)),
    fc.uint8Array({ maxLength: 600 }).map((one) => Buffer.from(`N4${Buffer.from(one).toString('base64')}`)),
    fc.json({ maxDepth: 8 }).map((one) => Buffer.from(one)),
    anyText().map((one) => Buffer.from(`data=${one}`)),
  );
  const headers = fc.record(
    {
      authorization: fc.constant(`Bearer ${TOKEN}`),
      'content-encoding': fc.constantFrom('gzip', 'br', 'deflate', 'zstd'),
      'posthog-request-timestamp': anyText(),
      'posthog-sdk-info': anyText(),
    },
    { requiredKeys: ['authorization'] },
  );
  const query = fc.dictionary(fc.constantFrom('data', '_', 'compression', 'ip', 'ver', 'sent_at'), anyText());

  const paths = ['/e', '/engage/', '/batch', '/nowhere', '/i/v1/analytics/events'];

  test('give a payload or a refusal, the same each time', () => {
    fc.assert(
      fc.property(bytes, query, headers, fc.constantFrom(...paths), (body, of, said, path) => {
        const about = { query: of, path, ...payloadHeaders(path, said) };
        const answer = readPayload({ ...about, body });
        expect(readPayload({ ...about, body: Buffer.from(body) })).toEqual(answer);
        expect(isWhole(answer)).toBe(true);
      }),
      { numRuns: propertyRuns(5000) },
    );
  });
});
