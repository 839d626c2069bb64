/** A server in this process that answers each request with the bytes that a test says, whatever they are. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export const SWITCH_OF_PROTOCOLS =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

export interface RawServer {
  readonly url: string;
  /** Says what each request is answered with. Resolves when the sender has ended the first connection that was. */
  reply(bytes: string, options?: { readonly keepsOpen?: boolean }): Promise<void>;
  close(): Promise<void>;
}

export async function startRawServer(): Promise<RawServer> {
  const open = new Set<Socket>();
  let answer: (socket: Socket) => void = (socket) => void socket.end();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    socket.once('data', () => answer(socket)).resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reply: (bytes, { keepsOpen = false } = {}) =>
      new Promise((ended) => {
        answer = (socket) => {
          socket.on('close', () => ended());
          if (keepsOpen) socket.write(bytes);
          else socket.end(bytes);
        };
      }),
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
