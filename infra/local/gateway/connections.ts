/** How many connections there may be: each takes a descriptor of a file, of which the inbox, the lake and workers need some. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getOrMake } from '../../../lib/basics/maps.ts';
import { toldAtMost } from '../../../lib/basics/told-at-most.ts';
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

/** So many more are accepted for a moment, which others give way to: what is closed is counted by the system until a little later. */
const SPARE = 64;

/** Connections that count together. */
interface Share {
  readonly open: Set<Socket>;
  /** Those of which no request is under way, the one that has been so for the longest time first. */
  readonly atRest: Set<Socket>;
}

const newShare = (): Share => ({ open: new Set(), atRest: new Set() });

export interface Connections {
  /** Closes those of which no request is under way: they wait for one, or have sent nothing or half a head. Others are closed at their rest. */
  closeAtRest(): void;
}

/**
 * Keeps connections within the limits: for a new one beyond them the one is closed that has been at rest for the longest
 * time, of its network or of all, and where none is, the new one. Tells of it once a minute.
 */
export function boundConnections(server: Server, { limits, proxies, clock, log }: BoundOptions): Connections {
  const all = newShare();
  const networks = new Map<string, Share>();
  let isClosing = false;
  const tell = toldAtMost<string | undefined>({ eachMs: MINUTE_MS, clock }, (connections, address) =>
    log.warning('closed connections, for there are too many', { connections, last_of: address ?? null }),
  );
  const close = (socket: Socket): void => {
    tell(socket.remoteAddress);
    socket.destroy();
  };
  /** What is known of each connection that is open. */
  const known = new Map<Socket, { requests: number; readonly shares: readonly Share[]; readonly leave: () => void }>();
  const isRoomIn = (share: Share, most: number): boolean => {
    if (share.open.size < most) return true;
    const [longest] = share.atRest;
    if (longest === undefined) return false;
    known.get(longest)?.leave();
    close(longest);
    return true;
  };
  server.maxConnections = limits.all + SPARE;
  server.on('drop', (about) => tell(about?.remoteAddress));
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? null);
    const own = proxies > 0 ? undefined : getOrMake(networks, network, newShare);
    const isRoom = (own === undefined || isRoomIn(own, limits.each)) && isRoomIn(all, limits.all);
    if (!isRoom) return close(socket);
    const shares = own === undefined ? [all] : [all, own];
    const leave = (): void => {
      known.delete(socket);
      for (const share of shares) for (const one of [share.open, share.atRest]) one.delete(socket);
      if (own?.open.size === 0 && networks.get(network) === own) networks.delete(network);
    };
    known.set(socket, { requests: 0, shares, leave });
    for (const share of shares) for (const one of [share.open, share.atRest]) one.add(socket);
    socket.once('close', leave);
  });
  const begin = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const connection = known.get(socket);
    if (connection === undefined) return;
    const { shares } = connection;
    connection.requests += 1;
    for (const { atRest } of shares) atRest.delete(socket);
    response.once('close', () => {
      connection.requests -= 1;
      if (connection.requests > 0 || !known.has(socket)) return;
      if (isClosing) socket.end();
      else for (const { atRest } of shares) atRest.add(socket);
    });
  };
  server.on('request', begin).on('checkExpectation', begin);
  return {
    closeAtRest: () => {
      isClosing = true;
      for (const socket of all.atRest) socket.destroy();
    },
  };
}
