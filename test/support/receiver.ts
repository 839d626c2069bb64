/** A server of a customer's, in this process: keeps what it is sent, and answers as a test says. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** A request as it came; `body` is unpacked. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as it came. */
  readonly bytes: Buffer;
}

/** Null: no answer ever. */
export type Reply = { status: number; headers?: Record<string, string>; body?: string } | null;

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Returns the answer to the n-th request (from 1); by default 200 without a body. */
  answer: (request: Received, n: number) => Reply;
  /** Forgets what came, and answers 200 again. */
  reset(): void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const fine = (): Reply => ({ status: 200 });
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const { method = '', url = '', headers } = request;
    const body = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
    const one = { method, path: url, headers, body, bytes };
    received.push(one);
    const reply = receiver.answer(one, received.length);
    if (reply !== null) response.writeHead(reply.status, reply.headers).end(reply.body);
  };
  const server = createServer((request, response) => {
    // A sender that gives up in the middle is no fault of the server's.
    receive(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: fine,
    reset() {
      received.length = 0;
      receiver.answer = fine;
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
