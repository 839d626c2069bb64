import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The fate of a request: it is passed on; refused with 403; never answered; or the connection breaks, either before the
 * server sees the request or after the server has done it.
 */
type Fate = 'passes' | 'is refused' | 'stays open' | 'breaks before' | 'breaks after';

interface HttpProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Passes HTTP requests on to a server, as far as `fateOf` lets it. */
export async function startHttpProxy(target: string, fateOf: (incoming: IncomingMessage) => Fate): Promise<HttpProxy> {
  const server = createServer((incoming, outgoing) => {
    const fate = fateOf(incoming);
    if (fate === 'breaks before') {
      incoming.socket.destroy();
      return;
    }
    if (fate === 'stays open') {
      incoming.resume();
      return;
    }
    if (fate === 'is refused') {
      incoming.resume();
      outgoing.writeHead(403, { 'content-type': 'application/xml' });
      outgoing.end('<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>No.</Message></Error>');
      return;
    }
    const { method, headers } = incoming;
    const onward = request(new URL(incoming.url ?? '', target), { method, headers }, (answer) => {
      if (fate === 'passes') {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        return;
      }
      answer.resume();
      answer.on('end', () => incoming.socket.destroy());
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/**
 * Starts a proxy for a process that dies at its n-th request, either before the server sees it or after the server has
 * done it: `kill.run` is called, and that request and all later ones get no answer. `requests`
 * returns the methods up to the n-th.
 */
export async function startKillingHttpProxy(
  target: string,
  kill: { at: number; when: 'before' | 'after'; run: () => void },
): Promise<HttpProxy & { requests: () => string[] }> {
  const seen: string[] = [];
  const proxy = await startHttpProxy(target, ({ method = '', socket }) => {
    if (seen.length === kill.at) return 'breaks before';
    seen.push(method);
    if (seen.length < kill.at) return 'passes';
    socket.once('close', kill.run);
    return `breaks ${kill.when}`;
  });
  return { ...proxy, requests: () => [...seen] };
}
