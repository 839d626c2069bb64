/**
 * The way to customers' addresses of a process that may die: every HTTP request, and every statement to a PostgreSQL, is
 * an act of it. Before the act the server has seen nothing; after it the server has done it, and nobody hears the answer.
 * When the process dies, its connections to databases are cut, as its system would.
 */
import { once } from 'node:events';
import { type ClientRequestArgs, createServer, Agent as HttpAgent, type IncomingMessage, request } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { type AddressInfo, connect, createServer as createSocketServer, type Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Outbound } from '../../lib/ports/outbound/outbound.ts';

/** Does something that lasts, unless the process dies before; when it dies with it, the promise is never kept. */
export type Act = <T>(what: string, work: () => Promise<T>) => Promise<T>;

export function killableOutbound(act: Act, died: Promise<void>): Outbound & { close(): void } {
  const entrances: Entrance[] = [];
  let isClosed = false;
  const through = async (server: Server): Promise<Socket> => {
    if (isClosed) throw new Error('the process is gone');
    const entrance = entranceOf(server);
    entrances.push(entrance);
    return entrance.connect();
  };
  return {
    httpAgent: new ReroutingAgent(() => through(forwarder(act))),
    // No server of the tests has a certificate.
    httpsAgent: new HttpsAgent(),
    connect: (host, port) => through(session(act, died, host, port)),
    close() {
      isClosed = true;
      for (const { close } of entrances) close();
    },
  };
}

interface Entrance {
  readonly connect: () => Promise<Socket>;
  readonly close: () => void;
}

/** Returns an entrance to a server of this process, which listens at a free port. */
function entranceOf(server: Server): Entrance {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  const listening = once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    async connect() {
      await listening;
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Leads requests through a server of this process, whatever their address. */
class ReroutingAgent extends HttpAgent {
  readonly #connect: () => Promise<Socket>;

  constructor(connectThrough: () => Promise<Socket>) {
    super({ keepAlive: true });
    this.#connect = connectThrough;
  }

  override createConnection(_options: ClientRequestArgs, done?: (error: Error | null, stream: Duplex) => void) {
    this.#connect().then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, new Socket().destroy()),
    );
    return undefined;
  }
}

/** Passes requests on to where their `Host` says. */
function forwarder(act: Act): Server {
  return createServer((incoming, outgoing) => {
    const pass = async (): Promise<void> => {
      const body = await buffer(incoming);
      const { status, headers, bytes } = await act(`request ${incoming.method}`, () => forward(incoming, body));
      outgoing.writeHead(status, headers).end(bytes);
    };
    pass().catch(() => outgoing.destroy());
  });
}

async function forward({ method, url, headers }: IncomingMessage, body: Buffer) {
  const onward = request(new URL(url ?? '', `http://${headers.host}`), { method, headers, agent: false }).end(body);
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  const { 'transfer-encoding': _, ...own } = answer.headers;
  return { status: answer.statusCode ?? 502, headers: own, bytes: await buffer(answer) };
}

/**
 * Passes one session with a PostgreSQL on. After the login a statement is an act, and so are all rows of a COPY with
 * their end: what is answered by `ReadyForQuery`, or by `CopyInResponse`.
 */
function session(act: Act, died: Promise<void>, host: string, port: number): Server {
  return createSocketServer((client) => {
    const server = connect(port, host);
    let isLoggedIn = false;
    let underWay: ((answer: Buffer) => void) | undefined;
    let answer: Buffer[] = [];
    server.on('data', (data) => {
      if (underWay === undefined) {
        isLoggedIn ||= isReady(data);
        client.write(data);
        return;
      }
      answer.push(data);
      if (!isReady(data) && data[0] !== COPY_IN) return;
      underWay(Buffer.concat(answer));
      [underWay, answer] = [undefined, []];
    });
    client.on('data', (data) => {
      if (!isLoggedIn || underWay !== undefined || data[0] === TERMINATE) {
        server.write(data);
        return;
      }
      const answered = (): Promise<Buffer> =>
        new Promise((done) => {
          underWay = done;
          server.write(data);
        });
      void act('statement', answered).then((bytes) => client.write(bytes));
    });
    for (const [one, other] of [[client, server] as const, [server, client] as const]) {
      one.on('error', () => {}).on('close', () => other.destroy());
    }
    void died.then(() => server.destroy());
  });
}

const [COPY_IN, TERMINATE] = Buffer.from('GX');

/** Returns whether it ends with `ReadyForQuery`: a Z, its length, and the state of the transaction. */
const isReady = (data: Buffer): boolean =>
  data.subarray(-6, -1).equals(Buffer.from([0x5a, 0, 0, 0, 5])) && data.length >= 6;
