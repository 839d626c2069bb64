import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { boundConnections, connectionLimits, mostFiles } from '../../../../infra/local/gateway/connections.ts';
import { MINUTE_MS } from '../../../../lib/basics/units.ts';
import { testContext } from '../../../support/context.ts';
import { onEnd } from '../../../support/on-end.ts';

async function bounded(limits: { all: number; each: number }, proxies = 0) {
  const { clock, log, lines } = testContext();
  const server = createServer((_, response) => response.end('there'));
  boundConnections(server, { limits, proxies, clock, log });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  onEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  /** Whether a connection of an address is served, which stays open. */
  const isServed = async (localAddress: string): Promise<boolean> => {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const answer = once(socket, 'data').then(
      () => true,
      () => false,
    );
    return Promise.race([answer, once(socket, 'close').then(() => false)]);
  };
  const told = () => lines.map(({ fields }) => fields);
  return { clock, server, sockets, isServed, told };
}

test('an address has so many connections, and others have theirs', async () => {
  const { isServed, sockets, server, told } = await bounded({ all: 10, each: 2 });
  const served: boolean[] = [];
  for (let n = 0; n < 4; n += 1) served.push(await isServed('127.0.0.1'));
  expect(served).toEqual([true, true, false, false]);
  expect(await isServed('127.0.0.2')).toBe(true);
  // One that ends makes room.
  sockets[0]?.destroy();
  const connections = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  while ((await connections()) !== 2) await turn();
  expect(await isServed('127.0.0.1')).toBe(true);
  expect(told()).toEqual([{ connections: 1, last_of: '127.0.0.1' }]);
});

test('connections beyond those of all are closed, and told of once a minute', async () => {
  const { isServed, clock, told } = await bounded({ all: 2, each: 2 });
  expect(await isServed('127.0.0.1')).toBe(true);
  expect(await isServed('127.0.0.2')).toBe(true);
  for (let n = 0; n < 3; n += 1) expect(await isServed('127.0.0.3')).toBe(false);
  expect(told()).toEqual([{ connections: 1, last_of: '127.0.0.3' }]);
  clock.advance(MINUTE_MS);
  expect(await isServed('127.0.0.3')).toBe(false);
  expect(told()[1]).toEqual({ connections: 3, last_of: '127.0.0.3' });
});

test('those that come through a proxy are bounded together alone', async () => {
  const { isServed } = await bounded({ all: 4, each: 1 }, 1);
  for (let n = 0; n < 4; n += 1) expect(await isServed('127.0.0.1')).toBe(true);
  expect(await isServed('127.0.0.1')).toBe(false);
});

test('connections leave half of the files that the process may open to all else', () => {
  expect(connectionLimits(256)).toEqual({ all: 128, each: 32 });
  expect(connectionLimits(1_024)).toEqual({ all: 512, each: 128 });
  expect(connectionLimits(Number.MAX_SAFE_INTEGER)).toEqual({ all: 4_096, each: 1_024 });
  expect(mostFiles()).toBeGreaterThan(100);
});
