import { spawn } from 'node:child_process';
import type { lookup } from 'node:dns';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Delivery, Prepared, Receipt } from '../../../../lib/exports/destinations/destination.ts';
import { s3 } from '../../../../lib/exports/destinations/s3.ts';
import { Permanent, Transient } from '../../../../lib/ports/errors.ts';
import { openOutbound } from '../../../../lib/ports/outbound/outbound.ts';
import { type Bucket, startBucket } from '../../../support/bucket.ts';
import { COMPILE_CACHE } from '../../../support/compile-cache.ts';
import { temporaryFolder } from '../../../support/context.ts';
import {
  atOnce,
  check,
  delivery,
  digest,
  EXPORT,
  failureOf,
  lines,
  OTHER_EXPORT,
  send,
} from '../../../support/delivery.ts';
import { startHttpProxy, startKillingHttpProxy } from '../../../support/http-proxy.ts';
import { toldOf } from '../../../support/refusals.ts';

const NAME = '2023-07-28T00:00:00+00:00-2023-07-28T01:00:00+00:00.jsonl';
const KEY = `events/${NAME}`;
/** Of 127 bytes each: 0.4 MB, one request; 9 MB, two parts. */
const FEW = 3000;
const MANY = 71_000;
const NEXT_ATTEMPT = `${EXPORT}-2`;

let bucket: Bucket;
let many: Buffer;
let receiptFile: string;
beforeAll(async () => {
  bucket = await startBucket();
  many = await atOnce(lines(MANY));
});
beforeEach(() => {
  receiptFile = join(temporaryFolder(), 'receipt.json');
});
afterEach(() => bucket.empty());
afterAll(() => bucket.close());

type Changes = Pick<Delivery, 'exportId' | 'rows' | 'signal' | 'attempt' | 'runId' | 'say' | 'outbound'>;

const given = (count: number, config: object = {}, changes: Partial<Changes> = {}) =>
  delivery(s3, { ...bucket.config, ...config }, count, changes);

const isWhole = async (key = KEY): Promise<boolean> => (await bucket.read(key)).body.equals(many);

/** As it is after the run files: without what only this process knows. */
const kept = <R extends Receipt>({ receipt }: Prepared<R>): { receipt: R } => ({
  receipt: JSON.parse(JSON.stringify(receipt)) as R,
});

/** Does the work at a server that answers so. */
async function serving<T>(answer: RequestListener, work: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(answer);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

describe('a small object', () => {
  test('is not sent before the commit, and is then one request', async () => {
    const prepared = await s3.deliver(given(FEW));
    expect(await bucket.keys()).toEqual([]);
    expect(bucket.uploads()).toEqual([]);
    await s3.commit(given(FEW), prepared);
    expect(await bucket.keys()).toEqual([KEY]);
    const { body, metadata, type } = await bucket.read(KEY);
    expect(body.equals(await atOnce(lines(FEW)))).toBe(true);
    expect(prepared.receipt.bytes).toBe(body.length);
    expect(metadata).toEqual({ run: given(0).runId, attempt: given(0).attempt });
    expect(type).toBe('application/x-ndjson');
  });

  test('is read once on the way, and again only when the process died in between', async () => {
    let reads = 0;
    const rows = () => {
      reads += 1;
      return lines(FEW);
    };
    const prepared = await s3.deliver(given(0, {}, { rows }));
    await s3.commit(given(0, {}, { rows }), prepared);
    expect(reads).toBe(1);
    await bucket.empty();
    await s3.commit(given(0, {}, { rows }), kept(prepared));
    expect(reads).toBe(2);
    expect((await bucket.read(KEY)).body.equals(await atOnce(lines(FEW)))).toBe(true);
  });

  test('in gzip has its own name and type', async () => {
    await send(s3, given(FEW, { compression: 'gzip' }));
    const { body, type } = await bucket.read(`${KEY}.gz`);
    expect(gunzipSync(body).equals(await atOnce(lines(FEW)))).toBe(true);
    expect(type).toBe('application/gzip');
  });

  test('of no rows is empty', async () => {
    await send(s3, given(0));
    expect((await bucket.read(KEY)).body.length).toBe(0);
  });

  test('replaces what an earlier run of the interval delivered', async () => {
    await send(s3, given(10));
    await send(s3, given(20, {}, { attempt: NEXT_ATTEMPT }));
    expect(await bucket.keys()).toEqual([KEY]);
    expect((await bucket.read(KEY)).body.equals(await atOnce(lines(20)))).toBe(true);
  });

  test.each(['Ünïcode prefix/☃/+&=?#%25', 'a b/{table}'])("is found below the prefix '%s'", async (prefix) => {
    await send(s3, given(10, { prefix }));
    expect(await bucket.keys()).toEqual([`${prefix.replace('{table}', 'events')}/${NAME}`]);
  });
});

describe('a large object', () => {
  test('is uploaded before the commit, unseen, and becomes visible whole', async () => {
    const prepared = await s3.deliver(given(MANY));
    expect(await bucket.keys()).toEqual([]);
    expect(bucket.uploads()).toEqual([KEY]);
    await s3.commit(given(MANY), kept(prepared));
    expect(bucket.uploads()).toEqual([]);
    expect(await isWhole()).toBe(true);
    expect((await bucket.read(KEY)).metadata).toEqual({ run: given(0).runId, attempt: given(0).attempt });
    expect(prepared.receipt.bytes).toBe(many.length);
  });

  test.each([
    ['exactly one part', 1],
    ['exactly two parts', 2],
    ['six parts', 5.3],
  ])('of %s is whole', async (_what, parts) => {
    const bytes = Buffer.alloc(parts * 8 * 1024 * 1024, many);
    async function* rows() {
      for (let at = 0; at < bytes.length; at += 3_000_000) yield bytes.subarray(at, at + 3_000_000);
    }
    await send(s3, given(0, {}, { rows }));
    expect((await bucket.read(KEY)).body.equals(bytes)).toBe(true);
  });

  test('may be committed twice', async () => {
    const prepared = await s3.deliver(given(MANY));
    await s3.commit(given(MANY), kept(prepared));
    await s3.commit(given(MANY), kept(prepared));
    expect(await isWhole()).toBe(true);
  });

  test('whose upload was aborted from outside is made again by the commit', async () => {
    const prepared = await s3.deliver(given(MANY));
    await bucket.abortUploads();
    await s3.commit(given(MANY), kept(prepared));
    expect(await isWhole()).toBe(true);
    expect(bucket.uploads()).toEqual([]);
  });

  test('that was prepared in another bucket, before a change of the export, is told of as left there', async () => {
    const before = await startBucket();
    const prepared = await s3.deliver(given(MANY, { endpoint_url: before.url }));
    const said: string[] = [];
    const say = (level: string, message: string) => said.push(`${level} ${message}`);
    await s3.commit(given(MANY, {}, { say }), kept(prepared));
    const left = before.uploads();
    await before.close();
    expect(await isWhole()).toBe(true);
    expect(left).toEqual([KEY]);
    expect(said).toEqual([
      `WARNING The export was changed after parts of '${KEY.replace(/\.jsonl$/, '')}' had been sent to bucket 'exports' at ${before.url}: they stay ` +
        'there unseen, and may cost storage until the unfinished uploads are aborted, by hand or by a lifecycle rule.',
    ]);
  });

  test("is made again by the commit when the object there is another attempt's", async () => {
    const prepared = await s3.deliver(given(MANY, {}, { attempt: NEXT_ATTEMPT }));
    await bucket.abortUploads();
    await send(s3, given(10));
    await s3.commit(given(MANY, {}, { attempt: NEXT_ATTEMPT }), kept(prepared));
    expect(await isWhole()).toBe(true);
    expect((await bucket.read(KEY)).metadata['attempt']).toBe(NEXT_ATTEMPT);
  });

  test('removes the uploads that earlier attempts left, and no others', async () => {
    await s3.deliver(given(MANY));
    await s3.deliver(given(MANY, { prefix: 'events/2' }));
    await send(s3, given(MANY, {}, { attempt: NEXT_ATTEMPT }));
    expect(bucket.uploads()).toEqual([`events/2/${NAME}`]);
    expect(await isWhole()).toBe(true);
  });

  test('leaves nothing when it is discarded, with and without a receipt', async () => {
    const prepared = await s3.deliver(given(MANY));
    await s3.discard(given(MANY), kept(prepared));
    expect(bucket.uploads()).toEqual([]);
    await s3.deliver(given(MANY));
    await s3.discard(given(MANY), undefined);
    await s3.discard(given(MANY), undefined);
    expect(bucket.uploads()).toEqual([]);
  });

  test('that is cancelled on the way stops with the reason of the cancel and leaves nothing', async () => {
    const cancel = new AbortController();
    async function* rows() {
      yield* lines(MANY);
      cancel.abort(new Error('cancelled'));
      yield* lines(MANY);
    }
    await expect(s3.deliver(given(0, {}, { rows, signal: cancel.signal }))).rejects.toThrow('cancelled');
    expect(bucket.uploads()).toEqual([]);
    expect(await bucket.keys()).toEqual([]);
  });

  test('whose rows fail ends with their error and leaves nothing', async () => {
    async function* rows() {
      yield* lines(MANY);
      throw Object.assign(new Error('the lake is dry'), { code: 'ENOENT' });
    }
    await expect(s3.deliver(given(0, {}, { rows }))).rejects.toThrow('the lake is dry');
    expect(bucket.uploads()).toEqual([]);
  });

  test('made twice at the same time gives one right object and no upload that stays', async () => {
    const files = ['one', 'two'].map((name) => `${receiptFile}-${name}`);
    const twins = await Promise.allSettled(files.map((file) => send(s3, given(MANY), file)));
    for (const [at, { status }] of twins.entries()) {
      // As the state machine does: what failed is tried again.
      if (status === 'rejected') await send(s3, given(MANY), files[at] ?? '');
    }
    expect(await bucket.keys()).toEqual([KEY]);
    expect(bucket.uploads()).toEqual([]);
    expect(await isWhole()).toBe(true);
  });
});

test.each(['before', 'after'] as const)(
  'a delivery killed %s the server does any of its requests is finished by the next',
  async (when) => {
    const script = join(import.meta.dirname, '..', '..', '..', 'support', 'delivery-program.ts');
    const attempt = async (at: number) => {
      const proxy = await startKillingHttpProxy(bucket.url, { at, when, run: () => child.kill('SIGKILL') });
      const config = JSON.stringify({ ...bucket.config, endpoint_url: proxy.url });
      const words = [script, 'S3', config, String(MANY), receiptFile];
      const env = { ...process.env, ...COMPILE_CACHE };
      const child = spawn(process.execPath, words, { stdio: 'inherit', env });
      const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
      await proxy.close();
      return { code, signal, last: proxy.requests().at(-1) };
    };
    const killed: (string | undefined)[] = [];
    let ended = await attempt(1);
    for (let at = 1; ended.signal === 'SIGKILL'; ended = await attempt(at)) {
      killed.push(ended.last);
      expect((await bucket.keys()).length === 0 || (await isWhole())).toBe(true);
      // Every other time as a new attempt, which knows nothing of the first.
      if (at % 2 === 0) rmSync(receiptFile, { force: true });
      await send(s3, given(MANY, {}, at % 2 === 0 ? { attempt: NEXT_ATTEMPT } : {}), receiptFile);
      expect(await bucket.keys()).toEqual([KEY]);
      expect(bucket.uploads()).toEqual([]);
      expect(await isWhole()).toBe(true);
      await bucket.empty();
      rmSync(receiptFile, { force: true });
      at += 1;
    }
    expect(ended.code).toBe(0);
    // Leftovers are looked for, the upload is begun, two parts are sent, it is completed, strays are looked for.
    expect(killed).toEqual(['GET', 'POST', 'PUT', 'PUT', 'POST', 'GET']);
  },
  300_000,
);

describe('several objects', () => {
  const STEM = KEY.replace('.jsonl', '');
  const several = { max_file_size_mb: 9 };
  /** Of 127 bytes each: one object of nine megabytes, and a small one. */
  const SOME = 75_000;
  /** An earlier run of the interval: three small objects. */
  const earlier = () => given(20_000, { max_file_size_mb: 1 });
  const namesOf = (objects: number) => [
    ...Array.from({ length: objects }, (_, n) => `${STEM}-${n}.jsonl`),
    `${STEM}_manifest.json`,
  ];
  const manifest = async () =>
    JSON.parse((await bucket.read(`${STEM}_manifest.json`)).body.toString()) as { files: string[] };
  let some: Buffer;
  beforeAll(async () => {
    some = await atOnce(lines(SOME));
  });

  /** What lies there: names, what the manifest says, all rows in its order, and uploads that nobody ended. */
  const stored = async () => {
    const { files } = await manifest();
    const bodies: Buffer[] = [];
    for (const key of files) bodies.push((await bucket.read(key)).body);
    return { keys: await bucket.keys(), files, rows: digest(Buffer.concat(bodies)), uploads: bucket.uploads() };
  };
  /** What is to lie there. */
  const whole = (rows: Buffer, objects: number) => ({
    keys: namesOf(objects),
    files: namesOf(objects).slice(0, -1),
    rows: digest(rows),
    uploads: [],
  });

  test('are unseen until they are committed, and may be committed twice', async () => {
    const prepared = await s3.deliver(given(SOME, several));
    expect(await bucket.keys()).toEqual([]);
    expect(prepared.receipt.bytes).toBe(some.length);
    await s3.commit(given(SOME, several), prepared);
    expect(await stored()).toEqual(whole(some, 2));
    await s3.commit(given(SOME, several), kept(prepared));
    expect(await stored()).toEqual(whole(some, 2));
    expect((await bucket.read(`${STEM}_manifest.json`)).type).toBe('application/json');
  });

  test('that are small are sent by the commit', async () => {
    await send(s3, given(FEW * 5, { max_file_size_mb: 1 }));
    expect(await stored()).toEqual(whole(await atOnce(lines(FEW * 5)), 2));
  });

  test('leave nothing when they are discarded, with and without a receipt', async () => {
    await s3.discard(given(SOME, several), kept(await s3.deliver(given(SOME, several))));
    expect(bucket.uploads()).toEqual([]);
    await s3.deliver(given(2 * SOME, several));
    expect(bucket.uploads()).toHaveLength(2);
    await s3.discard(given(2 * SOME, several), undefined);
    expect(bucket.uploads()).toEqual([]);
    expect(await bucket.keys()).toEqual([]);
  });

  test('are removed with their manifest when only one object is delivered, and it by them', async () => {
    await send(s3, given(SOME, several));
    await send(s3, given(FEW));
    expect(await bucket.keys()).toEqual([KEY]);
    await send(s3, given(SOME, several));
    expect(await stored()).toEqual(whole(some, 2));
  });

  test('made twice at the same time are right in the end', async () => {
    const files = ['one', 'two'].map((name) => `${receiptFile}-${name}`);
    const twins = await Promise.allSettled(files.map((file) => send(s3, given(SOME, several), file)));
    for (const [at, { status }] of twins.entries()) {
      if (status === 'rejected') await send(s3, given(SOME, several), files[at] ?? '');
    }
    expect(await stored()).toEqual(whole(some, 2));
  });

  test('that cannot be removed are told of', async () => {
    await send(s3, earlier());
    const said: string[] = [];
    const say = (_level: string, message: string) => said.push(message);
    const refusing = await startHttpProxy(bucket.url, ({ method }) => (method === 'DELETE' ? 'is refused' : 'passes'));
    await send(s3, given(SOME, { ...several, endpoint_url: refusing.url }, { say }));
    await refusing.close();
    expect(said).toEqual([expect.stringContaining('Grant s3:ListBucket, s3:GetObject and s3:DeleteObject.')]);
    expect((await manifest()).files).toEqual(namesOf(2).slice(0, -1));
  });

  test('of which any request is not answered are left at once by a process that is to end', async () => {
    let isSilent = true;
    const silent: (string | undefined)[] = [];
    for (let at = 1; isSilent; at += 1) {
      await send(s3, earlier());
      const stop = new AbortController();
      let requests = 0;
      const proxy = await startHttpProxy(bucket.url, ({ method }) => {
        requests += 1;
        if (requests !== at) return 'passes';
        silent.push(method);
        setImmediate(() => stop.abort(new Error('the process ends')));
        return 'stays open';
      });
      const changes = { rows: () => inOne(some), signal: stop.signal };
      const sent = send(s3, given(0, { ...several, endpoint_url: proxy.url }, changes));
      isSilent = await sent.then(
        () => false,
        (error: unknown) => (error as Error).message === 'the process ends',
      );
      await proxy.close();
    }
    expect(new Set(silent)).toEqual(new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE']));
    expect(silent.length).toBeGreaterThan(8);
  });

  // What died before a request died after the one before.
  test('of which a process that died after any request left some are finished by the next', async () => {
    let isDead = true;
    let at = 1;
    for (; isDead; at += 1) {
      // An earlier run of the interval delivered one object, or more than now.
      await send(s3, at % 3 === 0 ? given(FEW) : earlier());
      const proxy = await startKillingHttpProxy(bucket.url, { at, when: 'after', run: () => {} });
      const to = (endpoint_url: string) => given(0, { ...several, endpoint_url }, { rows: () => inOne(some) });
      await send(s3, to(proxy.url), receiptFile).catch(() => {});
      isDead = proxy.requests().length === at;
      await proxy.close();
      // Every other time as a new attempt, which knows nothing of the first.
      if (at % 2 === 0) rmSync(receiptFile, { force: true });
      await send(s3, to(bucket.url), receiptFile);
      expect(await stored()).toEqual(whole(some, 2));
      await bucket.empty();
      rmSync(receiptFile, { force: true });
    }
    // Leftovers; an upload of two parts, one object that waits; both completed, the manifest, strays.
    expect(at - 1).toBeGreaterThanOrEqual(8);
  });
});

describe('what another wrote', () => {
  const STEM = KEY.replace('.jsonl', '');
  const several = { max_file_size_mb: 1 };
  const deliverOthers = (count: number, config: object = {}) =>
    send(s3, given(count, config, { exportId: OTHER_EXPORT }));
  const put = (Key: string) => bucket.client.putObject({ Bucket: bucket.name, Key, Body: 'mine' });
  /** All that lies there, by name. */
  const contents = async () => {
    const found = new Map<string, string>();
    for (const key of await bucket.keys()) found.set(key, digest((await bucket.read(key)).body));
    return found;
  };
  const heldByOther = new Permanent(
    `'${KEY}' in bucket 'exports' at URL was written by the batch export called ${OTHER_EXPORT}, and is not replaced. ` +
      'Let one of the two have another prefix, for example with {table} in it; then run the interval again.',
  );
  const withUrl = ({ message }: Error) => new Permanent(message.replace('URL', bucket.url));

  test.each([
    ['an object', {}, FEW],
    ['objects', several, 20_000],
  ])('is not replaced: %s of another export fails the run before its rows are read', async (_what, config, count) => {
    await deliverOthers(count, config);
    const before = await contents();
    async function* rows() {
      yield* lines(20_000);
      throw new Error('all rows were read');
    }
    const name = 'max_file_size_mb' in config ? `${STEM}-0.jsonl` : KEY;
    const error = (await failureOf(s3.deliver(given(0, config, { rows })))) as Error;
    expect(error).toEqual(new Permanent(withUrl(heldByOther).message.replace(KEY, name)));
    expect(await contents()).toEqual(before);
  });

  test('is not replaced: an object that no export wrote', async () => {
    await put(KEY);
    const before = await contents();
    expect(await failureOf(s3.deliver(given(FEW)))).toEqual(
      new Permanent(
        `'${KEY}' in bucket 'exports' at ${bucket.url} is there already, and this batch export did not write it or ` +
          'somebody has changed it since: it is not replaced. Move it away, or choose another prefix; then run the ' +
          'interval again.',
      ),
    );
    expect(await contents()).toEqual(before);
  });

  test.each([
    ['a small object', {}, FEW],
    ['a large object', {}, MANY],
    ['several objects', several, 20_000],
  ])('is not replaced when it comes after the look: %s', async (_what, config, count) => {
    const mine = given(count, config);
    const prepared = await s3.deliver(mine);
    await deliverOthers(10, config);
    const before = await contents();
    expect(await failureOf(s3.commit(mine, kept(prepared)))).toBeInstanceOf(Permanent);
    await s3.discard(mine, kept(prepared));
    expect(await contents()).toEqual(before);
    expect(bucket.uploads()).toEqual([]);
  });

  test('is not replaced: the manifest of an export in another format', async () => {
    await deliverOthers(10, { ...several, compression: 'gzip' });
    const before = await contents();
    const error = (await failureOf(s3.deliver(given(10, several)))) as Error;
    expect(error).toEqual(new Permanent(withUrl(heldByOther).message.replace(KEY, `${STEM}_manifest.json`)));
    expect(await contents()).toEqual(before);
  });

  test('is not removed as surplus, while what is its own is', async () => {
    await put(`${STEM}-0.jsonl`);
    await deliverOthers(10, { ...several, compression: 'gzip' });
    await send(s3, given(10));
    const others = [`${STEM}-0.jsonl`, `${STEM}-0.jsonl.gz`, `${STEM}_manifest.json`];
    expect(new Set(await bucket.keys())).toEqual(new Set([KEY, ...others]));
    await bucket.client.deleteObject({ Bucket: bucket.name, Key: `${STEM}_manifest.json` });
    await bucket.client.deleteObject({ Bucket: bucket.name, Key: `${STEM}-0.jsonl` });
    await send(s3, given(20_000, several));
    await put(`${STEM}-7.jsonl`);
    await send(s3, given(10));
    expect(new Set(await bucket.keys())).toEqual(new Set([KEY, `${STEM}-0.jsonl.gz`, `${STEM}-7.jsonl`]));
  });

  test("may not be read: the run fails and says which permission tells one's own objects", async () => {
    await send(s3, given(10));
    const proxy = await startHttpProxy(bucket.url, ({ method }) => (method === 'HEAD' ? 'is refused' : 'passes'));
    const error = (await failureOf(s3.deliver(given(10, { endpoint_url: proxy.url })))) as Error;
    await proxy.close();
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toContain('Allow the key s3:GetObject there.');
  });

  describe.each(['refused', 'ignored'] as const)('where conditions of writes are %s', (conditions) => {
    let server: Bucket;
    beforeAll(async () => {
      server = await startBucket(conditions);
    });
    afterAll(() => server.close());

    test('is not replaced, and what is its own is', async () => {
      const deliver = (count: number, changes: Partial<Changes> = {}) =>
        send(s3, given(count, { endpoint_url: server.url, max_file_size_mb: 9 }, changes));
      await deliver(MANY);
      await deliver(MANY + 5000, { attempt: NEXT_ATTEMPT });
      expect(await server.keys()).toHaveLength(3);
      await deliver(FEW);
      expect(await failureOf(deliver(FEW, { exportId: OTHER_EXPORT }))).toBeInstanceOf(Permanent);
      const { body, metadata } = await server.read(`${STEM}-0.jsonl`);
      expect([body.length, metadata['attempt']]).toEqual([FEW * 127, given(0).attempt]);
    });
  });

  test('is told from its own object whose answer was lost', async () => {
    let puts = 0;
    const proxy = await startHttpProxy(bucket.url, ({ method }) => {
      if (method === 'PUT') puts += 1;
      return method === 'PUT' && puts === 1 ? 'breaks after' : 'passes';
    });
    await send(s3, given(FEW, { endpoint_url: proxy.url }));
    await proxy.close();
    expect(puts).toBeGreaterThan(1);
    expect(await bucket.keys()).toEqual([KEY]);
    expect((await bucket.read(KEY)).body.equals(await atOnce(lines(FEW)))).toBe(true);
  });
});

test.each([
  ['small object', FEW, {}, ['GET', 'PUT']],
  ['large object', MANY, {}, ['GET', 'POST', 'PUT', 'PUT', 'POST', 'GET']],
  ['pair of small objects', 15_000, { max_file_size_mb: 1 }, ['GET', 'PUT', 'PUT', 'PUT']],
])('a %s takes no request to learn that nobody holds its name', async (_what, count, config, requests) => {
  const seen: (string | undefined)[] = [];
  const proxy = await startHttpProxy(bucket.url, ({ method }) => {
    seen.push(method);
    return 'passes';
  });
  await send(s3, given(count, { ...config, endpoint_url: proxy.url }));
  await proxy.close();
  // As many as without: what lies there is listed anyway, for what counts no more.
  expect(seen).toEqual(requests);
});

async function* inOne(bytes: Buffer) {
  yield bytes;
}

describe('encryption by the bucket', () => {
  test.each([
    [{}, undefined, undefined],
    [{ encryption: 'AES256' }, 'AES256', undefined],
    [{ encryption: 'aws:kms' }, 'aws:kms', undefined],
    [{ encryption: 'aws:kms', kms_key_id: 'alias/exports' }, 'aws:kms', 'alias/exports'],
  ])('with %j is asked for of every object', async (config, encryption, key) => {
    const asked: (readonly [string | undefined, unknown, unknown])[] = [];
    const noting = await startHttpProxy(bucket.url, ({ method, headers }) => {
      const [encryption, key] = ['', '-aws-kms-key-id'].map((name) => headers[`x-amz-server-side-encryption${name}`]);
      asked.push([method, encryption, key]);
      return 'passes';
    });
    await send(s3, given(75_000, { ...config, endpoint_url: noting.url, max_file_size_mb: 9 }));
    await noting.close();
    const creating = asked.filter(([, ...found]) => found[0] !== undefined);
    // An upload, the object after it, the manifest.
    const expected = encryption === undefined ? [] : ['POST', 'PUT', 'PUT'].map((method) => [method, encryption, key]);
    expect(creating).toEqual(expected);
  });
});

describe('a failure', () => {
  /** What a delivery of one row ends with when the server answers so. */
  const answered = (answer: RequestListener): Promise<Error> =>
    serving(answer, (endpoint_url) => failure({ endpoint_url }));

  const failure = async (config: object, changes: Partial<Changes> = {}): Promise<Error> =>
    (await failureOf(send(s3, given(1, config, changes)))) as Error;

  const xml =
    (
      status: number,
      code: string,
      more = '',
      headers: Record<string, string> = {},
      message = 'The reason.',
    ): RequestListener =>
    (request, response) => {
      request.resume();
      request.on('end', () => {
        response.writeHead(status, { 'content-type': 'application/xml', ...headers });
        response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`);
      });
    };

  test('names a bucket that can have no such name', async () => {
    const error = await failure({ bucket_name: 'exports/2026' });
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toBe("'exports/2026' is no valid name of a bucket. Correct bucket_name.");
  });

  test('names a bucket that does not exist', async () => {
    const error = await failure({ bucket_name: 'nobody-has-it' });
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toBe(
      `There is no bucket 'nobody-has-it' at ${bucket.url}. Create it, or correct bucket_name.`,
    );
  });

  test.each([
    [403, 'AccessDenied', "Access to bucket 'exports' at"],
    [403, 'SomethingElse', "Access to bucket 'exports' at"],
    [403, 'InvalidAccessKeyId', 'is not known, or has expired'],
    [400, 'ExpiredToken', 'is not known, or has expired'],
    [403, 'SignatureDoesNotMatch', 'is wrong. Send aws_access_key_id and its secret again'],
    [400, 'InvalidBucketName', 'Correct bucket_name'],
    [400, 'KMS.NotFoundException', "could not encrypt with the key 'null' (The reason.). Correct kms_key_id"],
    [400, 'InvalidArgument', 'answered 400 InvalidArgument: The reason.'],
    [405, 'MethodNotAllowed', 'answered 405 MethodNotAllowed'],
  ])('of %i %s is for the customer to mend', async (status, code, text) => {
    const error = await answered(xml(status, code));
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toContain(text);
    expect(error.message).not.toContain('secret-of-the-test');
  });

  test.each([
    [403, 'AccessDenied'],
    [400, 'KMS.NotFoundException'],
    [400, 'InvalidArgument'],
  ])('is told without the key, though the server repeats it (%i %s)', async (status, code) => {
    const { aws_access_key_id: key } = bucket.config;
    const error = await answered(xml(status, code, '', {}, `Who is ${String(key)}?`));
    expect(error.message).toContain('Who is ***?');
  });

  test('of a server that answers without an end is told at once: an answer is held as a whole', async () => {
    const megabyte = Buffer.alloc(1_000_000, '<');
    let sent = 0;
    const error = await answered((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'application/xml' });
      const goOn = (): void => {
        for (let room = true; room && sent < 100; sent += 1) room = response.write(megabyte);
        if (sent < 100) response.once('drain', goOn);
      };
      goOn();
    });
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toMatch(
      /^The server for bucket 'exports' at .* answers more than S3 ever does\. Check endpoint_url\.$/,
    );
    expect(sent).toBeLessThan(50);
  });

  test('of a server whose lists have no end is told: what they name is held', async () => {
    let pages = 0;
    const error = await answered((request, response) => {
      request.resume();
      pages += 1;
      const next = `<IsTruncated>true</IsTruncated><NextContinuationToken>${pages}</NextContinuationToken>`;
      response.writeHead(200, { 'content-type': 'application/xml' });
      response.end(`<ListBucketResult>${next}<Prefix>${'x'.repeat(7_000_000)}</Prefix></ListBucketResult>`);
    });
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toContain('answers more than S3 ever does');
    expect(pages).toBe(10);
  });

  test.each([
    ['named in the answer', xml(400, 'AuthorizationHeaderMalformed', '<Region>eu-west-1</Region>')],
    ['named in a header', xml(301, 'PermanentRedirect', '', { 'x-amz-bucket-region': 'eu-west-1' })],
  ])('of the wrong region gives the right one when it is %s', async (_where, answer) => {
    const error = await answered(answer);
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toBe("Bucket 'exports' is not in region 'us-east-1'. Set region to 'eu-west-1'.");
  });

  test.each([301, 302, 303, 307, 308])('of a server that sends elsewhere (%i) leads nowhere', async (status) => {
    let visits = 0;
    const error = await serving(
      (_request, response) => {
        visits += 1;
        response.end();
      },
      (inside) => answered((request, response) => xml(status, 'Moved', '', { location: inside })(request, response)),
    );
    expect(error).toBeInstanceOf(Permanent);
    expect(visits).toBe(0);
  });

  test.each([
    [503, 'SlowDown'],
    [500, 'InternalError'],
    [400, 'RequestTimeout'],
    [429, 'TooManyRequests'],
    [409, 'OperationAborted'],
  ])('of %i %s is tried again later', async (status, code) => {
    const error = await answered(xml(status, code));
    expect(error).toBeInstanceOf(Transient);
    expect(error.message).toContain(`answered ${status} ${code}`);
  });

  test('that passes is met by the SDK itself, at most twice', async () => {
    let requests = 0;
    await answered((request, response) => {
      requests += 1;
      xml(503, 'SlowDown')(request, response);
    });
    expect(requests).toBe(3);
  });

  test('of a server that does not speak the protocol is for the customer to mend', async () => {
    const error = await answered((request, response) => {
      request.resume();
      response.writeHead(404, { 'content-type': 'text/html' }).end('<html><p>Not here');
    });
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toContain('Check bucket_name, region and endpoint_url.');
  });

  test('of a server that is down is tried again later', async () => {
    const error = await failure({ endpoint_url: 'http://127.0.0.1:1' });
    expect(error).toBeInstanceOf(Transient);
    expect(error.message).toContain("Could not reach bucket 'exports' at http://127.0.0.1:1: ");
  });

  test('of a connection that breaks is tried again later', async () => {
    expect(await answered((request) => request.socket.destroy())).toBeInstanceOf(Transient);
  });

  test('of a host that does not exist is for the customer to mend', async () => {
    const nowhere = ((_host: string, _options: object, done: (error: Error) => void) => {
      done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    }) as unknown as typeof lookup;
    const outbound = openOutbound({ privateAddresses: false }, nowhere);
    const error = await failure({ endpoint_url: 'http://nobody.com' }, { outbound });
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toBe("There is no host for bucket 'exports' at http://nobody.com. Correct endpoint_url.");
  });

  test('of a server without TLS says so', async () => {
    const error = await failure({ endpoint_url: bucket.url.replace('http:', 'https:') });
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toContain('does not speak TLS');
  });

  test('of an address that is not public says so, where only those are allowed', async () => {
    const error = await failure({}, { outbound: openOutbound({ privateAddresses: false }) });
    expect(error).toBeInstanceOf(Permanent);
    expect(error.message).toContain("Address '127.0.0.1' is not public");
    expect(await bucket.keys()).toEqual([]);
  });

  test('to list uploads for want of permission is told, and harms nothing', async () => {
    const said: string[] = [];
    const say = (_level: string, message: string) => said.push(message);
    await serving(xml(403, 'AccessDenied'), (endpoint_url) =>
      s3.discard(given(1, { endpoint_url }, { say }), undefined),
    );
    expect(said).toEqual([expect.stringContaining('grant s3:ListBucketMultipartUploads')]);
  });
});

describe('a config', () => {
  const refusal = (config: object, privateAddresses = false) => {
    const whole = { ...bucket.config, endpoint_url: null, ...config };
    const reach = { privateAddresses, folderRoots: undefined, dataDirectory: null };
    return toldOf(() => s3.check(delivery(s3, whole, 0).config, 'events', reach));
  };

  test.each([
    ['an empty name', { bucket_name: '' }, "The following inputs are empty: ['bucket_name']"],
    [
      'three empty inputs',
      { bucket_name: ' ', region: '', prefix: '' },
      "The following inputs are empty: ['bucket_name', 'region', 'prefix']",
    ],
    ['an unknown format', { file_format: 'CSV' }, 'File format CSV is not supported'],
    ['unknown encryption', { encryption: 'rot13' }, "encryption must be one of ['AES256', 'aws:kms']"],
    [
      'an ARN at another server',
      { bucket_name: 'arn:aws:s3:eu-central-1:123456789012:accesspoint/a', endpoint_url: 'https://s3.example.org' },
      'bucket_name must be the name of the bucket, not an ARN, where there is an endpoint_url.',
    ],
    ['a key of KMS alone', { kms_key_id: 'k' }, "kms_key_id is for encryption 'aws:kms' only."],
    ['a key of KMS for S3', { encryption: 'AES256', kms_key_id: 'k' }, "kms_key_id is for encryption 'aws:kms' only."],
    ['a region that would change the host', { region: 'example.com/#' }, 'region must be the name of a region'],
    ['a secret of two lines', { aws_secret_access_key: 'a\nb' }, 'aws_secret_access_key holds characters'],
    ['an endpoint that is no URL', { endpoint_url: 'minio:9000' }, 'is not a valid address'],
    ['an endpoint that is not public', { endpoint_url: 'http://169.254.169.254' }, 'is not public'],
    ['a prefix of 1,000 bytes', { prefix: 'é'.repeat(500) }, 'prefix is too long'],
  ])('with %s is refused', (_what, config, text) => {
    expect(refusal(config)).toEqual([400, 'destination', expect.stringContaining(text)]);
  });

  test.each(['B_B/..', 'bucket/folder', 's3://bucket', 'a b', 'my_bucket?x=1#', '..', 'b'.repeat(256)])(
    "with '%s' for a bucket is refused",
    (bucket_name) => {
      const text = "bucket_name must be the bucket's name alone, such as my-bucket; folders go into prefix.";
      expect(refusal({ bucket_name })).toEqual([400, 'destination', text]);
    },
  );

  test.each([
    ['what is required', {}],
    ['a prefix of a slash', { prefix: '/' }],
    ['the name of an old bucket', { bucket_name: 'Old_Bucket.2009' }],
    ['an access point', { bucket_name: 'arn:aws:s3:eu-central-1:123456789012:accesspoint/a' }],
    ['a bucket of a tenant', { bucket_name: 'tenant:bucket', endpoint_url: 'https://s3.example-cloud.com' }],
    ['a public endpoint', { endpoint_url: 'https://s3.example-cloud.com', use_virtual_style_addressing: true }],
    ['empty text where null is meant', { endpoint_url: '', encryption: '', kms_key_id: '', compression: '' }],
  ])('with %s is fine', (_what, config) => {
    expect(refusal(config)).toBeUndefined();
  });

  test('may lead to this machine where that is allowed', () => {
    expect(refusal({ endpoint_url: bucket.url }, true)).toBeUndefined();
  });
});

describe('the server that is asked', () => {
  /** The host that a config leads to; nothing is sent. */
  const hostOf = async (config: object): Promise<string> => {
    let host = '';
    const resolve = ((hostname: string, _options: object, done: (error: Error) => void) => {
      host = hostname;
      done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    }) as unknown as typeof lookup;
    const outbound = openOutbound({ privateAddresses: false }, resolve);
    await expect(check(s3, given(0, config, { outbound }))).rejects.toThrow('There is no host');
    return host;
  };

  test("is AWS's in the region, whatever settings for AWS this machine has", async () => {
    process.env['AWS_ENDPOINT_URL'] = bucket.url;
    try {
      expect(await hostOf({ endpoint_url: null, region: 'eu-west-1' })).toBe('exports.s3.eu-west-1.amazonaws.com');
    } finally {
      delete process.env['AWS_ENDPOINT_URL'];
    }
  });

  test('is the endpoint, with the bucket in the host only when asked for', async () => {
    const endpoint_url = 'https://minio.somewhere.com:9000';
    expect(await hostOf({ endpoint_url })).toBe('minio.somewhere.com');
    expect(await hostOf({ endpoint_url, use_virtual_style_addressing: true })).toBe('exports.minio.somewhere.com');
  });
});

describe('the check of a bucket', () => {
  const checked = (config: object) => check(s3, given(0, config));

  test('passes when it exists', async () => {
    await expect(checked({})).resolves.toBeUndefined();
  });

  test('passes for a key that may list what begins with the prefix of the export alone', async () => {
    const limited = await startHttpProxy(bucket.url, ({ url = '' }) => {
      const { searchParams } = new URL(url, bucket.url);
      return searchParams.get('prefix')?.startsWith('a/b/') ? 'passes' : 'is refused';
    });
    const endpoint_url = limited.url;
    const passed = checked({ endpoint_url, prefix: '/a/b/{year}' });
    await expect(passed).resolves.toBeUndefined();
    await expect(checked({ endpoint_url, prefix: 'a' })).rejects.toThrow("We couldn't access bucket");
    await limited.close();
  });

  test('says that it does not exist', async () => {
    await expect(checked({ bucket_name: 'nobody-has-it' })).rejects.toThrow(
      new Permanent("Bucket 'nobody-has-it' does not exist or we don't have permissions to use it"),
    );
  });

  test.each([
    ['a page', '<!doctype html><html><body>Welcome</body></html>'],
    ['a text', 'x'.repeat(1000)],
    ['nothing', ''],
  ])('says that a server which answers 200 and %s is none of S3', async (_what, text) => {
    const everything: RequestListener = (request, response) => void (request.resume(), response.end(text));
    await serving(everything, async (endpoint_url) => {
      await expect(checked({ endpoint_url })).rejects.toThrow(
        /does not list a bucket as S3 does\. Check endpoint_url\./,
      );
    });
  });

  test.each([
    ['obeyed', undefined],
    ['refused', expect.stringContaining('The server does not know conditional writes')],
    ['ignored', expect.stringContaining('The server does not know conditional writes')],
  ] as const)('tells where conditions of writes are %s, and leaves nothing', async (conditions, message) => {
    const server = await startBucket(conditions);
    const [, step] = s3.steps;
    const one = given(0, { endpoint_url: server.url });
    const found = await check(s3, one, 1);
    const keys = await server.keys();
    await server.close();
    expect(found).toEqual(message);
    expect(keys).toEqual([]);
    expect(step?.skipped?.(one.config)).toBeUndefined();
    expect(step?.skipped?.({ ...one.config, endpoint_url: null })).toBe('S3 itself refuses.');
  });

  test('names the object that such a server stored and the key may not remove', async () => {
    const server = await startBucket('ignored');
    const refusing = await startHttpProxy(server.url, ({ method }) => (method === 'DELETE' ? 'is refused' : 'passes'));
    const found = await check(s3, given(0, { endpoint_url: refusing.url }), 1);
    const keys = await server.keys();
    await Promise.all([refusing.close(), server.close()]);
    expect(keys).toHaveLength(1);
    expect(found).toMatch(/^The server does not know conditional writes/);
    expect(found).toMatch(new RegExp(` '${keys[0]}' could not be removed: grant s3:DeleteObject, and remove it\\.$`));
  });

  test('says that the server cannot be reached', async () => {
    await expect(checked({ endpoint_url: 'http://127.0.0.1:1' })).rejects.toThrow('Could not reach');
  });
});
