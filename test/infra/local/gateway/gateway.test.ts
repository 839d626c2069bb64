import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import * as fc from 'fast-check';
import { startGateway } from '../../../../infra/local/gateway/gateway.ts';
import { probesOf } from '../../../../infra/local/gateway/probes.ts';
import { REQUEST_LIMITS } from '../../../../infra/local/gateway/rest-api.ts';
import { sha256 } from '../../../../lib/accounts/personal-api-keys/lookup.ts';
import { keysOfUser, revokeKey } from '../../../../lib/accounts/personal-api-keys/store.ts';
import type { Compiler, CompileTurn } from '../../../../lib/exports/query/compiler.ts';
import { prometheusMetrics } from '../../../../lib/ports/metrics/prometheus.ts';
import { keys } from '../../../../lib/ports/table/keys.ts';
import type { Table } from '../../../../lib/ports/table/table.ts';
import { testContext } from '../../../support/context.ts';
import { INPUT } from '../../../support/exports.ts';
import { onEnd } from '../../../support/on-end.ts';
import { propertyRuns } from '../../../support/property-runs.ts';
import { countRoundTrips } from '../../../support/round-trips.ts';
import { testService } from '../../../support/service.ts';
import { tableWith } from '../../../support/table-override.ts';

const FIELDS = ['type', 'code', 'detail', 'attr'];
const UNAUTHORIZED = {
  type: 'authentication_error',
  code: 'not_authenticated',
  detail: 'Authentication credentials were not provided or are invalid.',
  attr: null,
};
const NO_ENDPOINT = { type: 'invalid_request', code: 'not_found', detail: 'Endpoint not found.', attr: null };

/** Sends bytes as they are, and reads until the other side closes. */
async function raw(address: string, bytes: string | Buffer): Promise<{ status: number; head: string; body: string }> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body };
}

const get = (target: string, headers: string[] = []) =>
  [`GET ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers, '', ''].join('\r\n');

/** A promise that is kept from outside. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, promise };
}

/** A table whose reads of one organization wait. */
function heldBack(table: Table, id: string, until: Promise<void>): Table {
  const { pk } = keys.organization(id);
  return tableWith(table, {
    get: async (key) => {
      if (key.pk === pk) await until;
      return table.get(key);
    },
  });
}

describe('addresses', () => {
  test('work with and without the slash at the end, not with two', async () => {
    const service = await testService(testContext());
    const path = `/api/organizations/${service.organization.id}`;
    const statuses = [];
    for (const target of [path, `${path}/`, `${path}//`, `/api//organizations`, '/api/organizations//']) {
      statuses.push((await service.call('GET', target)).status);
    }
    expect(statuses).toEqual([200, 200, 404, 404, 404]);
  });

  test.each(['/api', '/api/', '/api/nothing/', '/API/organizations/', '/__proto__/', '/api/constructor'])(
    '%s is no endpoint, and needs no key to say so',
    async (path) => {
      const service = await testService(testContext());
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
        expect(await service.call(method, path, { key: null })).toMatchObject({ status: 404, body: NO_ENDPOINT });
      }
    },
  );

  test('are decoded once', async () => {
    const service = await testService(testContext());
    const statuses = [];
    for (const id of ['%40current', '@current', '%2540current', '%2F', '..%2F..', '%00', '%F0%9F%A6%94']) {
      statuses.push((await service.call('GET', `/api/organizations/${id}/`)).status);
    }
    expect(statuses).toEqual([200, 200, 404, 404, 404, 404, 404]);
  });

  test.each(['/api/organizations/%/', '/api/organizations/%zz/', '/api/organizations/%ff/', '/%'])(
    '%s is malformed',
    async (target) => {
      const service = await testService(testContext());
      const { status, body } = await raw(service.address, get(target));
      expect({ status, body: JSON.parse(body) }).toMatchObject({ status: 400, body: { code: 'parse_error' } });
    },
  );

  test('may be absurd: the answer is always a clean refusal', async () => {
    const { address } = await testService(testContext());
    const odd = fc.string({ unit: fc.constantFrom(...Array.from('/%?#.:;@{}*&=+~ab0')), maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(odd, async (target) => {
        const { status, body } = await raw(address, get(`/api/organizations/${target}`));
        expect(status).toBeGreaterThanOrEqual(400);
        expect(status).toBeLessThan(500);
        expect(Object.keys(JSON.parse(body) as object)).toEqual(FIELDS);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  test('may be absolute, as proxies send them', async () => {
    const service = await testService(testContext());
    const { status } = await raw(
      service.address,
      get(`${service.address}/api/organizations/`, [`Authorization: Bearer ${service.key}`]),
    );
    expect(status).toBe(200);
  });

  test('are the same to the authorizer, absolute or not', async () => {
    const service = await testService(testContext());
    for (const target of [
      `${service.address}/api/organizations/`,
      '/api/organizations/',
      'HTTP://x/api/organizations',
    ]) {
      const answer = await raw(service.address, get(target, [`Authorization: Bearer ${service.key}`]));
      expect([target, answer.status]).toEqual([target, 200]);
    }
    const { body } = await raw(service.address, get('*', [`Authorization: Bearer ${service.key}`]));
    expect(JSON.parse(body)).toEqual(NO_ENDPOINT);
  });

  test('are the same to the authorizer, however many blanks come with the key', async () => {
    const context = testContext();
    const looked: string[] = [];
    const table = tableWith(context.table, {
      get: (key) => {
        looked.push(key.pk);
        return context.table.get(key);
      },
    });
    const service = await testService({ ...context, table });
    const { pk } = keys.personalApiKey(sha256(service.key));
    const uses = () => looked.filter((one) => one === pk).length;
    const before = uses();
    for (const blanks of [' ', '  ', ' \t ', ' '.repeat(5_000)]) {
      const header = `Authorization:${blanks}Bearer${blanks}${service.key}${blanks}`;
      expect((await raw(service.address, get('/api/organizations/', [header]))).status).toBe(200);
    }
    expect(uses() - before).toBe(1);
  });
});

describe('what is not a proper request', () => {
  test('an address that is too long', async () => {
    const { address } = await testService(testContext());
    const { status, body } = await raw(address, get(`/api/organizations/${'x'.repeat(2_000)}/`));
    expect({ status, body: JSON.parse(body) }).toEqual({
      status: 414,
      body: { type: 'invalid_request', code: 'uri_too_long', detail: 'The address is too long.', attr: null },
    });
  });

  test('headers that are too large', async () => {
    const { address } = await testService(testContext());
    const { status, head, body } = await raw(address, get('/api/organizations/', [`X-Big: ${'x'.repeat(20_000)}`]));
    expect({ status, body: JSON.parse(body) }).toMatchObject({ status: 431, body: { code: 'headers_too_large' } });
    expect(head).toContain('X-Request-Id: ');
  });

  test.each([
    ['noise', 'noise\r\n\r\n'],
    ['a method that is none', 'NOISE / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['a header that is none', 'GET / HTTP/1.1\r\nHost: localhost\r\nno header\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a length that is none', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n'],
  ])('%s', async (_, bytes) => {
    const { address } = await testService(testContext());
    const { status, body } = await raw(address, bytes);
    expect({ status, fields: Object.keys(JSON.parse(body) as object) }).toEqual({ status: 400, fields: FIELDS });
  });

  test('no Host: it is answered all the same', async () => {
    const service = await testService(testContext());
    const lines = ['GET /api/organizations/?limit=1 HTTP/1.0', `Authorization: Bearer ${service.key}`, '', ''];
    expect(await raw(service.address, lines.join('\r\n'))).toMatchObject({ status: 200 });
  });

  test('an expectation that nobody can meet is passed over', async () => {
    const service = await testService(testContext());
    const { status } = await raw(
      service.address,
      get('/api/organizations/', ['Expect: miracles', `Authorization: Bearer ${service.key}`]),
    );
    expect(status).toBe(200);
  });
});

describe('keys', () => {
  test('are needed on every known path, whatever the method', async () => {
    const service = await testService(testContext());
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      for (const headers of [{}, { Authorization: '' }, { Authorization: 'Bearer nonsense' }]) {
        const reply = await service.call(method, '/api/organizations/', { key: null, headers });
        expect(reply).toMatchObject({ status: 401, body: UNAUTHORIZED });
        expect(reply.headers.get('content-type')).toBe('application/json');
      }
    }
  });

  test('count only in the header', async () => {
    const service = await testService(testContext());
    const inQuery = await service.call('GET', `/api/organizations/?personal_api_key=${service.key}`, { key: null });
    const body = { personal_api_key: service.key, name: 'Mine' };
    const inBody = await service.call('POST', '/api/organizations/', { key: null, body });
    expect([inQuery.status, inBody.status]).toEqual([401, 401]);
  });

  test('without the scope are told which one is missing', async () => {
    const service = await testService(testContext());
    const key = await service.newKey(service.owner, { scopes: ['organization:read'] });
    expect(await service.call('POST', '/api/organizations/', { key, body: '{' })).toMatchObject({
      status: 403,
      body: {
        type: 'authentication_error',
        code: 'permission_denied',
        detail: "API key missing required scope 'organization:write'",
        attr: null,
      },
    });
  });

  test('are not asked of public rows', async () => {
    const service = await testService(testContext());
    expect((await service.call('GET', '/api/schema/', { key: null })).status).toBe(200);
    expect((await service.call('HEAD', '/api/schema/', { key: null })).status).toBe(200);
    expect((await service.call('POST', '/api/schema/', { key: null, body: {} })).status).toBe(401);
    expect((await service.call('POST', '/api/schema/', { body: {} })).status).toBe(405);
  });

  test('that were revoked live on for at most a minute, by method and route', async () => {
    const context = testContext();
    const service = await testService(context);
    const key = await service.newKey(service.owner);
    const status = async (method: string) => (await service.call(method, '/api/organizations/', { key })).status;
    expect(await status('GET')).toBe(200);
    for (const item of await keysOfUser(context.table, service.owner.uuid))
      await revokeKey(context, item, { ifMatch: undefined });
    expect([await status('GET'), await status('PUT')]).toEqual([200, 401]);
    context.clock.advance(60_000);
    expect(await status('GET')).toBe(401);
  });

  test('cost a round trip when they are not remembered, and none when they are', async () => {
    const context = testContext();
    const table = countRoundTrips(context.table);
    const service = await testService({ ...context, table });
    const trips = async () => {
      table.counted();
      await service.call('GET', '/api/organizations/');
      return table.counted();
    };
    await trips();
    const remembered = await trips();
    context.clock.advance(60_000);
    expect([await trips(), await trips()]).toEqual([remembered + 1, remembered]);
  });

  test('cannot be looked up: that is a mistake of ours, and says nothing', async () => {
    const context = testContext();
    const service = await testService(context);
    const table = tableWith(context.table, { get: () => Promise.reject(new Error('secret: the disk is gone')) });
    const broken = await startGateway({ context: { ...context, table }, host: '127.0.0.1', port: 0 });
    const reply = await fetch(`${broken.address}/api/organizations/`, {
      headers: { Authorization: `Bearer ${service.key}` },
    });
    expect(reply.status).toBe(500);
    expect(await reply.text()).toBe(
      '{"type":"server_error","code":"error","detail":"A server error occurred.","attr":null}',
    );
    expect(context.lines).toContainEqual(
      expect.objectContaining({
        level: 'ERROR',
        fields: expect.objectContaining({ error: new Error('secret: the disk is gone') }),
      }),
    );
    await broken.close();
  });
});

describe('bodies', () => {
  test('over 10 MB are refused by the gateway, over 1 MiB by the function, with one text', async () => {
    const service = await testService(testContext());
    const detail = 'The request body is larger than 1 MiB.';
    for (const size of [1024 * 1024 + 1, 10 * 1024 * 1024 + 1]) {
      const reply = await service.call('POST', '/api/organizations/', { body: 'x'.repeat(size) });
      expect(reply).toMatchObject({ status: 413, body: { code: 'request_too_large', detail } });
    }
  });

  test('in chunks without a length are counted as they come', async () => {
    const service = await testService(testContext(), {
      limits: { keyed: { ...REQUEST_LIMITS.keyed, payloadBytes: 1_000 } },
    });
    const send = (chunk: string) =>
      raw(
        service.address,
        [
          'POST /api/organizations/ HTTP/1.1',
          'Host: localhost',
          `Authorization: Bearer ${service.key}`,
          'Content-Type: application/json',
          'Transfer-Encoding: chunked',
          'Connection: close',
          '',
          chunk.length.toString(16),
          chunk,
          '0',
          '',
          '',
        ].join('\r\n'),
      );
    expect(await send('{"name":"In chunks"}')).toMatchObject({ status: 201 });
    expect(await send(`{"name":"${'x'.repeat(2_000)}"}`)).toMatchObject({ status: 413 });
  });

  test('of strangers have a room of their own: who fills it keeps out bodies of strangers, and nothing else', async () => {
    const bodies = { each: 1_000, all: 1_000, spare: 0 };
    const service = await testService(testContext(), { limits: { public: { ...REQUEST_LIMITS.public, bodies } } });
    const { hostname, port } = new URL(service.address);
    const slow = connect(Number(port), hostname);
    slow.write(`${get('/', ['Content-Length: 1000'])}${'x'.repeat(900)}`);
    // Whose answer comes after these bytes.
    expect((await service.call('POST', '/api/organizations/', { body: { name: 'x'.repeat(60) } })).status).toBe(201);
    const stranger = () => raw(service.address, `${get('/', ['Content-Length: 200'])}${'x'.repeat(200)}`);
    const refused = await stranger();
    expect(refused).toMatchObject({ status: 503, head: expect.stringContaining('Retry-After: 5') });
    expect(JSON.parse(refused.body)).toEqual({
      type: 'server_error',
      code: 'service_unavailable',
      detail: 'Too many large requests are coming in.',
      attr: null,
    });
    expect((await service.call('GET', '/', { key: null })).status).toBe(200);
    slow.resume().write('x'.repeat(100));
    await once(slow, 'close');
    expect((await stranger()).status).toBe(200);
  });

  test('of strangers have 1 MiB at most, of callers as much as the gateway takes', async () => {
    const service = await testService(testContext());
    const body = 'x'.repeat(1024 * 1024 + 1);
    const reply = await service.call('POST', `/shared/${'x'.repeat(30)}`, { key: null, body });
    expect(reply).toMatchObject({ status: 413, body: { code: 'request_too_large' } });
  });

  test('of strangers are no larger than a password needs', async () => {
    const service = await testService(testContext());
    const path = `/shared/${'x'.repeat(30)}`;
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const ask = (characters: number) =>
      service.call('POST', path, { key: null, headers, body: `password=${'x'.repeat(characters)}` });
    expect((await ask(500)).status).toBe(404);
    expect(await ask(16 * 1024)).toMatchObject({
      status: 413,
      body: {
        code: 'request_too_large',
        detail: 'The request body is larger than 16 KiB, which is enough without a key.',
      },
    });
  });

  test('of a caller who fills their room are refused, and not those of another', async () => {
    const bodies = { each: 1_000, all: 10_000, spare: 0 };
    const service = await testService(testContext(), { limits: { keyed: { ...REQUEST_LIMITS.keyed, bodies } } });
    const large = { body: { name: 'Large', more: 'x'.repeat(1_000) } };
    expect(await service.call('POST', '/api/organizations/', large)).toMatchObject({ status: 503 });
    const other = await service.newKey(await service.newUser(), { scopes: ['*'] });
    const small = { body: { name: 'Small' }, key: other };
    expect(await service.call('POST', '/api/organizations/', small)).toMatchObject({ status: 201 });
    expect(await service.call('POST', '/api/organizations/', { body: { name: 'Small' } })).toMatchObject({
      status: 201,
    });
  });

  test('that are not UTF-8 are refused as what they are', async () => {
    const service = await testService(testContext());
    const reply = await fetch(`${service.address}/api/organizations/`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.key}`, 'Content-Type': 'application/json' },
      body: Buffer.from('7b226e616d65223a22ff227d', 'hex'),
    });
    expect({ status: reply.status, body: await reply.json() }).toMatchObject({
      status: 400,
      body: { code: 'parse_error', detail: 'The request body is not valid UTF-8.' },
    });
  });

  test('that end too early reach nobody', async () => {
    const context = testContext();
    const service = await testService(context);
    const { hostname, port } = new URL(service.address);
    const socket = connect(Number(port), hostname);
    const head = ['POST /api/organizations/ HTTP/1.1', 'Host: a', `Authorization: Bearer ${service.key}`];
    socket.resume().end([...head, 'Content-Length: 100', '', '{"name":"Half"}'].join('\r\n'));
    await once(socket, 'close');
    expect((await service.call('GET', '/api/organizations/')).body).toMatchObject({ count: 1 });
  });
});

describe('queries', () => {
  test('are decoded; of repeated names all are kept, and the last one counts', async () => {
    const service = await testService(testContext());
    for (let n = 0; n < 3; n++) await service.call('POST', '/api/organizations/', { body: { name: 'More' } });
    const { body } = await service.call('GET', '/api/organizations/?x=a+b&x=%C3%A9&limit=9&limit=%31&%6Fffset=0');
    expect(body).toMatchObject({
      count: 4,
      next: `${service.address}/api/organizations/?limit=1&offset=1&x=a+b&x=%C3%A9`,
    });
  });

  test('that are malformed fall back, as bad values of limit and offset do', async () => {
    const service = await testService(testContext());
    for (const query of ['limit=%', '%', '&&&', '=', 'limit=%ff', '__proto__=1&constructor=2', 'a'.repeat(5_000)]) {
      expect((await service.call('GET', `/api/organizations/?${query}`)).status).toBe(200);
    }
  });
});

describe('answers', () => {
  test('carry a request id of their own, refusals too', async () => {
    const service = await testService(testContext());
    const ids = [];
    for (const [path, key] of [
      ['/api/organizations/', service.key],
      ['/api/organizations/', 'x1'],
      ['/nothing', null],
    ] as const) {
      ids.push((await service.call('GET', path, { key })).headers.get('x-request-id'));
    }
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('of one connection come one after the other', async () => {
    const service = await testService(testContext());
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    for (let n = 0; n < 3; n++) {
      const request = httpRequest(`${service.address}/api/organizations/`, {
        agent,
        headers: { Authorization: `Bearer ${service.key}` },
      }).end();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      ports.add(request.socket?.localPort);
      response.resume();
      await once(response, 'end');
    }
    expect(ports.size).toBe(1);
    agent.destroy();
  });

  test('are given on a connection that outlives the pauses of proxies before them', async () => {
    const service = await testService(testContext());
    const kept = get('/api/organizations/').replace('Connection: close', 'Connection: keep-alive');
    const { head } = await raw(service.address, kept + get('/api/organizations/'));
    // Caddy keeps one for 120 seconds, nginx and load balancers of AWS for 60.
    expect(head).toContain('Keep-Alive: timeout=130');
  });

  test('that nobody takes end with their connection', async () => {
    const service = await testService(testContext(), { limits: { idleMs: 50 } });
    const { hostname, port } = new URL(service.address);
    const accepted = Promise.withResolvers<Socket>();
    const accept = (message: unknown): void => accepted.resolve((message as { socket: Socket }).socket);
    subscribe('net.server.socket', accept);
    const socket = connect(Number(port), hostname).pause();
    // More than a system takes in for somebody who does not read.
    socket.write('GET /api/schema/ HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(40));
    const [hadError] = await once(await accepted.promise, 'close');
    expect(hadError).toBe(false);
    unsubscribe('net.server.socket', accept);
    socket.destroy();
  });

  test('to HEAD have no body', async () => {
    const service = await testService(testContext());
    const { status, body } = await raw(
      service.address,
      get('/api/organizations/', [`Authorization: Bearer ${service.key}`]).replace('GET', 'HEAD'),
    );
    expect({ status, body }).toEqual({ status: 200, body: '' });
  });

  test('that take too long are a 504, and the next request is answered', async () => {
    const context = testContext();
    const { open, promise } = gate();
    const service = await testService(context);
    const table = heldBack(context.table, service.organization.id, promise);
    const limits = { timeoutMs: 100 };
    const slow = await startGateway({ context: { ...context, table }, host: '127.0.0.1', port: 0, limits });
    const headers = { Authorization: `Bearer ${service.key}` };
    const late = await fetch(`${slow.address}/api/organizations/${service.organization.id}/`, { headers });
    expect({ status: late.status, body: await late.json() }).toEqual({
      status: 504,
      body: { type: 'server_error', code: 'error', detail: 'The request took too long.', attr: null },
    });
    expect((await fetch(`${slow.address}/api/organizations/`, { headers })).status).toBe(200);
    open();
    await slow.close();
  });

  test('lead to loopback as the Host header names it, to no other host, and to the public address if there is one', async () => {
    const context = testContext();
    const service = await testService(context);
    await service.call('POST', '/api/organizations/', { body: { name: 'More' } });
    const next = async (host: string, address = service.address) => {
      const asked = get('/api/organizations?limit=1', [`Authorization: Bearer ${service.key}`]);
      return JSON.parse((await raw(address, asked.replace('Host: localhost', host))).body).next;
    };
    const query = '/api/organizations?limit=1&offset=1';
    for (const host of ['localhost:81', 'LOCALHOST', '127.0.0.1:8010', '[::1]:81']) {
      expect(await next(`Host: ${host}`)).toBe(`http://${host}${query}`);
    }
    for (const host of ['me.test:81', 'localhost.me.test', '127.0.0.1:8010@me.test', 'me.test/127.0.0.1', '']) {
      expect(await next(`Host: ${host}`)).toBe(`${service.address}${query}`);
    }
    expect(await next('X-Forwarded-Host: me.test')).toBe(`${service.address}${query}`);

    const publicUrl = 'https://analytics.example.com/api/ws';
    const settings = { ...context.settings, publicUrl };
    const known = await startGateway({
      context: { ...context, settings },
      host: '127.0.0.1',
      port: 0,
      rateLimit: null,
    });
    expect(await next('Host: localhost:81', known.address)).toBe(`${publicUrl}${query}`);
    const headers = { Authorization: `Bearer ${service.key}`, 'Content-Type': 'application/json' };
    const invites = `${known.address}/api/organizations/${service.organization.id}/invites/`;
    const made = await fetch(invites, { method: 'POST', headers, body: JSON.stringify({ email: 'bea@example.com' }) });
    const { id, link } = (await made.json()) as { id: string; link: string };
    expect(link).toBe(`${publicUrl}/#/invites/${id}`);
    await known.close();
  });
});

test('over the rate nobody is let through, and all are told when to come back', async () => {
  const service = await testService(testContext(), { rateLimit: { rate: 0.000_1, burst: 2 } });
  const replies = [];
  for (let n = 0; n < 3; n++) replies.push(await service.call('GET', '/api/organizations/'));
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(replies[2]?.headers.get('retry-after')).toBe('1');
  expect(replies[2]?.body).toEqual({
    type: 'throttled_error',
    code: 'throttled',
    detail: 'Request was throttled.',
    attr: null,
  });
});

describe('closing', () => {
  test('what runs is finished, then the connection ends; new ones are refused', async () => {
    const context = testContext();
    const { open, promise } = gate();
    const service = await testService(context);
    const table = heldBack(context.table, service.organization.id, promise);
    const gateway = await startGateway({ context: { ...context, table }, host: '127.0.0.1', port: 0 });
    const headers = { Authorization: `Bearer ${service.key}` };
    await (await fetch(`${gateway.address}/api/organizations/`, { headers })).text();
    const running = fetch(`${gateway.address}/api/organizations/${service.organization.id}/`, { headers });
    await (await fetch(`${gateway.address}/api/organizations/`, { headers })).text();

    const closed = gateway.close();
    await expect(fetch(`${gateway.address}/api/organizations/`, { headers })).rejects.toThrow('fetch failed');
    open();
    const reply = await running;
    expect(reply.status).toBe(200);
    expect(reply.headers.get('connection')).toBe('close');
    await closed;
  });

  test('an answer that is still being taken arrives whole, and its connection is not waited for', async () => {
    const cut = jest.spyOn(Server.prototype, 'closeAllConnections');
    onEnd(() => cut.mockRestore());
    // More than a system takes in for somebody who does not read.
    const body = 'x'.repeat(32 * 1024 * 1024);
    const probes = { '/large': async () => ({ statusCode: 200, body }) };
    const gateway = await startGateway({ context: testContext(), host: '127.0.0.1', port: 0, probes });
    const agent = new Agent({ keepAlive: true });
    const [response] = (await once(httpRequest(`${gateway.address}/large`, { agent }).end(), 'response')) as [
      IncomingMessage,
    ];
    const closed = gateway.close();
    let bytes = 0;
    for await (const chunk of response) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(body.length);
    await closed;
    expect(cut).not.toHaveBeenCalled();
    agent.destroy();
  });

  test('a connection that nobody uses holds nothing up', async () => {
    const gateway = await startGateway({ context: testContext(), host: '127.0.0.1', port: 0 });
    const { hostname, port } = new URL(gateway.address);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(get('/nothing').replace('Connection: close', 'Connection: keep-alive'));
    await once(socket, 'data');
    const ends = await Promise.all([gateway.close(), once(socket, 'close')]);
    expect(ends).toEqual([undefined, [false]]);
  });
});

test('a port that is taken is an error at the start', async () => {
  const { address } = await testService(testContext());
  const start = startGateway({ context: testContext(), host: '127.0.0.1', port: Number(new URL(address).port) });
  await expect(start).rejects.toThrow('EADDRINUSE');
});

describe('the log', () => {
  test('has a line for every answer, whoever gave it, and no share token', async () => {
    const context = testContext();
    const service = await testService(context, { rateLimit: { rate: 1, burst: 3 } });
    const expected = [
      ['/api/organizations/', null, 401, '/api/organizations/'],
      ['/nothing/', null, 404, '/nothing/'],
      ['/api/organizations/', service.key, 200, '/api/organizations/'],
      ['/shared/of-nobody-else', null, 429, '/shared/{token}'],
    ] as const;
    for (const [path, key, status] of expected) {
      expect(await service.call('GET', path, { key })).toMatchObject({ status });
    }
    await raw(service.address, 'noise\r\n\r\n');
    const lines = context.lines.filter(({ message }) => message === 'answered');
    expect(lines.map(({ fields: { path, status } }) => ({ path, status }))).toEqual([
      ...expected.map(([, , status, path]) => ({ path, status })),
      { path: undefined, status: 400 },
    ]);
    expect(lines.every(({ level, fields }) => level === 'INFO' && typeof fields['request_id'] === 'string')).toBe(true);
  });

  test('and every answer name the trace of the caller, or else one of the service', async () => {
    const context = testContext();
    const service = await testService(context);
    const [id, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    for (const [key, path] of [
      [service.key, '/api/organizations/'],
      [null, '/nothing/'],
    ] as const) {
      const headers = { traceparent: `00-${id}-${parent}-01` };
      const answer = await service.call('GET', path, { key, headers });
      expect(answer.headers.get('traceparent')).toMatch(new RegExp(`^00-${id}-(?!${parent})[0-9a-f]{16}-01$`));
      expect(context.lines.at(-1)).toMatchObject({ message: 'answered', fields: { trace_id: id } });
      const own = await service.call('GET', path, {
        key,
        headers: { traceparent: `00-${'0'.repeat(32)}-${parent}-01` },
      });
      const [, ownId = ''] = /^00-([0-9a-f]{32})-[0-9a-f]{16}-00$/.exec(own.headers.get('traceparent') ?? '') ?? [];
      expect(context.lines.at(-1)?.fields['trace_id']).toBe(ownId);
    }
  });
});

describe('the probes', () => {
  /** A service whose readiness the test sets. */
  async function probed() {
    const context = testContext();
    const numbers = prometheusMetrics();
    const state: { pauseReason: string | null; isBroken: boolean } = { pauseReason: null, isBroken: false };
    const table = tableWith(context.table, {
      list: async (range, page) => {
        if (state.isBroken) throw new Error('the disk is gone');
        return context.table.list(range, page);
      },
    });
    const probes = probesOf({ ...context, table, pauseReason: () => state.pauseReason, numbers });
    const rateLimit = { rate: 1, burst: 1 };
    const service = await testService(context, { probes, answered: numbers.answered, rateLimit });
    return { context, numbers, state, service };
  }

  test('say that it lives, and whether it may be sent requests, without key and limit', async () => {
    const { context, state, service } = await probed();
    const of = async (path: string) => {
      const { status, body } = await service.call('GET', path, { key: null });
      return [status, body?.['status']];
    };
    expect(await of('/_ready')).toEqual([200, 'ready']);
    state.pauseReason = 'stopping';
    expect(await of('/_ready')).toEqual([503, 'stopping']);
    state.pauseReason = null;
    state.isBroken = true;
    expect(await of('/_ready')).toEqual([503, 'the table cannot be read']);
    for (const alive of ['/_health', '/_liveness']) expect(await of(alive)).toEqual([200, 'alive']);
    expect(await of('/_readiness')).toEqual(await of('/_ready'));
    expect(context.lines.filter(({ message }) => message === 'answered')).toEqual([]);
  });

  test('tell the numbers of the service as Prometheus reads them', async () => {
    const { numbers, service } = await probed();
    numbers.record({ RunsCompleted: 1, RowsDelivered: 7, BytesDelivered: 90, DeliveryLag: 61 });
    numbers.record({ RunsCompleted: 1, RowsDelivered: 3, OldestDueJob: 12.5, KeysRefused: 1 });
    numbers.record({ OldestDueJob: 2, InboxBytes: 5_000 });
    numbers.record({ InboxBytes: 300 });
    await service.call('GET', '/nothing/');
    const { headers, text } = await service.call('GET', '/metrics', { key: null });
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'workspaces_runs_completed_total 2',
        'workspaces_runs_failed_total 0',
        'workspaces_rows_delivered_total 10',
        'workspaces_bytes_delivered_total 90',
        'workspaces_keys_refused_total 1',
        'workspaces_jobs_parked_total 0',
        'workspaces_oldest_due_job_seconds 2',
        'workspaces_inbox_bytes 300',
        'workspaces_delivery_lag_seconds_bucket{le="60"} 0',
        'workspaces_delivery_lag_seconds_bucket{le="120"} 1',
        'workspaces_http_request_duration_seconds_count{method="GET",status="404"} 1',
      ]),
    );
    expect(text).toContain('process_resident_memory_bytes ');
  });

  test.each([
    ['127.0.0.1:8010', 200],
    ['localhost:80', 200],
    ['localhost', 200],
    ['[::1]:8010', 200],
    ['rebound.example.com:8010', 404],
    ['localhost.example.com', 404],
    ['127.0.0.1.example.com', 404],
  ])('tell numbers to no page of a browser whose own name leads to loopback: %s is %i', async (host, expected) => {
    const { service } = await probed();
    const sent = get('/metrics').replace('Host: localhost', `Host: ${host}`);
    expect((await raw(service.address, sent)).status).toBe(expected);
  });
});

test('work that a caller waits for is told when they have left', async () => {
  const begun = Promise.withResolvers<CompileTurn>();
  const compiler: Compiler = {
    selection: () => Promise.reject(new Error('nothing runs')),
    fields: (_sent, waiting) => {
      begun.resolve(waiting);
      return new Promise((_, reject) =>
        waiting.signal?.addEventListener('abort', () => reject(waiting.signal?.reason as Error)),
      );
    },
  };
  const service = await testService(testContext({ compiler }));
  const body = JSON.stringify({ ...INPUT, hogql_query: 'SELECT event FROM events' });
  const sent = httpRequest(new URL(`/api/projects/${service.project.id}/batch_exports/`, service.address), {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
  });
  sent.on('error', () => {});
  sent.end(body);
  const { organization, signal } = await begun.promise;
  expect([organization, signal?.aborted]).toEqual([service.organization.id, false]);
  const left = once(signal as AbortSignal, 'abort');
  sent.destroy();
  await left;
});
