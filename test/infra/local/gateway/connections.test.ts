import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { boundConnections, connectionLimits, mostFiles } from '../../../../infra/local/gateway/connections.ts';
import { MINUTE_MS } from '../../../../lib/basics/units.ts';
import { testContext } from '../../../support/context.ts';
import { onEnd } from '../../../support/on-end.ts';

/** A server that answers at once, but what asks for `/slow` not at all. */
async function bounded(limits: { all: number; each: number }, proxies = 0) {
  const { clock, log, lines } = testContext();
  const server = createServer(({ url }, response) => {
    if (url === '/slow') response.writeProcessing();
    else response.end('there');
  });
  const connections = boundConnections(server, { limits, proxies, clock, log });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  onEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  /** Whether what is sent on a connection is heard, which stays open. */
  const isHeard = async (socket: Socket, path: string): Promise<boolean> => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const answer = once(socket, 'data').then(
      () => true,
      () => false,
    );
    return Promise.race([answer, once(socket, 'close').then(() => false)]);
  };
  const opened = (localAddress: string): Socket => {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    sockets.push(socket);
    socket.on('error', () => {});
    return socket;
  };
  /** Whether a connection of an address is served, which is at rest then. */
  const isServed = (localAddress: string): Promise<boolean> => isHeard(opened(localAddress), '/');
  /** Whether one is taken, whose request is under way from then on. */
  const isTaken = (localAddress: string): Promise<boolean> => isHeard(opened(localAddress), '/slow');
  const told = () => lines.map(({ fields }) => fields);
  return { clock, server, connections, sockets, opened, isHeard, isServed, isTaken, told };
}

test('an address has so many connections, and others have theirs', async () => {
  const { isTaken, sockets, server, told } = await bounded({ all: 10, each: 2 });
  const taken: boolean[] = [];
  for (let n = 0; n < 4; n += 1) taken.push(await isTaken('127.0.0.1'));
  expect(taken).toEqual([true, true, false, false]);
  expect(await isTaken('127.0.0.2')).toBe(true);
  // One that ends makes room.
  sockets[0]?.destroy();
  const connections = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  while ((await connections()) !== 2) await turn();
  expect(await isTaken('127.0.0.1')).toBe(true);
  expect(told()).toEqual([{ connections: 1, last_of: '127.0.0.1' }]);
});

test('connections beyond those of all are closed, and told of once a minute', async () => {
  const { isTaken, clock, told } = await bounded({ all: 2, each: 2 });
  expect(await isTaken('127.0.0.1')).toBe(true);
  expect(await isTaken('127.0.0.2')).toBe(true);
  for (let n = 0; n < 3; n += 1) expect(await isTaken('127.0.0.3')).toBe(false);
  expect(told()).toEqual([{ connections: 1, last_of: '127.0.0.3' }]);
  clock.advance(MINUTE_MS);
  expect(await isTaken('127.0.0.3')).toBe(false);
  expect(told()[1]).toEqual({ connections: 3, last_of: '127.0.0.3' });
});

test('those that come through a proxy are bounded together alone', async () => {
  const { isTaken } = await bounded({ all: 4, each: 1 }, 1);
  for (let n = 0; n < 4; n += 1) expect(await isTaken('127.0.0.1')).toBe(true);
  expect(await isTaken('127.0.0.1')).toBe(false);
});

test('addresses that only hold their connections shut nobody out: the one longest at rest gives way', async () => {
  const { isServed, isTaken, isHeard, sockets, told } = await bounded({ all: 4, each: 2 });
  for (const address of ['127.0.0.1', '127.0.0.1', '127.0.0.2']) expect(await isServed(address)).toBe(true);
  expect(await isTaken('127.0.0.2')).toBe(true);
  // It asks again, so the second one rests for a longer time.
  expect(await isHeard(sockets[0] as Socket, '/')).toBe(true);
  const given = once(sockets[1] as Socket, 'close');
  expect(await isServed('127.0.0.3')).toBe(true);
  await given;
  expect(told()).toEqual([{ connections: 1, last_of: '127.0.0.1' }]);
  // One beyond those of its address takes the place of another one of it.
  const ownGiven = once(sockets[2] as Socket, 'close');
  expect(await isServed('127.0.0.2')).toBe(true);
  await ownGiven;
  expect([0, 3, 4].map((n) => sockets[n]?.closed)).toEqual([false, false, false]);
});

test('one that has sent nothing, or half a head, gives way, too', async () => {
  const { isServed, opened, server } = await bounded({ all: 2, each: 2 });
  const silent = [opened('127.0.0.1'), opened('127.0.0.1')];
  silent[1]?.write('GET / HTTP/1.1\r\nHost: loc');
  const connections = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  while ((await connections()) !== 2) await turn();
  const given = silent.map((socket) => once(socket, 'close'));
  for (const address of ['127.0.0.2', '127.0.0.3']) expect(await isServed(address)).toBe(true);
  await Promise.all(given);
});

test('one that has another request under way behind the one that was answered gives way to none', async () => {
  const { isServed, opened } = await bounded({ all: 1, each: 1 });
  const busy = opened('127.0.0.1');
  let heard = '';
  busy.on('data', (data) => void (heard += String(data)));
  busy.write(['/', '/slow'].map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  while (!(heard.includes('there') && heard.includes(' 102 '))) await turn();
  expect(await isServed('127.0.0.2')).toBe(false);
  expect(busy.closed).toBe(false);
});

test('connections leave half of the files that the process may open to all else', () => {
  expect(connectionLimits(256)).toEqual({ all: 128, each: 32 });
  expect(connectionLimits(1_024)).toEqual({ all: 512, each: 128 });
  expect(connectionLimits(Number.MAX_SAFE_INTEGER)).toEqual({ all: 4_096, each: 1_024 });
  expect(mostFiles()).toBeGreaterThan(100);
});
