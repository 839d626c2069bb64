import type { CompletedPart, S3 } from '@aws-sdk/client-s3';
import * as z from 'zod';
import { invalid, messageOf, Permanent, Transient } from '../../errors.ts';
import type { Delivery, Destination, Receipt } from './destination.ts';
import { checkFileConfig, FILE_KEYS, listed, objectBytes, objectName, SAMPLE_SLOT } from './files.ts';
import { checkUrl, type Outbound } from './outbound.ts';

const S3Config = z.object({
  bucket_name: z.string(),
  region: z.string(),
  prefix: z.string(),
  aws_access_key_id: z.string(),
  aws_secret_access_key: z.string(),
  ...FILE_KEYS,
  encryption: z.string().nullable().default(null),
  kms_key_id: z.string().nullable().default(null),
  endpoint_url: z.string().nullable().default(null),
  use_virtual_style_addressing: z.boolean().default(false),
  legacy_parquet_extension: z.boolean().default(false),
});

type S3Config = z.infer<typeof S3Config>;

/** An object that waits to become visible: a multipart upload, or (below one part) bytes that are not sent yet. */
interface S3Receipt extends Receipt {
  readonly key: string;
  readonly upload: { readonly id: string; readonly parts: CompletedPart[] } | null;
}

/** S3 takes parts of 5 MiB and more; its small servers want all parts but the last to be of one size. */
const PART_BYTES = 8 * 1024 * 1024;

/** S3's own limit: with parts of 8 MiB an object of 78 GiB. */
const MAX_PARTS = 10_000;

/** S3's limit of a key. */
const MAX_KEY_BYTES = 1024;

/** Bytes of small objects between `deliver` and `commit`; after a crash they are read again. */
const waiting = new WeakMap<Receipt, Buffer>();

/**
 * A bucket on S3 or on a server that speaks its protocol. `deliver` sends a multipart upload, which nobody sees;
 * `commit` completes it. An object below one part is one PutObject in `commit`. The object's metadata names run and
 * token: by it a commit that was cut off knows its own work.
 */
export const s3: Destination<S3Config> = {
  type: 'S3',
  config: S3Config,
  secrets: ['aws_access_key_id', 'aws_secret_access_key'],
  addresses: ['endpoint_url'],

  check(config, _model, reach) {
    const empty = (['bucket_name', 'region', 'prefix', 'aws_access_key_id', 'aws_secret_access_key'] as const).filter(
      (key) => config[key].trim() === '',
    );
    if (empty.length > 0) invalid('destination', `The following inputs are empty: ${listed(empty)}`);
    checkFileConfig(config);
    for (const key of ['encryption', 'kms_key_id', 'legacy_parquet_extension'] as const) {
      if (config[key]) invalid('destination', `${key} is not available yet. Leave it out.`);
    }
    if (!/^[a-z0-9-]{1,63}$/i.test(config.region)) {
      invalid('destination', 'region must be the name of a region, such as us-east-1.');
    }
    for (const key of ['aws_access_key_id', 'aws_secret_access_key'] as const) {
      if (!/^[\x21-\x7e]+$/.test(config[key])) invalid('destination', `${key} holds characters that no key has.`);
    }
    if (config.endpoint_url) checkUrl(config.endpoint_url, reach);
    if (Buffer.byteLength(objectName(config, SAMPLE_SLOT)) > MAX_KEY_BYTES) {
      invalid('destination', `prefix is too long: an object's whole name may have ${MAX_KEY_BYTES} bytes.`);
    }
  },

  steps: [
    {
      name: 'Check S3 bucket exists',
      description: 'Ensure the configured S3 bucket exists and that we have the required permissions to access it.',
      async run(config, outbound, _reach, signal) {
        const { bucket_name } = config;
        const client = await connect(config, outbound);
        try {
          await client.headBucket({ Bucket: bucket_name }, { abortSignal: signal });
        } catch (error) {
          const status = statusOf(error);
          if (status === 404) {
            throw new Permanent(`Bucket '${bucket_name}' does not exist or we don't have permissions to use it`);
          }
          if (status === 403) {
            throw new Permanent(
              `We couldn't access bucket '${bucket_name}'. Check the provided credentials, endpoint, and whether the ` +
                'necessary permissions to access the bucket have been granted',
            );
          }
          throw explain(error, config);
        }
      },
    },
  ],

  async deliver(delivery): Promise<S3Receipt> {
    const client = await connect(delivery.config, delivery.outbound);
    return explained(delivery, () => upload(client, delivery));
  },

  async commit(delivery, receipt) {
    const client = await connect(delivery.config, delivery.outbound);
    await explained(delivery, async () => {
      if (await complete(client, delivery, receipt as S3Receipt)) return;
      // What deliver prepared is gone; the rows are still there.
      if (await complete(client, delivery, await upload(client, delivery))) return;
      throw new Transient(`The upload to ${placeOf(delivery.config)} was aborted from outside, twice.`);
    });
  },

  async discard(delivery, receipt) {
    const client = await connect(delivery.config, delivery.outbound);
    const known = receipt as S3Receipt | undefined;
    const key = known?.key ?? objectName(delivery.config, delivery);
    await explained({ config: delivery.config }, async () => {
      if (known?.upload) await abort(client, delivery.config, key, known.upload.id, delivery.signal);
      await abortLeftovers(client, delivery, key);
    });
  },
};

/** A client that reaches only what `outbound` lets through, with no other credentials than the customer's. */
async function connect(config: S3Config, { httpAgent, httpsAgent }: Outbound): Promise<S3> {
  // Loaded when first used: those who only read a config need not wait for it.
  const sdk = await import('@aws-sdk/client-s3');
  return new sdk.S3({
    region: config.region,
    credentials: { accessKeyId: config.aws_access_key_id, secretAccessKey: config.aws_secret_access_key },
    ...(config.endpoint_url ? compatible(config.endpoint_url, config) : { ignoreConfiguredEndpointUrls: true }),
    maxAttempts: 3,
    // A part of 8 MiB has 60 s without a byte moving, not 60 s in all.
    requestHandler: { httpAgent, httpsAgent, connectionTimeout: 10_000, socketTimeout: 60_000 },
    expectContinueHeader: false,
  });
}

/** Servers that speak S3's protocol know neither its newer checksums nor, mostly, buckets as host names. */
const compatible = (endpoint: string, { use_virtual_style_addressing }: S3Config) =>
  ({
    endpoint,
    forcePathStyle: !use_virtual_style_addressing,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  }) as const;

/** What of an object is the same however it is sent. */
const headOf = ({ config, runId, token }: Delivery<S3Config>, Key: string) => ({
  Bucket: config.bucket_name,
  Key,
  ContentType: config.compression ? 'application/gzip' : 'application/x-ndjson',
  Metadata: { run: runId, token },
});

/** Sends all but the last act. Memory: at most three parts. */
async function upload(client: S3, delivery: Delivery<S3Config>): Promise<S3Receipt> {
  const { config, signal } = delivery;
  const key = objectName(config, delivery);
  const bodies = inParts(objectBytes(config, delivery));
  const first = (await bodies.next()).value ?? Buffer.alloc(0);
  if (first.length < PART_BYTES) {
    const receipt = { bytes: first.length, key, upload: null };
    waiting.set(receipt, first);
    return receipt;
  }
  await abortLeftovers(client, delivery, key);
  const head = headOf(delivery, key);
  const { UploadId: id = '' } = await client.createMultipartUpload(head, { abortSignal: signal });
  const sent: Promise<CompletedPart>[] = [];
  let bytes = 0;
  const send = async (body: Buffer): Promise<void> => {
    if (sent.length === MAX_PARTS) throw new Permanent(TOO_LARGE);
    // One part may still be on its way when the next one starts.
    await sent.at(-2);
    const PartNumber = sent.length + 1;
    const part = client
      .uploadPart({ Bucket: head.Bucket, Key: key, UploadId: id, PartNumber, Body: body }, { abortSignal: signal })
      .then(({ ETag, ChecksumCRC32 }) => ({ PartNumber, ETag, ...(ChecksumCRC32 && { ChecksumCRC32 }) }));
    part.catch(() => {});
    sent.push(part);
    bytes += body.length;
  };
  try {
    await send(first);
    for await (const body of bodies) await send(body);
    return { bytes, key, upload: { id, parts: await Promise.all(sent) } };
  } catch (error) {
    await Promise.allSettled(sent);
    await abort(client, config, key, id).catch(() => {});
    throw error;
  }
}

const TOO_LARGE =
  'An object of more than 78 GiB (10,000 parts of 8 MiB) cannot be sent. Use a shorter interval, or compression gzip.';

/** The same bytes in buffers of one size; the last may be shorter. */
async function* inParts(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    let rest = chunk;
    while (bytes + rest.length >= PART_BYTES) {
      const cut = PART_BYTES - bytes;
      yield Buffer.concat([...chunks, rest.subarray(0, cut)]);
      [chunks, bytes, rest] = [[], 0, rest.subarray(cut)];
    }
    if (rest.length > 0) {
      chunks.push(rest);
      bytes += rest.length;
    }
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}

/** Makes the object visible. False: what `deliver` prepared is gone, and the object there is not of this attempt. */
async function complete(client: S3, delivery: Delivery<S3Config>, receipt: S3Receipt): Promise<boolean> {
  const { key, upload: prepared } = receipt;
  if (prepared === null) {
    const body = waiting.get(receipt);
    if (body !== undefined) await client.putObject({ ...headOf(delivery, key), Body: body });
    return body !== undefined;
  }
  try {
    await client.completeMultipartUpload({
      Bucket: delivery.config.bucket_name,
      Key: key,
      UploadId: prepared.id,
      MultipartUpload: { Parts: prepared.parts },
    });
    return true;
  } catch (error) {
    if (nameOf(error) === 'NoSuchUpload') return isOurs(client, delivery, key);
    throw error;
  }
}

async function isOurs(client: S3, { config, runId, token }: Delivery<S3Config>, Key: string): Promise<boolean> {
  try {
    const { Metadata = {} } = await client.headObject({ Bucket: config.bucket_name, Key });
    return Metadata['run'] === runId && Metadata['token'] === token;
  } catch (error) {
    if (statusOf(error) === 404 || statusOf(error) === 403) return false;
    throw error;
  }
}

/** Fine when the upload is gone. */
async function abort(
  client: S3,
  { bucket_name }: S3Config,
  Key: string,
  UploadId: string,
  abortSignal?: AbortSignal,
): Promise<void> {
  try {
    await client.abortMultipartUpload({ Bucket: bucket_name, Key, UploadId }, abortSignal && { abortSignal });
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

/**
 * Aborts uploads to this key that earlier attempts left behind; only one attempt at a time holds a slot. A key has few
 * of them, so the first page (1,000) holds all.
 */
async function abortLeftovers(client: S3, delivery: Delivery<S3Config>, key: string): Promise<void> {
  const { config, signal } = delivery;
  try {
    const { Uploads = [] } = await client.listMultipartUploads(
      { Bucket: config.bucket_name, Prefix: key },
      { abortSignal: signal },
    );
    for (const { Key, UploadId } of Uploads) {
      if (Key === key && UploadId !== undefined) await abort(client, config, key, UploadId, signal);
    }
  } catch (error) {
    if (statusOf(error) !== 403 && statusOf(error) !== 501) throw error;
    delivery.say(
      'WARNING',
      `Unfinished uploads of earlier attempts at '${key}' could not be removed, and may cost storage: grant ` +
        's3:ListBucketMultipartUploads and s3:AbortMultipartUpload, or let a lifecycle rule of the bucket remove them.',
    );
  }
}

async function explained<T>(
  { config, signal }: { config: S3Config; signal?: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    throw explain(error, config);
  }
}

/** What the SDK, Node's network and TLS say about a failure; any of it may be missing. */
interface Clues {
  readonly name?: string;
  readonly code?: string;
  readonly Region?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

const cluesOf = (error: unknown): Clues => error ?? {};

const nameOf = (error: unknown): string => cluesOf(error).name ?? '';

const statusOf = (error: unknown): number | undefined => cluesOf(error).$metadata?.httpStatusCode;

const placeOf = ({ bucket_name, endpoint_url, region }: S3Config): string =>
  `bucket '${bucket_name}' ${endpoint_url ? `at ${endpoint_url}` : `in region ${region}`}`;

type Advice = (config: S3Config, error: unknown) => string;

const denied: Advice = (config, error) =>
  `Access to ${placeOf(config)} was denied (${messageOf(error)}). Allow the key s3:PutObject and ` +
  's3:AbortMultipartUpload there, or use another key.';

const badKey: Advice = (config) =>
  `The access key for ${placeOf(config)} is not known, or has expired. Send a valid aws_access_key_id and its secret.`;

const wrongRegion: Advice = (config, error) => {
  const { Region, $response } = cluesOf(error);
  const right = $response?.headers?.['x-amz-bucket-region'] ?? Region;
  const advice = right === undefined ? "Correct region to the bucket's own." : `Set region to '${right}'.`;
  return `Bucket '${config.bucket_name}' is not in region '${config.region}'. ${advice}`;
};

/** What only a person can mend, by S3's name of the error or Node's code. */
const MENDABLE: ReadonlyMap<string, Advice> = new Map<string, Advice>([
  ['NoSuchBucket', (config) => `There is no ${placeOf(config)}. Create it, or correct bucket_name.`],
  ['InvalidBucketName', (config) => `'${config.bucket_name}' is no valid name of a bucket. Correct bucket_name.`],
  ['AccessDenied', denied],
  ['InvalidAccessKeyId', badKey],
  ['ExpiredToken', badKey],
  ['InvalidToken', badKey],
  [
    'SignatureDoesNotMatch',
    (config) => `The secret key for ${placeOf(config)} is wrong. Send aws_access_key_id and its secret again.`,
  ],
  ['PermanentRedirect', wrongRegion],
  ['AuthorizationHeaderMalformed', wrongRegion],
  ['IllegalLocationConstraintException', wrongRegion],
  [
    'ENOTFOUND',
    (config) => `There is no host for ${placeOf(config)}. Correct ${config.endpoint_url ? 'endpoint_url' : 'region'}.`,
  ],
  [
    'EPROTO',
    (config) => `The server for ${placeOf(config)} does not speak TLS. Use http:// in endpoint_url, or another port.`,
  ],
]);

/** Errors of certificates, by Node's code. */
const BAD_CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/;

/** Errors of S3 that pass, though their status says that the request was wrong. */
const PASSING = /^(RequestTimeout|RequestTimeTooSkewed|OperationAborted|BadDigest|IncompleteBody|NoSuchUpload)$/;

/** What went wrong, where, what to do, and whether trying again can help. What did not come from S3 stays as it is. */
function explain(error: unknown, config: S3Config): unknown {
  const { name = '', code = '', $metadata } = cluesOf(error);
  if (error instanceof Permanent || error instanceof Transient || $metadata === undefined) return error;
  const { httpStatusCode: status } = $metadata;
  const place = placeOf(config);
  const permanent = (text: string): Permanent => new Permanent(text, { cause: error });

  const advice = MENDABLE.get(name) ?? MENDABLE.get(code);
  if (advice !== undefined) return permanent(advice(config, error));
  if (BAD_CERTIFICATE.test(code)) {
    return permanent(
      `The certificate of the server for ${place} is not accepted (${messageOf(error)}). It must be valid, for this ` +
        'name, and signed by a public authority.',
    );
  }
  if (status === undefined) return new Transient(`Could not reach ${place}: ${messageOf(error)}.`, { cause: error });
  const answer = `The server for ${place} answered ${status} ${name}: ${messageOf(error)}.`;
  if (PASSING.test(name) || status >= 500 || status === 408 || status === 429) {
    return new Transient(answer, { cause: error });
  }
  if (status === 301) return permanent(wrongRegion(config, error));
  if (status === 401 || status === 403) return permanent(denied(config, error));
  return permanent(`${answer} Check bucket_name, region and endpoint_url.`);
}
