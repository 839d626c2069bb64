import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Passes HTTP requests on to a server. At the n-th it calls `kill.run`, either before the server sees it or after the
 * server has done it, and gives no answer. `requests` are the methods seen.
 */
export async function startKillingProxy(
  target: string,
  kill: { at: number; when: 'before' | 'after'; run: () => void },
): Promise<{ url: string; requests: () => string[]; close: () => Promise<void> }> {
  const seen: string[] = [];
  const server = createServer((incoming, outgoing) => {
    seen.push(incoming.method ?? '');
    const isLast = seen.length === kill.at;
    if (isLast && kill.when === 'before') {
      kill.run();
      return;
    }
    const { method, headers } = incoming;
    const onward = request(new URL(incoming.url ?? '', target), { method, headers }, (answer) => {
      if (!isLast) {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        return;
      }
      answer.resume();
      answer.on('end', kill.run);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => [...seen],
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
