/**
 * The world around a function's process: the rehearsal's clock, and an internet in which every public name leads to
 * this machine. Whether an address may be reached is still decided by the function: it sees a public address first.
 */
import dns from 'node:dns';
import { Socket } from 'node:net';

const systemNow = Date.now.bind(Date);
let offset = 0;
Date.now = () => systemNow() + offset;

/** Sets how far the rehearsal's clock is ahead, in milliseconds. */
export function advanceClock(milliseconds: number): void {
  offset = milliseconds;
}

/** A public address, of a root server of the net; it is never connected to. */
const SOMEWHERE = { address: '198.41.0.4', family: 4 };
const HERE = { address: '127.0.0.1', family: 4 };

type Found = (error: Error | null, found: unknown, family?: number) => void;
type Lookup = (name: string, options: { all?: boolean }, done: Found) => void;

const answering =
  (where: typeof HERE): Lookup =>
  (_name, { all }, done) =>
    all === true ? done(null, [where]) : done(null, where.address, where.family);

dns.lookup = answering(SOMEWHERE) as unknown as typeof dns.lookup;
// What the function asks itself, where only public addresses are allowed.
const { prototype: resolver } = dns.promises.Resolver;
resolver.resolve4 = (async () => [SOMEWHERE.address]) as unknown as typeof resolver.resolve4;
resolver.resolve6 = async () => [];

const isHere = (host: unknown): boolean => host === undefined || host === '127.0.0.1' || host === 'localhost';

/** Looks a name up as the caller wants it, and then connects to this machine. */
// oxlint-disable-next-line typescript/unbound-method -- bound again at each call
const connect = Socket.prototype.connect as (this: Socket, ...given: unknown[]) => Socket;
Socket.prototype.connect = function (this: Socket, ...given: unknown[]): Socket {
  // Internally, node:net hands on a list in a list.
  const [first] = Array.isArray(given[0]) ? given[0] : given;
  if (typeof first === 'object' && first !== null && !isHere((first as { host?: unknown }).host)) {
    const options = first as { lookup?: Lookup };
    const { lookup = answering(SOMEWHERE) } = options;
    options.lookup = (name, how, done) =>
      lookup(name, how, (error, ...found) =>
        error === null ? answering(HERE)(name, how, done) : done(error, ...(found as [unknown])),
      );
  }
  return connect.apply(this, given);
};
