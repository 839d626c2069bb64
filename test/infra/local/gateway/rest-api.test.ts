import { once } from 'node:events';
import { Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { pathMatcher } from '../../../../infra/local/gateway/path-matcher.ts';
import { type Method, REQUEST_LIMITS, type RestApi } from '../../../../infra/local/gateway/rest-api.ts';
import { type GatewayLimits, serveRestApi } from '../../../../infra/local/gateway/server.ts';
import { MINUTE_MS } from '../../../../lib/basics/units.ts';
import { GATEWAY_RESPONSES } from '../../../../lib/http/gateway-responses.ts';
import { testContext } from '../../../support/context.ts';
import { onEnd } from '../../../support/on-end.ts';

const THERE: Method['call'] = () => Promise.resolve({ statusCode: 200, body: '"there"' });

/** A server of one public path, whose answers of its own are their types. */
async function served(call: Method['call'] = THERE, limits: Partial<GatewayLimits> = {}) {
  const { clock, log } = testContext();
  const own = Object.keys(GATEWAY_RESPONSES).map((type) => [
    type,
    { status: 400, headers: {}, template: JSON.stringify(type) },
  ]);
  const api: RestApi = {
    arn: 'arn:aws:execute-api:here:1:api',
    stage: 'dev',
    prefixed: true,
    isBinary: true,
    match: pathMatcher(['/there']),
    methodOf: () => ({ isPublic: true, function: 'there', call }),
    authorizer: () => Promise.reject(new Error('nobody asks')),
    responses: Object.fromEntries(own) as RestApi['responses'],
  };
  const gateway = await serveRestApi(api, { host: '127.0.0.1', port: 0, clock, log, rateLimit: null, limits });
  onEnd(() => gateway.close());
  const fetched = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.address}${path}`, { headers });
  return {
    address: gateway.address,
    close: () => gateway.close(),
    fetched,
    ask: (path: string, headers?: Record<string, string>) => fetched(path, headers).then((answer) => answer.json()),
    /** Sends requests ahead over a connection of their own, and reads nothing. */
    sendAhead: (requests: number, path = '/dev/there') => {
      const { hostname, port } = new URL(gateway.address);
      const socket = connect(Number(port), hostname).pause();
      socket.on('error', () => {});
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(requests));
      return socket;
    },
  };
}

/** More than a system takes in for somebody who does not read. */
const LARGE = 'x'.repeat(16 * 1024 * 1024);

test('a path that is not there is answered as API Gateway does: by whether a key looks like a signature of AWS', async () => {
  const { ask } = await served();
  const key = { Authorization: 'Bearer phx_1' };
  expect(await ask('/dev/there', key)).toBe('there');
  for (const path of ['/dev/nowhere', '/prod/there']) {
    expect(await ask(path)).toBe('MISSING_AUTHENTICATION_TOKEN');
    expect(await ask(path, key)).toBe('INVALID_SIGNATURE');
  }
});

test('of requests that a connection sends ahead one is handled at a time: the next when its answer is taken', async () => {
  const called: string[] = [];
  const { ask, sendAhead } = await served(({ queryStringParameters }) => {
    const by = queryStringParameters?.['by'] ?? '';
    called.push(by);
    return Promise.resolve({ statusCode: 200, body: by === 'ahead' ? LARGE : '"there"' });
  });
  const socket = sendAhead(3, '/dev/there?by=ahead');
  await once(socket, 'readable');
  for (let n = 0; n < 5; n++) expect(await ask('/dev/there?by=another')).toBe('there');
  expect(called.filter((by) => by === 'ahead')).toHaveLength(1);
  let bytes = 0;
  for await (const chunk of socket) if ((bytes += (chunk as Buffer).length) > 3 * LARGE.length) break;
  expect(called.filter((by) => by === 'ahead')).toHaveLength(3);
});

test('what a connection has sent behind a request for its end is not handled', async () => {
  let calls = 0;
  const { sendAhead } = await served(() => {
    calls++;
    return Promise.resolve({ statusCode: 200, headers: { Connection: 'close' }, body: '"there"' });
  });
  await once(sendAhead(3).resume(), 'close');
  expect(calls).toBe(1);
});

test('a connection that sends more than 64 requests ahead is closed', async () => {
  const called = Promise.withResolvers<AbortSignal>();
  const { sendAhead } = await served((_, callerLeft) => {
    called.resolve(callerLeft);
    return new Promise(() => {});
  });
  const enough = sendAhead(65);
  expect((await called.promise).aborted).toBe(false);
  enough.destroy();
  await once(sendAhead(66).resume(), 'close');
});

test('a stop waits for no connection that has sent nothing, or half a head', async () => {
  const cut = jest.spyOn(Server.prototype, 'closeAllConnections');
  onEnd(() => cut.mockRestore());
  const { sendAhead, fetched, close } = await served(undefined, { headMs: MINUTE_MS });
  const [silent, half] = [sendAhead(0), sendAhead(0)];
  half.write('GET /dev/there HTTP/1.1\r\nHost: loc');
  const ends = [silent, half].map((socket) => once(socket.resume(), 'close'));
  // They were there before this one, which is answered.
  await (await fetched('/dev/there')).text();
  await Promise.all([close(), ...ends]);
  expect(cut).not.toHaveBeenCalled();
});

test('answers that nobody takes have a room: who fills it is told to come back, until they are taken', async () => {
  const answers = { each: LARGE.length + 100, all: 2 * LARGE.length, spare: 0 };
  const { fetched, sendAhead } = await served(
    () => Promise.resolve({ statusCode: 200, headers: { 'Content-Type': 'text/plain' }, body: LARGE }),
    { public: { ...REQUEST_LIMITS.public, answers } },
  );
  const socket = sendAhead(1);
  await once(socket, 'readable');
  const refused = await fetched('/dev/there');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await refused.json()).toEqual({
    type: 'server_error',
    code: 'service_unavailable',
    detail: 'Too many large answers wait to be taken.',
    attr: null,
  });
  let bytes = 0;
  for await (const chunk of socket) if ((bytes += (chunk as Buffer).length) > LARGE.length) break;
  const answer = await fetched('/dev/there');
  expect([answer.status, (await answer.text()).length]).toEqual([200, LARGE.length]);
});

test('a connection that ends gives back the room of its answer', async () => {
  const answers = { each: LARGE.length, all: LARGE.length, spare: 0 };
  const { fetched, sendAhead } = await served(() => Promise.resolve({ statusCode: 200, body: LARGE }), {
    public: { ...REQUEST_LIMITS.public, answers },
  });
  for (let n = 0; n < 3; n++) {
    const socket = sendAhead(1);
    await once(socket, 'readable');
    socket.destroy();
    await once(socket, 'close');
  }
  // The server hears of an end after the client: it has heard of it when it has answered.
  await (await fetched('/dev/nowhere')).text();
  const answer = await fetched('/dev/there');
  expect((await answer.text()).length).toBe(LARGE.length);
});

test('a function that fails is a mistake of ours, and no reason to come again as one that could not be begun', async () => {
  const { ask } = await served(() => Promise.reject(new Error('broken')));
  expect(await ask('/dev/there')).toBe('API_CONFIGURATION_ERROR');
});

test('a connection on which nothing was ever sent is closed without a word, for who asks at that moment asks again', async () => {
  const { address } = await served(THERE, { headMs: 50 });
  const { hostname, port } = new URL(address);
  const spoken = async (head: string): Promise<string> => {
    const socket = connect(Number(port), hostname);
    socket.write(head);
    return text(socket);
  };
  expect(await spoken('')).toBe('');
  expect(await spoken('GET /dev/there HTTP/1.1\r\n')).toMatch(/^HTTP\/1\.1 400 /);
});

test('a connection on which no request comes makes room for others, though its other end stays open', async () => {
  const { address, ask } = await served(THERE, { headMs: 50, connections: { all: 1, each: 1 } });
  const { hostname, port } = new URL(address);
  const silent = connect({ host: hostname, port: Number(port), allowHalfOpen: true }).resume();
  onEnd(() => silent.destroy());
  await once(silent, 'end');
  // Until there is room for another.
  while ((await ask('/dev/there').catch(() => undefined)) !== 'there');
  expect(silent.destroyed).toBe(false);
});
