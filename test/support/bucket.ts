import { S3 } from '@aws-sdk/client-s3';
import { buildApp } from 'fauxqs';
import { compareText } from '../../lib/ports/table/semantics.ts';

/** A server that speaks S3's protocol, in this process, with one bucket. */
export interface Bucket {
  readonly url: string;
  readonly client: S3;
  readonly name: string;
  /** The config of an S3 destination that leads here. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Names of all objects. */
  keys(): Promise<string[]>;
  /** An object's bytes and metadata. */
  read(key: string): Promise<{ body: Buffer; metadata: Record<string, string>; type: string | undefined }>;
  /** Names of all uploads that are neither completed nor aborted. */
  uploads(): string[];
  abortUploads(): Promise<void>;
  empty(): Promise<void>;
  close(): Promise<void>;
}

const NAME = 'exports';
const XMLNS = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** What a server does with the conditions of a write: S3 obeys them; others refuse such a write with 501, or ignore them. */
type Conditions = 'obeyed' | 'refused' | 'ignored';

export async function startBucket(conditions: Conditions = 'obeyed'): Promise<Bucket> {
  const app = buildApp({ logger: false });
  const uploads = trackUploads(app);
  if (conditions !== 'ignored') checkConditions(app, conditions === 'refused');
  listInOrder(app);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret-of-the-test' };
  const client = new S3({ endpoint: url, region: 'us-east-1', forcePathStyle: true, credentials });
  await client.createBucket({ Bucket: NAME });
  const keys = async () => {
    const { Contents = [] } = await client.listObjectsV2({ Bucket: NAME });
    return Contents.map(({ Key = '' }) => Key);
  };
  const abortUploads = async () => {
    for (const [UploadId, Key] of uploads) await client.abortMultipartUpload({ Bucket: NAME, Key, UploadId });
  };
  return {
    url,
    client,
    name: NAME,
    config: {
      bucket_name: NAME,
      region: 'us-east-1',
      prefix: 'events',
      aws_access_key_id: credentials.accessKeyId,
      aws_secret_access_key: credentials.secretAccessKey,
      endpoint_url: url,
    },
    keys,
    async read(Key) {
      const { Body, Metadata = {}, ContentType } = await client.getObject({ Bucket: NAME, Key });
      return { body: Buffer.from((await Body?.transformToByteArray()) ?? []), metadata: Metadata, type: ContentType };
    },
    uploads: () => [...uploads.values()],
    abortUploads,
    async empty() {
      await abortUploads();
      for (const Key of await keys()) await client.deleteObject({ Bucket: NAME, Key });
    },
    async close() {
      client.destroy();
      await app.close();
    },
  };
}

/** Returns what an address names: an object, a listing of uploads, or one upload. */
const about = (address: string) => {
  const { pathname, searchParams } = new URL(address, 'http://server');
  const key = decodeURIComponent(pathname.slice(`/${NAME}/`.length));
  return {
    key,
    asks: searchParams.has('uploads'),
    id: searchParams.get('uploadId'),
    prefix: searchParams.get('prefix'),
  };
};

/** Sorts listings by bytes, as S3 does; the server behind sorts as a language does. */
function listInOrder(app: ReturnType<typeof buildApp>): void {
  const keyIn = (object: string): string => /<Key>(.*)<\/Key>/.exec(object)?.[1] ?? '';
  const ordered = (objects: string): string =>
    objects
      .split(/(?=<Contents>)/)
      .toSorted((a, b) => compareText(keyIn(a), keyIn(b)))
      .join('');
  app.addHook('onSend', (_request, _reply, payload, done) => {
    const isListing = typeof payload === 'string' && payload.includes('<ListBucketResult');
    done(null, isListing ? payload.replace(/<Contents>.*<\/Contents>/s, ordered) : payload);
  });
}

/**
 * Lets writes depend on what is there (`If-None-Match: *`, `If-Match` with an ETag), which it learns from the requests
 * that pass: the server behind takes every write.
 */
function checkConditions(app: ReturnType<typeof buildApp>, areRefused: boolean): void {
  const etags = new Map<string, string>();
  app.addHook('preHandler', (request, reply, done) => {
    const { key, asks } = about(request.url);
    const { 'if-none-match': none, 'if-match': same } = request.headers;
    const there = etags.get(key);
    const refuse = (status: number, code: string) =>
      void reply
        .status(status)
        .type('application/xml')
        .send(`<Error><Code>${code}</Code><Message>No.</Message></Error>`);
    if (!['PUT', 'POST'].includes(request.method) || asks || (none ?? same) === undefined) done();
    else if (areRefused) refuse(501, 'NotImplemented');
    else if (same !== undefined && there === undefined) refuse(404, 'NoSuchKey');
    else if (same === undefined ? there !== undefined : there !== same) refuse(412, 'PreconditionFailed');
    else done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const { key, asks, id } = about(request.url);
    const completed = /<ETag>(.+)<\/ETag>/.exec(String(payload))?.[1]?.replaceAll('&quot;', '"');
    const etag = id === null ? reply.getHeader('etag') : completed;
    const isWrite = id === null ? request.method === 'PUT' : request.method === 'POST';
    if (reply.statusCode < 300 && isWrite && !asks && typeof etag === 'string') etags.set(key, etag);
    if (request.method === 'DELETE' && id === null) etags.delete(key);
    done();
  });
}

/**
 * Returns the unfinished uploads (id, key), which it learns from the requests that pass. The server behind cannot list
 * them, so it answers ListMultipartUploads itself.
 */
function trackUploads(app: ReturnType<typeof buildApp>): ReadonlyMap<string, string> {
  const uploads = new Map<string, string>();
  app.addHook('onRequest', (request, reply, done) => {
    const { asks, prefix } = about(request.url);
    if (request.method !== 'GET' || !asks) {
      done();
      return;
    }
    const found = [...uploads].filter(([, key]) => key.startsWith(prefix ?? ''));
    const list = found.map(([id, key]) => `<Upload><Key>${escape(key)}</Key><UploadId>${id}</UploadId></Upload>`);
    void reply
      .type('application/xml')
      .send(`<ListMultipartUploadsResult xmlns="${XMLNS}">${list.join('')}</ListMultipartUploadsResult>`);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const { key, asks, id } = about(request.url);
    const began = /<UploadId>(.+)<\/UploadId>/.exec(String(payload))?.[1];
    if (request.method === 'POST' && asks && began !== undefined) uploads.set(began, key);
    if (request.method !== 'PUT' && id !== null && reply.statusCode < 300) uploads.delete(id);
    done();
  });
  return uploads;
}

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
