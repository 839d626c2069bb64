import type { IncomingMessage } from 'node:http';
import { addressOf, proxyWatch } from '../../../../infra/local/gateway/sender-address.ts';

/** A request that came over a connection from this address, with what proxies have said. */
const request = (remoteAddress: string, forwardedFor?: string): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: { 'x-forwarded-for': forwardedFor },
    headersDistinct: forwardedFor === undefined ? {} : { 'x-forwarded-for': [forwardedFor] },
  }) as unknown as IncomingMessage;

/** Shows the requests to a watch, and returns what it has said. */
function told(proxies: number, requests: readonly IncomingMessage[]): string[] {
  const lines: string[] = [];
  const watch = proxyWatch(proxies, { warning: (message) => void lines.push(message) });
  for (const one of requests) watch(one);
  return lines;
}

test('a sender is who the last of the proxies says that it served', () => {
  const asked = request('::ffff:127.0.0.1', '203.0.113.7, 198.51.100.9');
  expect([0, 1, 2].map((proxies) => addressOf(asked, proxies))).toEqual(['127.0.0.1', '198.51.100.9', '203.0.113.7']);
});

test('a proxy of which nobody told is told of once: its visitors count as one', () => {
  for (const near of ['127.0.0.1', '::1', '::ffff:172.17.0.1', '10.1.2.3', 'fd00::1']) {
    expect(told(0, [request(near), request(near, '203.0.113.7'), request(near, '203.0.113.8')])).toEqual([
      'a proxy stands before the service, and PROXIES is 0: all who come through it count as one sender; set PROXIES to how many there are',
    ]);
  }
});

test('nothing is told of proxies that are known, nor of strangers who say that they are one', () => {
  expect(told(1, [request('127.0.0.1', '203.0.113.7')])).toEqual([]);
  expect(told(0, [request('203.0.113.7', '203.0.113.8'), request('127.0.0.1')])).toEqual([]);
});
