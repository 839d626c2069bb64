/** A door with a certificate of its own in front of a PostgreSQL, which takes TLS off. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';

export interface TlsDoor {
  readonly port: number;
  close(): Promise<void>;
}

/** What is missing to make a certificate; null: nothing. */
export const certificatesLack = (): string | null =>
  spawnSync('openssl', ['version']).status === 0 ? null : 'there is no openssl on the PATH';

/** PEM. */
export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** A certificate that nobody but itself signed, for this machine and the hosts of acme.com. */
export function selfSigned(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  try {
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,DNS:*.acme.com,IP:127.0.0.1'];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    spawnSync('openssl', ['req', '-x509', ...curve, '-nodes', '-keyout', keyFile, '-out', certFile, ...subject]);
    return { key: readFileSync(keyFile), cert: readFileSync(certFile) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opens the door; it says yes to PostgreSQL's request for TLS, and passes on what comes then. */
export async function openTlsDoor(
  behind: { readonly host: string; readonly port: number },
  secret: Certificate = selfSigned(),
): Promise<TlsDoor> {
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
