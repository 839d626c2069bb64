/** A customer's bucket, on S3 or on a server that speaks its protocol: the client, and what its failures mean. */
import { Readable } from 'node:stream';
import type { S3 } from '@aws-sdk/client-s3';
import { messageOf } from '../../../basics/text.ts';
import { MIB, MINUTE_MS, SECOND_MS } from '../../../basics/units.ts';
import { withoutSecret } from '../../../basics/without-secret.ts';
import { Permanent, Transient } from '../../../ports/errors.ts';
import { BAD_CERTIFICATE, type Outbound } from '../../../ports/outbound/outbound.ts';

/** Where the bucket is, and with whose key it is reached. */
export interface BucketConfig {
  readonly bucket_name: string;
  readonly region: string;
  readonly aws_access_key_id: string;
  readonly aws_secret_access_key: string;
  /** Null: AWS. */
  readonly endpoint_url: string | null;
  readonly use_virtual_style_addressing: boolean;
  /** By which objects are encrypted; null or absent: as the bucket is set. */
  readonly kms_key_id?: string | null;
}

/** What a region is called: it becomes a part of a host's name. */
export const REGION = /^[a-z0-9-]{1,63}$/i;

/** What an access key and its secret are made of. */
export const ACCESS_KEY = /^[\x21-\x7e]+$/;

/** How long a server may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 10 * SECOND_MS;

/** How long no byte may move: a part of 8 MiB may take longer in all. */
const IDLE_TIMEOUT_MS = MINUTE_MS;

/**
 * Bytes that are read of one answer, and of all that a client gets: the largest are the pages of a list, a thousand names
 * each, and an interval has 100,000 files at most.
 */
const ANSWER_BYTES = { one: 8 * MIB, all: 64 * MIB };

/** How the list of a bucket begins. The SDK takes anything for one, as an empty one. */
const LIST_ROOT = /^[^<]{0,3}(<\?xml[^>]*>\s*)?<(\w+:)?ListBucketResult[\s/>]/;

/**
 * Returns a client that reaches only what `outbound` lets through, with no other credentials than the customer's. Each of
 * its requests ends when the signal is aborted, unless it was given another one, and when its answer is larger
 * than any that is asked for: what lists say is held. A list must be one: whoever answers 200 to everything is no bucket.
 */
export async function connect(
  config: BucketConfig,
  { httpAgent, httpsAgent }: Outbound,
  signal: AbortSignal,
): Promise<S3> {
  // Loaded when first used: those who only read a config need not wait for it.
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3({
    region: config.region,
    credentials: { accessKeyId: config.aws_access_key_id, secretAccessKey: config.aws_secret_access_key },
    ...(config.endpoint_url ? compatible(config.endpoint_url, config) : { ignoreConfiguredEndpointUrls: true }),
    maxAttempts: 3,
    requestHandler: { httpAgent, httpsAgent, connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: IDLE_TIMEOUT_MS },
    expectContinueHeader: false,
  });
  const { requestHandler } = client.config;
  const handle = requestHandler.handle.bind(requestHandler);
  let left = ANSWER_BYTES.all;
  requestHandler.handle = async (request, options) => {
    const { response } = await handle(request, { abortSignal: signal, ...options });
    const body = await wholeAnswer(response.body as Readable, Math.min(ANSWER_BYTES.one, left), config);
    left -= body.length;
    const isList = request.query['list-type'] !== undefined && response.statusCode === 200;
    if (isList && !LIST_ROOT.test(body.toString('latin1', 0, 1024))) {
      throw new Permanent(
        `The server for ${bucketLabel(config)} does not list a bucket as S3 does. Check endpoint_url.`,
      );
    }
    response.body = Readable.from(body);
    return { response };
  };
  return client;
}

/** Returns the body of an answer. Throws `Permanent` when it has more bytes than `most`. */
async function wholeAnswer(body: AsyncIterable<Buffer>, most: number, config: BucketConfig): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > most) {
      throw new Permanent(`The server for ${bucketLabel(config)} answers more than S3 ever does. Check endpoint_url.`);
    }
  }
  return Buffer.concat(pieces);
}

/** How long the requests may take by which what was begun is taken away, also when the delivery was stopped. */
export const CLEANING_TIMEOUT_MS = 10 * SECOND_MS;

/** Servers that speak S3's protocol know neither its newer checksums nor, mostly, buckets as host names. */
const compatible = (endpoint: string, { use_virtual_style_addressing }: BucketConfig) =>
  ({
    endpoint,
    forcePathStyle: !use_virtual_style_addressing,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  }) as const;

/** What the SDK, Node's network and TLS say about a failure; any of it may be missing. */
interface Clues {
  readonly name?: string;
  readonly code?: string;
  readonly Region?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

const cluesOf = (error: unknown): Clues => error ?? {};

export const nameOf = (error: unknown): string => cluesOf(error).name ?? '';

export const statusOf = (error: unknown): number | undefined => cluesOf(error).$metadata?.httpStatusCode;

export const bucketLabel = ({ bucket_name, endpoint_url, region }: BucketConfig): string =>
  `bucket '${bucket_name}' ${endpoint_url ? `at ${endpoint_url}` : `in region ${region}`}`;

/** Returns what a server says of a failure, without the key that it was sent. */
const saying = ({ aws_access_key_id }: BucketConfig, error: unknown): string =>
  withoutSecret(messageOf(error), aws_access_key_id);

type Advice = (config: BucketConfig, error: unknown) => string;

const denied: Advice = (config, error) =>
  `Access to ${bucketLabel(config)} was denied (${saying(config, error)}). Allow the key s3:PutObject and ` +
  's3:AbortMultipartUpload there, or use another key.';

const badKey: Advice = (config) =>
  `The access key for ${bucketLabel(config)} is not known, or has expired. Send a valid aws_access_key_id and its secret.`;

const badEncryptionKey: Advice = (config, error) =>
  `${bucketLabel(config)} could not encrypt with the key '${config.kms_key_id}' (${saying(config, error)}). Correct kms_key_id, or ` +
  'enable the key and allow its use.';

const wrongRegion: Advice = (config, error) => {
  const { Region, $response } = cluesOf(error);
  const right = $response?.headers?.['x-amz-bucket-region'] ?? Region;
  const advice = right === undefined ? "Correct region to the bucket's own." : `Set region to '${right}'.`;
  return `Bucket '${config.bucket_name}' is not in region '${config.region}'. ${advice}`;
};

/** What to do about errors that only a person can mend, by S3's name of the error or Node's code. */
const MENDABLE: ReadonlyMap<string, Advice> = new Map<string, Advice>([
  ['NoSuchBucket', (config) => `There is no ${bucketLabel(config)}. Create it, or correct bucket_name.`],
  ['InvalidBucketName', (config) => `'${config.bucket_name}' is no valid name of a bucket. Correct bucket_name.`],
  ['AccessDenied', denied],
  ['InvalidAccessKeyId', badKey],
  ['ExpiredToken', badKey],
  ['InvalidToken', badKey],
  [
    'SignatureDoesNotMatch',
    (config) => `The secret key for ${bucketLabel(config)} is wrong. Send aws_access_key_id and its secret again.`,
  ],
  ['PermanentRedirect', wrongRegion],
  ['AuthorizationHeaderMalformed', wrongRegion],
  ['IllegalLocationConstraintException', wrongRegion],
  [
    'ENOTFOUND',
    (config) =>
      `There is no host for ${bucketLabel(config)}. Correct ${config.endpoint_url ? 'endpoint_url' : 'region'}.`,
  ],
  [
    'EPROTO',
    (config) =>
      `The server for ${bucketLabel(config)} does not speak TLS. Use http:// in endpoint_url, or another port.`,
  ],
]);

/** Errors of S3 that pass, though their status says that the request was wrong. */
const PASSING = /^(RequestTimeout|RequestTimeTooSkewed|OperationAborted|BadDigest|IncompleteBody|NoSuchUpload)$/;

/** Returns `Permanent` or `Transient`: what went wrong, where, what to do. What came neither from S3 nor from its SDK stays. */
export function explain(error: unknown, config: BucketConfig): unknown {
  const { name = '', code = '', $metadata } = cluesOf(error);
  if (error instanceof Permanent || error instanceof Transient) return error;
  // Of the name of a bucket with a slash S3 is not asked: its SDK says so in the words of S3.
  if ($metadata === undefined && !MENDABLE.has(name)) return error;
  const status = $metadata?.httpStatusCode;
  const place = bucketLabel(config);
  const permanent = (text: string): Permanent => new Permanent(text, { cause: error });

  if (name.startsWith('KMS.')) return permanent(badEncryptionKey(config, error));
  const advice = MENDABLE.get(name) ?? MENDABLE.get(code);
  if (advice !== undefined) return permanent(advice(config, error));
  if (BAD_CERTIFICATE.test(code)) {
    return permanent(
      `The certificate of the server for ${place} is not accepted (${messageOf(error)}). It must be valid, for this ` +
        'name, and signed by a public authority.',
    );
  }
  if (status === undefined) return new Transient(`Could not reach ${place}: ${messageOf(error)}.`, { cause: error });
  const answer = `The server for ${place} answered ${status} ${name}: ${saying(config, error)}.`;
  if (PASSING.test(name) || status >= 500 || status === 408 || status === 429) {
    return new Transient(answer, { cause: error });
  }
  if (status === 301) return permanent(wrongRegion(config, error));
  if (status === 401 || status === 403) return permanent(denied(config, error));
  return permanent(`${answer} Check bucket_name, region and endpoint_url.`);
}
