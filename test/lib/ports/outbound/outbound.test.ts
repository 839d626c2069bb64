import { createSocket } from 'node:dgram';
import type { lookup } from 'node:dns';
import { createServer, get, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server as SocketServer } from 'node:net';
import * as fc from 'fast-check';
import { Failure, Permanent, Transient } from '../../../../lib/ports/errors.ts';
import {
  checkHost,
  checkUrl,
  isPublicAddress,
  openOutbound,
  type Post,
  post,
  publicLookup,
  publicNames,
} from '../../../../lib/ports/outbound/outbound.ts';
import { type RawServer, SWITCH_OF_PROTOCOLS, startRawServer } from '../../../support/raw-server.ts';
import { type Receiver, startReceiver } from '../../../support/receiver.ts';

const CLOSED = { privateAddresses: false };
const OPEN = { privateAddresses: true };

/** A resolver that knows these names. */
const resolver = (names: Record<string, string[]>) =>
  ((hostname: string, _options: unknown, done: (error: Error | null, answers: unknown) => void) => {
    const answers = (names[hostname] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    done(answers.length === 0 ? Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }) : null, answers);
  }) as unknown as typeof lookup;

const refusal = (url: string, allowance = CLOSED): Failure | undefined => {
  try {
    checkUrl(url, allowance);
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
};

describe('an address that is written', () => {
  test.each([
    ['loopback', ['http://127.0.0.1', 'http://127.9.8.7:9000', 'http://[::1]', 'http://0.0.0.0', 'http://[::]']],
    ['decimal', ['http://2130706433', 'http://3232235521', 'http://167772161:80']],
    ['octal', ['http://0177.0.0.1', 'http://017700000001', 'http://0300.0250.0.1']],
    ['hexadecimal', ['http://0x7f.1', 'http://0x7f000001', 'http://0xA9.0xFE.0xA9.0xFE']],
    ['ended by a dot', ['http://127.0.0.1.', 'http://0x7f000001.', 'http://localhost.']],
    ['shortened', ['http://127.1', 'http://10.1', 'http://192.168.257']],
    ['full-width', ['http://１２７.０.０.１', 'http://ｌｏｃａｌｈｏｓｔ', 'http://127。0。0。1']],
    ['percent-encoded', ['http://%31%32%37.0.0.1', 'http://%6cocalhost']],
    ['private', ['https://10.0.0.1', 'https://172.16.0.1', 'https://172.31.255.255', 'https://192.168.1.1']],
    ['link-local and metadata', ['http://169.254.169.254/latest', 'http://[fe80::1]', 'http://[fd00:ec2::254]']],
    ['of a host agent', ['http://168.63.129.16']],
    ['shared by carriers', ['http://100.64.0.1', 'http://100.100.100.200']],
    [
      'reserved',
      ['http://192.0.0.192', 'http://198.18.0.1', 'http://203.0.113.7', 'http://240.0.0.1', 'http://255.255.255.255'],
    ],
    ['multicast', ['http://224.0.0.1', 'http://[ff02::1]']],
    [
      'IPv4 inside IPv6',
      [
        'http://[::ffff:127.0.0.1]',
        'http://[::ffff:7f00:1]',
        'http://[::127.0.0.1]',
        'http://[64:ff9b::10.0.0.1]',
        'http://[64:ff9b:1::a00:1]',
        'http://[2002:7f00:1::]',
        'http://[2001::1]',
        'http://[2001:0:53aa:64c::f5ff:fffe]',
        'http://[::ffff:0:10.0.0.1]',
        'http://[2a00:1450::5efe:10.0.0.1]',
        'http://[2a00:1450::200:5efe:10.0.0.1]',
      ],
    ],
    ['unique local', ['http://[fc00::1]', 'http://[fd12:3456::1]', 'http://[fec0::1]']],
    [
      'a reserved name',
      [
        'http://localhost',
        'http://LOCALHOST.',
        'http://db.localhost:9000',
        'http://minio',
        'http://minio.local',
        'http://metadata.google.internal',
        'http://host.docker.internal',
        'http://nas.lan',
        'http://a.home.arpa',
        'http://x.test',
        'http://x.onion',
      ],
    ],
  ])('is refused with 400 when it is %s', (_kind, urls) => {
    for (const url of urls) {
      expect([url, refusal(url)?.status, refusal(url)?.body.attr]).toEqual([url, 400, 'destination']);
      expect([url, refusal(url, OPEN)]).toEqual([url, undefined]);
    }
  });

  test.each([
    'ftp://example.com',
    'file:///etc/passwd',
    'example.com',
    '',
    'https://',
    'http://a b',
    'https://s3.eu?x=1',
    'https://s3.eu#x',
    `https://${'a'.repeat(64)}.example.com`,
    `https://${'a.'.repeat(127)}b/x`,
    'https://s3..eu',
  ])("is refused with 400 when it is no URL of a server: '%s'", (url) => {
    expect(refusal(url, OPEN)?.body.detail).toContain('is not a valid address');
  });

  test.each([
    ['https://app.example.com/batch/?api_key=SECRET', 'A URL with a query (? and what follows)'],
    ['https://app.example.com/batch/#SECRET', 'A URL with a fragment (# and what follows)'],
    ['https://app.example.com/batch/?a#SECRET', 'A URL with a query (? and what follows)'],
  ])('is told what of it is too much, and the answer does not repeat it: %s', (url, reason) => {
    expect(refusal(url, OPEN)?.body.detail).toBe(`${reason} is not a valid address here: leave that out.`);
  });

  test('may hold a query only where its field says so, and names its field', () => {
    const asked = { attr: 'notify_url', query: true };
    expect(() => checkUrl('https://hooks.example.com/x?sig=1', CLOSED, asked)).not.toThrow();
    expect(() => checkUrl('http://10.0.0.1/x?sig=1', CLOSED, asked)).toThrow(
      expect.objectContaining({ body: expect.objectContaining({ attr: 'notify_url' }) }),
    );
  });

  test('may not hold credentials, which would be shown to readers', () => {
    expect(refusal('https://key:secret@s3.eu-central-1.wasabisys.com')?.body.detail).toContain(
      'fields for credentials',
    );
  });

  test.each([
    'https://s3.eu-central-1.wasabisys.com',
    'https://account.r2.cloudflarestorage.com/',
    'http://8.8.8.8:9000',
    'https://[2606:4700::1111]',
    'https://localhost.example.com',
  ])('is accepted when it is public: %s', (url) => {
    expect(refusal(url)).toBeUndefined();
  });
});

test('no private IPv4 address is public in any spelling that a URL can have', () => {
  const octet = fc.nat({ max: 255 });
  const privateAddress = fc.oneof(
    fc.tuple(fc.constantFrom(0, 10, 127), octet, octet, octet),
    fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
    fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
    fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
  );
  const spell = (radix: number, value: number): string =>
    radix === 16 ? `0x${value.toString(16)}` : radix === 8 ? `0${value.toString(8)}` : String(value);
  const radix = fc.constantFrom(8, 10, 16);
  fc.assert(
    fc.property(
      privateAddress,
      fc.tuple(radix, radix, radix, radix),
      fc.integer({ min: 1, max: 4 }),
      (octets, radixes, parts) => {
        const last = octets.slice(parts - 1).reduce((sum, value) => sum * 256 + value, 0);
        const host = [...octets.slice(0, parts - 1), last]
          .map((value, at) => spell(radixes[at] ?? 10, value))
          .join('.');
        expect([host, refusal(`http://${host}:9000`)?.status]).toEqual([host, 400]);
        expect(isPublicAddress(`::ffff:${octets.join('.')}`)).toBe(false);
      },
    ),
  );
});

test('no IPv6 address that wraps an IPv4 address is public, whatever it wraps', () => {
  const octets = fc.tuple(...Array.from({ length: 4 }, () => fc.nat({ max: 255 })));
  const group = fc.nat({ max: 0xffff }).map((value) => value.toString(16));
  const hexOf = ([a = 0, b = 0, c = 0, d = 0]: readonly number[]): string =>
    `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  fc.assert(
    fc.property(octets, fc.tuple(group, group, group), (wrapped, [x, y, z]) => {
      const hex = hexOf(wrapped);
      const forms = [
        `::${hex}`,
        `::ffff:${hex}`,
        `::ffff:0:${hex}`,
        `64:ff9b::${hex}`,
        `64:ff9b:1:${x}:${y}:${z}:${hex}`,
        `2002:${hex}:${x}:${y}:${z}:0:1`,
        `2001:0:${hex}:${x}:${y}:${z}:1`,
        `2a00:${x}:${y}:${z}:0:5efe:${hex}`,
        `2a00:${x}:${y}:${z}:200:5efe:${hex}`,
      ];
      for (const form of forms) expect([form, isPublicAddress(form)]).toEqual([form, false]);
    }),
  );
});

test('a literal that no URL parser has seen is refused in every spelling when it is connected to', async () => {
  const spellings = ['127.1', '0x7f.1', '0177.0.0.1', '2130706433', '0x7f000001', '127.0.0.1.', '10.1', '0'];
  const { httpAgent } = openOutbound(CLOSED);
  for (const host of spellings) {
    const error = await new Promise((done) => {
      get({ host, port: 9, agent: httpAgent }, done).on('error', done);
    });
    expect([host, error]).toEqual([host, expect.any(Permanent)]);
  }
});

describe('a name', () => {
  const ask = (names: Record<string, string[]>, hostname: string, all: boolean) =>
    new Promise((done) => {
      publicLookup(resolver(names))(hostname, { all }, (error, address, family) => {
        done(error === null ? [address, family] : error);
      });
    });

  test('leads only to those of its addresses that are public', async () => {
    const names = { 'a.com': ['10.0.0.1', '93.184.216.34', '::1', '2606:4700::1111'] };
    expect(await ask(names, 'a.com', false)).toEqual(['93.184.216.34', 4]);
    expect(await ask(names, 'a.com', true)).toEqual([
      [
        { address: '93.184.216.34', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
      undefined,
    ]);
  });

  test('is refused when all of its addresses are private, with a text that names them', async () => {
    const error = await ask({ 'a.com': ['127.0.0.1', 'fd00::1'] }, 'a.com', true);
    expect(error).toBeInstanceOf(Permanent);
    expect((error as Error).message).toContain("'a.com' resolves to 127.0.0.1, fd00::1, which is not public");
  });

  describe('in DNS', () => {
    const server = createSocket('udp4');
    let servers: string[] = [];
    let silent: (() => void)[] | undefined;

    beforeAll(async () => {
      server.on('message', (question, { port, address }) => {
        const end = question.indexOf(0, 12) + 5;
        const isKnown = question.includes('known');
        const isIPv4 = question.readUInt16BE(end - 4) === 1;
        const answer = isIPv4 ? [0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 93, 184, 216, 34] : [0, 28, 0, 1, 0, 0, 0, 9, 0, 16];
        const own = isIPv4 ? [] : [0x26, 6, 0x47, ...Array.from({ length: 12 }, () => 0), 1];
        // A response, its code, one question and, of a name that is known, one answer, whose name is that of the question.
        const head = [0x81, isKnown ? 0x80 : 0x83, 0, 1, 0, isKnown ? 1 : 0, 0, 0, 0, 0];
        const rest = isKnown ? [0xc0, 12, ...answer, ...own] : [];
        const parts = [question.subarray(0, 2), Buffer.from(head), question.subarray(12, end), Buffer.from(rest)];
        const reply = (): void => server.send(Buffer.concat(parts), port, address);
        if (question.includes('silent') && silent !== undefined) silent.push(reply);
        else reply();
      });
      await new Promise<void>((done) => server.bind(0, '127.0.0.1', done));
      servers = [`127.0.0.1:${server.address().port}`];
    });

    afterAll(() => new Promise<void>((done) => server.close(done)));

    const answerOf = (resolve: ReturnType<typeof publicNames>, name: string) =>
      new Promise((done) => resolve(name, { all: true }, (error, found) => done(error ?? found)));

    test('has the addresses of both kinds, or is not known', async () => {
      const resolve = publicNames(servers);
      expect(await answerOf(resolve, 'known.com')).toEqual([
        { address: '93.184.216.34', family: 4 },
        { address: '2606:4700::1', family: 6 },
      ]);
      expect(await answerOf(resolve, 'nobody.com')).toMatchObject({ code: 'ENOTFOUND' });
      expect(await answerOf(resolve, 'known..com')).toBeInstanceOf(Error);
    });

    test('does not wait for other names, whose servers are silent', async () => {
      const resolve = publicNames(servers);
      const held: (() => void)[] = [];
      silent = held;
      const others = Array.from({ length: 20 }, (_, n) => answerOf(resolve, `silent-${n}.com`));
      expect(await answerOf(resolve, 'known.com')).toHaveLength(2);
      silent = undefined;
      for (const reply of held) reply();
      await Promise.all(others);
    });
  });

  test('that is not known fails as DNS says', async () => {
    expect(await ask({}, 'a.com', false)).toMatchObject({ code: 'ENOTFOUND' });
  });
});

describe('a connection', () => {
  let server: Server;
  let connections = 0;
  let port: number;

  beforeAll(async () => {
    server = createServer((_request, response) => response.end('hello'));
    server.on('connection', () => {
      connections += 1;
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => new Promise((done) => server.close(done)));

  const outcome = (host: string, allowance: { privateAddresses: boolean }) => {
    const { httpAgent } = openOutbound(allowance, resolver({ 'rebound.com': ['127.0.0.1'] }));
    return new Promise((done) => {
      get({ host, port, agent: httpAgent }, (response) => {
        response.resume();
        response.on('end', () => {
          httpAgent.destroy();
          done(response.statusCode);
        });
      }).on('error', done);
    });
  };

  test.each(['127.0.0.1', 'localhost', 'rebound.com', '2130706433', '::1'])(
    'to %s is never opened where only public addresses are allowed',
    async (host) => {
      connections = 0;
      expect(await outcome(host, CLOSED)).toBeInstanceOf(Permanent);
      expect(connections).toBe(0);
    },
  );

  test('to a private address is opened where they are allowed', async () => {
    connections = 0;
    expect(await outcome('127.0.0.1', OPEN)).toBe(200);
    expect(connections).toBe(1);
  });

  test('over TLS passes the same door', async () => {
    const { httpsAgent } = openOutbound(CLOSED, resolver({ 'rebound.com': ['127.0.0.1'] }));
    for (const host of ['127.0.0.1', 'rebound.com']) {
      const error = await new Promise((done) => {
        get({ protocol: 'https:', host, port, agent: httpsAgent }, done).on('error', done);
      });
      expect(error).toBeInstanceOf(Permanent);
    }
  });
});

describe('a bare connection', () => {
  let server: SocketServer;
  let port: number;
  let connections = 0;
  const NAMES = { 'rebound.com': ['127.0.0.1'], 'mine.com': ['127.0.0.1'] };
  const to = async (host: string, allowance: { privateAddresses: boolean }, signal = new AbortController().signal) => {
    const socket = await openOutbound(allowance, resolver(NAMES)).connect(host, port, signal);
    socket.destroy();
    return socket.remoteAddress;
  };

  beforeAll(async () => {
    server = createSocketServer((socket) => {
      connections += 1;
      socket.on('error', () => {}).resume();
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    port = (server.address() as AddressInfo).port;
  });
  beforeEach(() => {
    connections = 0;
  });
  afterAll(() => new Promise((done) => server.close(done)));

  test.each(['127.0.0.1', 'localhost', 'rebound.com', '2130706433', '0x7f.1', '::1', '[::1]'])(
    'to %s is never opened where only public addresses are allowed',
    async (host) => {
      await expect(to(host, CLOSED)).rejects.toThrow(Permanent);
      expect(connections).toBe(0);
    },
  );

  test('to a private address or name is opened where they are allowed', async () => {
    await to('127.0.0.1', OPEN);
    await to('mine.com', OPEN);
    expect(connections).toBe(2);
  });

  test('that nobody takes says where, and may be tried again; a name that does not exist is for a person to mend', async () => {
    const outbound = openOutbound(OPEN, resolver({}));
    const { signal } = new AbortController();
    await expect(outbound.connect('127.0.0.1', 1, signal)).rejects.toThrow(Transient);
    await expect(outbound.connect('127.0.0.1', 1, signal)).rejects.toThrow('127.0.0.1:1');
    await expect(outbound.connect('nowhere.com', 1, signal)).rejects.toThrow(Permanent);
  });

  test('ends with the reason of its signal', async () => {
    await expect(to('127.0.0.1', OPEN, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled');
  });
});

describe('a host that is written', () => {
  const refusalOfHost = (host: string, allowance = CLOSED): string | undefined => {
    try {
      checkHost(host, allowance);
      return undefined;
    } catch (error) {
      if (error instanceof Failure) return error.body.detail;
      throw error;
    }
  };

  test.each(['db.example.com', '8.8.8.8', '2606:4700::1111', '[2606:4700::1111]', 'DB.Example.COM'])(
    'is accepted when it is public: %s',
    (host) => expect(refusalOfHost(host)).toBeUndefined(),
  );

  test.each(['db.example.com.', 'my_db.internal', '😀', '10.0.0.1.', '::1', `${'a'.repeat(63)}.${'b.'.repeat(94)}c`])(
    'is accepted where private ones are: %s',
    (host) => expect(refusalOfHost(host, OPEN)).toBeUndefined(),
  );

  test.each([
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '2130706433',
    'localhost',
    '::1',
    '[::ffff:10.0.0.1]',
    '１２７.0.０.１',
    'db',
  ])('is refused with 400 when it is not public: %s', (host) => {
    expect(refusalOfHost(host)).toMatch(/not (a )?public/);
    expect(refusalOfHost(host, OPEN)).toBeUndefined();
  });

  test.each([
    '',
    ' ',
    'postgres://db.example.com',
    'db.example.com:5432',
    'db.example.com/x',
    'me@db.example.com',
    '/run',
    'xn--iñvalid.com',
    'db..example.com',
    '.',
    `${'a'.repeat(64)}.example.com`,
    `${'ä'.repeat(60)}.example.com`,
    'a.'.repeat(127) + 'b',
  ])("is refused with 400 when it is no host: '%s'", (host) =>
    expect(refusalOfHost(host, OPEN)).toContain('is not a valid host'),
  );
});

describe('what is posted', () => {
  let receiver: Receiver;
  const outbound = openOutbound(OPEN);

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  beforeEach(() => receiver.reset());
  afterAll(() => {
    outbound.httpAgent.destroy();
    return receiver.close();
  });

  const send = (url: string, changes: Partial<Post> = {}, through = outbound) =>
    post(through, url, {
      headers: { 'content-type': 'text/plain' },
      body: Buffer.from('hello'),
      signal: new AbortController().signal,
      idleTimeoutMs: 5_000,
      ...changes,
    });

  test('arrives as it is, and is answered with status and text', async () => {
    receiver.answer = () => ({ status: 200, body: 'thanks' });
    expect(await send(`${receiver.url}/x?y=1`)).toMatchObject({ status: 200, text: 'thanks' });
    expect(receiver.received).toMatchObject([{ method: 'POST', path: '/x?y=1', body: 'hello' }]);
  });

  test('follows no redirect', async () => {
    const location = `${receiver.url}/inside`;
    receiver.answer = () => ({ status: 307, headers: { location } });
    expect(await send(`${receiver.url}/out`)).toMatchObject({ status: 307, headers: { location } });
    expect(receiver.received).toHaveLength(1);
  });

  test('is answered with the beginning of an endless text', async () => {
    receiver.answer = () => ({ status: 400, body: 'x'.repeat(5_000_000) });
    expect((await send(receiver.url)).text).toBe('x'.repeat(16 * 1024));
  });

  test('is given up when nobody answers in time, and may be tried again', async () => {
    receiver.answer = () => null;
    await expect(send(receiver.url, { idleTimeoutMs: 30 })).rejects.toThrow(Transient);
  });

  test('ends with the reason of its signal', async () => {
    const stop = new AbortController();
    receiver.answer = () => {
      stop.abort(new Error('cancelled'));
      return null;
    };
    await expect(send(receiver.url, { signal: stop.signal })).rejects.toThrow('cancelled');
  });

  describe('to a server that breaks with HTTP', () => {
    let server: RawServer;
    beforeAll(async () => {
      server = await startRawServer();
    });
    afterAll(() => server.close());

    test.each([
      ['a switch of protocols', SWITCH_OF_PROTOCOLS, { upgrade: 'websocket' }],
      ['one to no protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', {}],
    ])('is answered by %s as by anything else, and the connection ends', async (_what, bytes, headers) => {
      const ended = server.reply(bytes, { keepsOpen: true });
      expect(await send(server.url, { idleTimeoutMs: 60_000 })).toMatchObject({ status: 101, headers, text: '' });
      await ended;
    });

    test.each([
      ['nothing', ''],
      ['a part of an answer', 'HTTP/1.1 20'],
      ['an interim answer', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ])('that says %s and hangs up may be tried again', async (_kind, bytes) => {
      void server.reply(bytes);
      await expect(send(server.url, { idleTimeoutMs: 60_000 })).rejects.toThrow(Transient);
    });
  });

  test('tells what is wrong with an address: what may pass, and what a person must mend', async () => {
    await expect(send('http://127.0.0.1:1')).rejects.toMatchObject({
      name: 'Transient',
      message: 'Could not reach 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1.',
    });
    await expect(send(receiver.url.replace('http:', 'https:'))).rejects.toMatchObject({
      name: 'Permanent',
      message: expect.stringMatching(/^The server at 127\.0\.0\.1:\d+ does not speak TLS/),
    });
    await expect(send(receiver.url, {}, openOutbound(CLOSED))).rejects.toThrow(Permanent);
    expect(receiver.received).toEqual([]);
  });
});
