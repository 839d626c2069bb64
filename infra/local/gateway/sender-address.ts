import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Log } from '../../../lib/ports/log.ts';

/**
 * Returns the address of who sent a request; null: nobody knows. `proxies` stand before the service, each of which adds
 * whom it serves to `X-Forwarded-For`. An IPv4 address that came over IPv6 is IPv4.
 */
export function addressOf(request: IncomingMessage, proxies: number): string | null {
  const named = proxies === 0 ? undefined : forwardedFor(request).at(-proxies)?.trim();
  const address = named ?? request.socket.remoteAddress;
  if (address === undefined || isIPv4(address)) return address ?? null;
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : null;
}

/**
 * Returns what looks at requests, and warns, once, when one has come through a proxy of the same machine or network and none
 * was told of: all who come through it would have one address.
 */
export function proxyWatch(proxies: number, log: Pick<Log, 'warning'>): (request: IncomingMessage) => void {
  let isOver = proxies > 0;
  return (request) => {
    if (isOver || request.headers['x-forwarded-for'] === undefined || !isNear(request.socket.remoteAddress)) return;
    isOver = true;
    log.warning(
      'a proxy stands before the service, and PROXIES is 0: all who come through it count as one sender; ' +
        'set PROXIES to how many there are',
    );
  };
}

const isNear = (address = ''): boolean =>
  ipaddr.isValid(address) && ['loopback', 'private', 'uniqueLocal'].includes(ipaddr.process(address).range());

const forwardedFor = (request: IncomingMessage): string[] =>
  request.headersDistinct['x-forwarded-for']?.join(',').split(',') ?? [];
