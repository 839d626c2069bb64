/** A proxy with a certificate in front of a PostgreSQL, which takes TLS off. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Certificate, selfSigned } from './certificate.ts';

export interface TlsProxy {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a proxy that says yes to PostgreSQL's request for TLS, and passes on what comes then. */
export async function startTlsProxy(
  behind: { readonly host: string; readonly port: number },
  secret: Certificate = selfSigned(),
): Promise<TlsProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', () => {
      socket.write('S');
      const plain = new TLSSocket(socket, { isServer: true, ...secret });
      const onward = connect(behind.port, behind.host);
      plain.on('error', () => onward.destroy());
      onward.on('error', () => plain.destroy());
      plain.pipe(onward).pipe(plain);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
