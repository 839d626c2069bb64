import * as fc from 'fast-check';
import { isObject } from '../../../../lib/basics/json.ts';
import { accessLogReader } from '../../../../lib/lake/sources/access-log.ts';
import type { SourceEvent } from '../../../../lib/lake/sources/event.ts';
import { anyText } from '../../../support/any-text.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const read = (line: string): SourceEvent => {
  const event = accessLogReader()(line);
  if (typeof event === 'string') throw new Error(event);
  return event;
};
const reasonOf = (line: string): unknown => accessLogReader()(line);
const propertiesOf = (line: string): unknown => JSON.parse(read(line).properties);

const FRONT = '192.0.2.7 - - [17/May/2015:10:05:03 +0000]';
const TIME = Date.UTC(2015, 4, 17, 10, 5, 3) * 1000;
const FULL = `${FRONT} "GET /a?b=1 HTTP/1.1" 200 203023 "http://example.org/x" "Browser/1.0 (Some; Thing)"`;

describe('a whole line', () => {
  test('is a page view with all its fields', () => {
    expect(read(FULL)).toMatchObject({ event: '$pageview', uuid: null, timestamp: TIME, created: null });
    expect(propertiesOf(FULL)).toEqual({
      $current_url: '/a?b=1',
      $pathname: '/a',
      $referrer: 'http://example.org/x',
      $referring_domain: 'example.org',
      $browser_type: 'browser',
      $browser: 'Browser',
      $browser_version: 1,
      $ip: '192.0.2.7',
      $user_agent: 'Browser/1.0 (Some; Thing)',
      method: 'GET',
      protocol: 'HTTP/1.1',
      status: 200,
      bytes: 203023,
    });
  });

  test('belongs to whoever has the same address and agent', () => {
    const id = read(FULL).distinctId;
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(read(FULL.replace('/a?b=1', '/other').replace('10:05:03', '11:00:00')).distinctId).toBe(id);
    expect(read(FULL.replace('192.0.2.7', '192.0.2.8')).distinctId).not.toBe(id);
    expect(read(FULL.replace('Browser/1.0', 'Browser/2.0')).distinctId).not.toBe(id);
  });

  test('knows the address when the virtual host is in front', () => {
    const url = (front: string) => (propertiesOf(`${front} ${FULL}`) as { $current_url: string }).$current_url;
    expect(url('www.example.com:80')).toBe('http://www.example.com/a?b=1');
    expect(url('www.example.com:443')).toBe('https://www.example.com/a?b=1');
    expect(url('www.example.com:8080')).toBe('http://www.example.com:8080/a?b=1');
    expect(propertiesOf(`www.example.com:80 ${FULL}`)).toMatchObject({ $host: 'www.example.com', $ip: '192.0.2.7' });
  });

  test('may be in the common format, and may have more than the combined one', () => {
    expect(propertiesOf(`${FRONT} "GET / HTTP/1.0" 304 -`)).toEqual({
      $current_url: '/',
      $pathname: '/',
      $ip: '192.0.2.7',
      method: 'GET',
      protocol: 'HTTP/1.0',
      status: 304,
    });
    expect(propertiesOf(`${FULL} "203.0.113.9" 0.004`)).toMatchObject({ extra: '"203.0.113.9" 0.004' });
  });
});

test.each([
  ['an IPv6 address', '2001:db8::17 - - ', { $ip: '2001:db8::17' }],
  ['a host name', 'crawler.example.net - - ', { remote_host: 'crawler.example.net' }],
  ['no address', '- - - ', {}],
  ['a user', '192.0.2.7 - ada ', { $ip: '192.0.2.7', user: 'ada' }],
  ['a user with blanks and brackets', '192.0.2.7 - ada [of] x ', { $ip: '192.0.2.7', user: 'ada [of] x' }],
])('who asked: %s', (_what, front, expected) => {
  const time = '[17/May/2015:10:05:03 +0000]';
  expect(propertiesOf(`${front}${time} "-" - - "-" "-"`)).toEqual(expected);
});

const OF_A_PATH = { $pathname: expect.stringMatching(/^\//), $referrer: '$direct', $referring_domain: '$direct' };

test.each([
  ['without a protocol', 'GET /old', { method: 'GET', $current_url: '/old' }],
  ['with blanks in the path', 'GET /a b c HTTP/1.1', { method: 'GET', $current_url: '/a b c', protocol: 'HTTP/1.1' }],
  [
    'to a proxy',
    'GET http://x.example/ HTTP/1.1',
    { method: 'GET', $current_url: 'http://x.example/', protocol: 'HTTP/1.1' },
  ],
  ['of WebDAV', 'VERSION-CONTROL / HTTP/1.1', { method: 'VERSION-CONTROL', $current_url: '/', protocol: 'HTTP/1.1' }],
  [
    'with escaped quotes',
    String.raw`GET /\"a\\b\" HTTP/1.1`,
    { method: 'GET', $current_url: '/"a\\b"', protocol: 'HTTP/1.1' },
  ],
  [
    'with escaped UTF-8',
    String.raw`GET /\xc3\xa4 HTTP/1.1`,
    { method: 'GET', $current_url: '/ä', protocol: 'HTTP/1.1' },
  ],
  [
    'with escaped Latin-1',
    String.raw`GET /\xe4b HTTP/1.1`,
    { method: 'GET', $current_url: '/äb', protocol: 'HTTP/1.1' },
  ],
  [
    'with an escaped NUL',
    String.raw`GET /\x00 HTTP/1.1`,
    { method: 'GET', $current_url: '/\ufffd', protocol: 'HTTP/1.1' },
  ],
  ['that is empty', '', {}],
  ['that is a dash', '-', {}],
  ['of a port scanner', String.raw`\x16\x03\x01\x02`, { request: String.raw`\x16\x03\x01\x02` }],
  ['of a game', 'hello', { request: 'hello' }],
])('a request %s', (_what, request, expected) => {
  expect(propertiesOf(`${FRONT} "${request}" 400 12 "-" "-"`)).toEqual({
    $ip: '192.0.2.7',
    status: 400,
    bytes: 12,
    ...('method' in expected ? OF_A_PATH : {}),
    ...expected,
  });
});

describe('a line whose tail is cut off', () => {
  test('is an event from the time on, with the fields that are there', () => {
    for (let length = FRONT.length; length <= FULL.length; length += 1) {
      const event = read(FULL.slice(0, length));
      expect(event.timestamp).toBe(TIME);
      expect(JSON.parse(event.properties)).toMatchObject({ $ip: '192.0.2.7' });
    }
    expect(propertiesOf(FULL.slice(0, -9))).toMatchObject({ status: 200, $user_agent: 'Browser/1.0 (Some' });
  });

  test('is none before', () => {
    for (let length = 0; length < FRONT.length; length += 1)
      expect(typeof reasonOf(FULL.slice(0, length))).toBe('string');
  });
});

test.each([
  ['with a zone', '17/May/2015:10:05:03 +0530', Date.UTC(2015, 4, 17, 4, 35, 3) * 1000],
  ['west of Greenwich', '17/May/2015:22:05:03 -0330', Date.UTC(2015, 4, 18, 1, 35, 3) * 1000],
  ['with a fraction', '17/May/2015:10:05:03.25 +0000', TIME + 250_000],
  ['in ISO 8601', '2015-05-17T10:05:03+00:00', TIME],
  ['of a leap second', '30/Jun/2015:23:59:60 +0000', Date.UTC(2015, 6, 1) * 1000],
  ['on a leap day', '29/Feb/2016:00:00:00 +0000', Date.UTC(2016, 1, 29) * 1000],
])('a time %s', (_what, time, expected) => {
  expect(read(`192.0.2.7 - - [${time}] "GET / HTTP/1.1" 200 1 "-" "-"`).timestamp).toBe(expected);
});

test.each([
  ['no line of a log', 'hello', 'no time in brackets'],
  [
    'no day of the year',
    '192.0.2.7 - - [29/Feb/2015:00:00:00 +0000] "-"',
    'the time is not a date between 1700 and 2199',
  ],
  [
    'no hour of the day',
    '192.0.2.7 - - [17/May/2015:24:00:00 +0000] "-"',
    'the time is not a date between 1700 and 2199',
  ],
  ['no month', '192.0.2.7 - - [17/Foo/2015:10:00:00 +0000] "-"', 'the time is not a date between 1700 and 2199'],
  ['no year of ours', '192.0.2.7 - - [17/May/0015:10:00:00 +0000] "-"', 'the time is not a date between 1700 and 2199'],
  ['no zone', '192.0.2.7 - - [17/May/2015:10:00:00] "-"', 'the time is not a date between 1700 and 2199'],
  ['nobody before the time', 'x [17/May/2015:10:05:03 +0000] "-"', 'no address, identity and user before the time'],
])('is refused: %s', (_what, line, reason) => {
  expect(reasonOf(line)).toBe(reason);
});

test('any text is an event or has a reason, and an event can be stored everywhere', () => {
  const piece = fc.oneof(
    fc.constantFrom('"', '\\', '\\"', ' ', ' [', ']', '- ', '\\x00', '\\x', '192.0.2.7 - - ', 'GET / HTTP/1.1'),
    fc.constant('[17/May/2015:10:05:03 +0000]'),
    anyText(),
  );
  const reader = accessLogReader();
  const everyLine = () =>
    fc.assert(
      fc.property(
        fc.array(piece).map((pieces) => pieces.join('')),
        (line) => {
          const event = reader(line);
          if (typeof event === 'string') return event !== '';
          const isStorable = !/\\u0000|\\ud[89a-f]/.test(event.properties);
          return isStorable && isObject(JSON.parse(event.properties)) && Number.isSafeInteger(event.timestamp);
        },
      ),
      { numRuns: propertyRuns(3000) },
    );
  expect(everyLine).not.toThrow();
});

test('a megabyte of anything is read in no time', () => {
  const size = 1024 * 1024;
  const began = process.cpuUsage();
  for (const line of [' [', '"', '\\"', '\\', ' ', '[', `${FRONT} "${'\\"'.repeat(10)}`, `${FRONT} `])
    reasonOf(line.repeat(size / line.length));
  // Of processor time, in microseconds.
  expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
});
