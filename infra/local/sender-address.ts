import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

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

const forwardedFor = (request: IncomingMessage): string[] =>
  request.headersDistinct['x-forwarded-for']?.join(',').split(',') ?? [];
