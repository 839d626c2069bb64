/** Whom an address stands for, where senders are told apart by it. */
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IPv4 address that came over IPv6 is IPv4. Whoever has one address of IPv6 has its 64 bits. Nobody knows it: ''. */
export function networkOf(sent: string | null): string {
  // Nearly all are.
  if (sent !== null && isIPv4(sent)) return sent;
  if (sent === null || !ipaddr.isValid(sent)) return sent ?? '';
  const address = ipaddr.process(sent).toString();
  if (!ipaddr.IPv6.isValid(address)) return address;
  return ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString();
}
