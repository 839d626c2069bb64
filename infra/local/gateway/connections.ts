/** How many connections there may be: each takes a descriptor of a file, of which the inbox, the lake and workers need some. */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { wasLately } from '../../../lib/basics/lately.ts';
import { getOrMake } from '../../../lib/basics/maps.ts';
import { MINUTE_MS } from '../../../lib/basics/units.ts';
import { networkOf } from '../../../lib/http/network.ts';
import type { Log } from '../../../lib/ports/log.ts';

/** Connections at the same time. */
export interface ConnectionLimits {
  readonly all: number;
  /** Of one network that sends to the service itself, not through a proxy. */
  readonly each: number;
}

/** Each takes some ten kilobytes, and more would not be answered in time. */
const MOST = 4_096;

/** Returns the limits for a process that may open so many files: half are for connections, an eighth for those of one network. */
export function connectionLimits(files: number): ConnectionLimits {
  const all = Math.min(MOST, Math.floor(files / 2));
  return { all, each: Math.floor(all / 4) };
}

/** What a process may open where the system does not say: the least that is usual. */
const FILES = 1_024;

/** Returns how many files this process may open at the same time. */
export function mostFiles(): number {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const before = report.excludeNetwork;
  // Else the names of all addresses are looked up.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { readonly userLimits?: { readonly open_files?: { soft?: unknown } } };
  report.excludeNetwork = before;
  const soft = userLimits?.open_files?.soft;
  if (soft === 'unlimited') return Number.MAX_SAFE_INTEGER;
  return typeof soft === 'number' ? soft : FILES;
}

interface BoundOptions {
  readonly limits: ConnectionLimits;
  /** Those who stand before the service are not told apart. */
  readonly proxies: number;
  readonly clock: () => number;
  readonly log: Pick<Log, 'warning'>;
}

/** Closes connections beyond the limits as soon as they are made, and tells of it once a minute. */
export function boundConnections(server: Server, { limits, proxies, clock, log }: BoundOptions): void {
  const open = new Map<string, { connections: number }>();
  let [dropped, toldAt] = [0, Number.NEGATIVE_INFINITY];
  const tell = (address: string | undefined): void => {
    dropped += 1;
    if (wasLately(toldAt, clock(), MINUTE_MS)) return;
    log.warning('closed connections, for there are too many', { connections: dropped, last_of: address ?? null });
    [dropped, toldAt] = [0, clock()];
  };
  server.maxConnections = limits.all;
  server.on('drop', (about) => tell(about?.remoteAddress));
  if (proxies > 0) return;
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    const network = networkOf(remoteAddress ?? null);
    const of = getOrMake(open, network, () => ({ connections: 0 }));
    of.connections += 1;
    socket.once('close', () => {
      of.connections -= 1;
      if (of.connections === 0) open.delete(network);
    });
    if (of.connections <= limits.each) return;
    socket.destroy();
    tell(remoteAddress);
  });
}
