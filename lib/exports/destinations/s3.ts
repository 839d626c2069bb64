import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path/posix';
import type { CompletedPart, ListMultipartUploadsCommandOutput, S3, ServerSideEncryption } from '@aws-sdk/client-s3';
import * as z from 'zod';
import { HOUR_MS, MIB } from '../../basics/units.ts';
import { Permanent, Transient } from '../../ports/errors.ts';
import { checkUrl } from '../../ports/outbound/outbound.ts';
import type { Delivery, Destination, Prepared, Receipt } from './destination.ts';
import {
  ACCESS_KEY,
  bucketLabel,
  CLEANING_TIMEOUT_MS,
  connect,
  explain,
  nameOf,
  REGION,
  statusOf,
} from './files/bucket.ts';
import { checkFileConfig, FILE_KEYS } from './files/config.ts';
import { intervalFiles } from './files/interval-files.ts';
import {
  certainNames,
  fileName,
  type IntervalNames,
  intervalNames,
  isFileOf,
  longestNames,
  manifestName,
  manifestText,
  strayNames,
} from './files/names.ts';
import { etagOfOurs, isConditionFailure, isOurs, isUnknownCondition, look, writeOurs } from './files/own-objects.ts';
import { checkFilled, listed, refuseConfig } from './refusal.ts';

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

/** Objects that wait to become visible. */
interface S3Receipt extends Receipt {
  readonly names: IntervalNames;
  /** In the order in which they become visible. */
  readonly objects: readonly WaitingObject[];
  /** The objects have numbers, and a manifest after them. */
  readonly isNumbered: boolean;
  /** The ETags of the objects to be replaced, by key: the export wrote them, and they may change no more. */
  readonly replaced?: Readonly<Record<string, string>>;
  /** What they wait in, as its label names it. Absent from receipts of older versions. */
  readonly bucket?: string;
  /** Objects that were there and count no more, whoever's they are; absent: they could not be listed. */
  readonly strays?: readonly string[];
}

interface WaitingObject {
  readonly key: string;
  /** A multipart upload; null: bytes that are not sent yet. */
  readonly upload: { readonly id: string; readonly parts: CompletedPart[] } | null;
}

/** S3 takes parts of 5 MiB and more; its small servers want all parts but the last to be of one size. */
const PART_BYTES = 8 * MIB;

/** S3's limit: with parts of 8 MiB an object of 78 GiB. */
const MAX_PARTS = 10_000;

const ENCRYPTIONS: readonly string[] = ['AES256', 'aws:kms'];

/**
 * What a bucket is called, here or there: old ones have capitals and underscores, and Ceph tells whose a bucket is before
 * a colon.
 */
const BUCKET_NAME = /^(?!\.\.?$)[\w.:-]{1,255}$/;

/** S3's limit of a key. */
const MAX_KEY_BYTES = 1024;

/** Bytes that are not sent yet, by the object's key; after a crash they are read again. */
type Unsent = ReadonlyMap<string, Buffer>;

type S3Prepared = Prepared<S3Receipt, Unsent>;

/**
 * A bucket on S3 or on a server that speaks its protocol. `deliver` looks what is there and sends multipart uploads,
 * which nobody sees; `commit` completes them, puts the manifest if there is one, and then removes what does not count any
 * more. What is below one part is one PutObject in `commit`. An object's metadata names run and attempt: by it a commit
 * that was cut off knows its own work, and the export whose attempt it is its own objects. No other object is replaced or
 * removed: where none was listed the write has the condition that none is there, elsewhere that it is the one looked at.
 */
export const s3: Destination<S3Config, S3Receipt, Unsent> = {
  type: 'S3',
  config: S3Config,
  secrets: ['aws_access_key_id', 'aws_secret_access_key'],
  addresses: ['endpoint_url', 'bucket_name'],

  check(config, _model, reach) {
    checkFilled(config, ['bucket_name', 'region', 'prefix', 'aws_access_key_id', 'aws_secret_access_key']);
    checkFileConfig(config);
    if (config.encryption && !ENCRYPTIONS.includes(config.encryption)) {
      refuseConfig(`encryption must be one of ${listed(ENCRYPTIONS)}, or null: as the bucket is set.`);
    }
    if (config.kms_key_id && config.encryption !== 'aws:kms') {
      refuseConfig("kms_key_id is for encryption 'aws:kms' only.");
    }
    if (!REGION.test(config.region)) {
      refuseConfig('region must be the name of a region, such as us-east-1.');
    }
    for (const key of ['aws_access_key_id', 'aws_secret_access_key'] as const) {
      if (!ACCESS_KEY.test(config[key])) refuseConfig(`${key} holds characters that no key has.`);
    }
    if (config.endpoint_url && config.bucket_name.startsWith('arn:')) {
      refuseConfig('bucket_name must be the name of the bucket, not an ARN, where there is an endpoint_url.');
    }
    if (!config.bucket_name.startsWith('arn:') && !BUCKET_NAME.test(config.bucket_name)) {
      refuseConfig("bucket_name must be the bucket's name alone, such as my-bucket; folders go into prefix.");
    }
    if (config.endpoint_url) checkUrl(config.endpoint_url, reach);
    if (longestNames(config).some((name) => Buffer.byteLength(name) > MAX_KEY_BYTES)) {
      refuseConfig(`prefix is too long: an object's whole name may have ${MAX_KEY_BYTES} bytes.`);
    }
  },

  steps: [
    {
      name: 'Check S3 bucket exists',
      description: 'Ensure the configured S3 bucket exists and that we have the required permissions to access it.',
      async run(config, outbound, _reach, signal) {
        const { bucket_name } = config;
        const client = await connect(config, outbound, signal);
        // As a delivery does: a key may be limited to what begins so.
        const { stem: Prefix } = intervalNames(config, ANY_INTERVAL);
        try {
          await client.listObjectsV2({ Bucket: bucket_name, Prefix, MaxKeys: 1 });
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
    {
      name: 'Check that the server refuses to replace objects',
      description:
        'Sends a write whose condition does not hold. A server that stores it all the same removes it again.',
      skipped: ({ endpoint_url }) => (endpoint_url ? undefined : 'S3 itself refuses.'),
      async run(config, outbound, _reach, signal) {
        const client = await connect(config, outbound, signal);
        const { stem } = intervalNames(config, ANY_INTERVAL);
        const object = { Bucket: config.bucket_name, Key: `${dirname(stem)}/.${randomUUID()}`.replace(/^\.\//, '') };
        try {
          await client.putObject({ ...object, Body: Buffer.alloc(0), IfMatch: `"${'0'.repeat(32)}"` });
        } catch (error) {
          if (isConditionFailure(error)) return undefined;
          if (!isUnknownCondition(config, error)) throw explain(error, config);
          return NO_CONDITIONS;
        }
        try {
          await client.deleteObject(object);
        } catch (error) {
          const advice = isForbidden(error) ? 'grant s3:DeleteObject, and remove it' : 'remove it';
          return `${NO_CONDITIONS} The check's object '${object.Key}' could not be removed: ${advice}.`;
        }
        return NO_CONDITIONS;
      },
    },
  ],

  places: (config, about) =>
    certainNames(config, about).map((name) => `${config.endpoint_url ?? ''} ${config.bucket_name} ${name}`),

  async deliver(delivery) {
    const client = await connect(delivery.config, delivery.outbound, delivery.signal);
    return explained(delivery, () => upload(client, delivery));
  },

  async commit(delivery, prepared) {
    const client = await connect(delivery.config, delivery.outbound, delivery.signal);
    await explained(delivery, async () => {
      let ready = prepared;
      if (!(await complete(client, delivery, ready))) {
        // What deliver prepared is gone, or in the bucket that the export had; the rows are still there.
        tellOfLeft(delivery, ready.receipt);
        ready = await upload(client, delivery);
        if (!(await complete(client, delivery, ready))) {
          throw new Transient(`The upload to ${bucketLabel(delivery.config)} was aborted from outside, twice.`);
        }
      }
      const { names, objects } = ready.receipt;
      // Not before: what is left of an earlier attempt looks like the upload of another export that is under way. Now
      // the names are ours, and theirs would be refused.
      if (objects.some((object) => object.upload !== null)) await abortLeftovers(client, delivery, names);
      await removeStrays(client, delivery, ready.receipt);
    });
  },

  async discard(delivery, prepared) {
    const client = await connect(delivery.config, delivery.outbound, delivery.signal);
    const known = prepared?.receipt;
    await explained({ config: delivery.config }, async () => {
      for (const { key, upload: one } of known?.objects ?? []) {
        if (one) await abort(client, delivery.config, key, one.id);
      }
      await abortLeftovers(client, delivery, known?.names ?? intervalNames(delivery.config, delivery));
    });
  },
};

/** Whose names stand for those of all intervals in a check. */
const ANY_INTERVAL = { interval: { start: 0, end: HOUR_MS }, model: 'events' } as const;

const NO_CONDITIONS =
  'The server does not know conditional writes (If-None-Match and If-Match). What lies there is looked at before each ' +
  "write, so another's object is replaced only if it comes in the moment between.";

/** Returns what of an object is the same however it is sent. */
const headOf = ({ config, runId, attempt }: Delivery<S3Config>, Key: string, ContentType: string) => ({
  Bucket: config.bucket_name,
  Key,
  ContentType,
  Metadata: { run: runId, attempt },
  ...(config.encryption && { ServerSideEncryption: config.encryption as ServerSideEncryption }),
  ...(config.kms_key_id && { SSEKMSKeyId: config.kms_key_id }),
});

function contentType({ file_format, compression }: S3Config): string {
  if (file_format === 'Parquet') return 'application/vnd.apache.parquet';
  if (compression === 'gzip') return 'application/gzip';
  return compression ? 'application/octet-stream' : 'application/x-ndjson';
}

/** Sends all but what makes it visible. Memory: at most four parts, with what is not sent yet. */
async function upload(client: S3, delivery: Delivery<S3Config>): Promise<S3Prepared> {
  const names = intervalNames(delivery.config, delivery);
  const there = await keysLike(client, delivery, names);
  const replaced: Record<string, string> = {};
  const objects: Promise<WaitingObject>[] = [];
  const begun: { readonly key: string; readonly id: string }[] = [];
  const sent: Promise<CompletedPart>[] = [];
  const unsent = new Map<string, Buffer>();
  let [bytes, unsentBytes, isNumbered] = [0, 0, false];

  const send = async (UploadId: string, Key: string, PartNumber: number, Body: Buffer) => {
    if (PartNumber > MAX_PARTS) throw new Permanent(TOO_LARGE);
    // One part may still be on its way when the next one starts.
    await sent.at(-2);
    const part = client
      .uploadPart({ Bucket: delivery.config.bucket_name, Key, UploadId, PartNumber, Body })
      .then(({ ETag, ChecksumCRC32 }) => ({ PartNumber, ETag, ...(ChecksumCRC32 && { ChecksumCRC32 }) }));
    part.catch(() => {});
    sent.push(part);
    bytes += Body.length;
  };

  const claim = async (key: string): Promise<void> => {
    const etag = there?.has(key) ? await etagOfOurs(client, delivery, key) : undefined;
    if (etag !== undefined) replaced[key] = etag;
  };

  const sendAll = async (key: string, first: Buffer, rest: AsyncIterable<Buffer>): Promise<void> => {
    const head = headOf(delivery, key, contentType(delivery.config));
    const { UploadId: id = '' } = await client.createMultipartUpload(head);
    begun.push({ key, id });
    const before = sent.length;
    await send(id, key, 1, first);
    for await (const body of rest) await send(id, key, sent.length - before + 1, body);
    const object = Promise.all(sent.slice(before)).then((parts) => ({ key, upload: { id, parts } }));
    object.catch(() => {});
    objects.push(object);
  };

  try {
    for await (const { n, bytes: content } of intervalFiles(delivery.config, delivery)) {
      isNumbered = n !== null;
      const key = fileName(names, n);
      await claim(key);
      if (n === 0) await claim(manifestName(names));
      const bodies = inParts(content);
      const first = (await bodies.next()).value ?? Buffer.alloc(0);
      if (unsentBytes + first.length < PART_BYTES) {
        unsent.set(key, first);
        objects.push(Promise.resolve({ key, upload: null }));
        unsentBytes += first.length;
      } else {
        await sendAll(key, first, bodies);
      }
    }
    const waiting = await Promise.all(objects);
    const counting = new Set([...waiting.map(({ key }) => key), ...(isNumbered ? [manifestName(names)] : [])]);
    const strays = there && { strays: strayNames(names, [...there], counting) };
    const bucket = bucketLabel(delivery.config);
    const receipt = { bytes: bytes + unsentBytes, names, isNumbered, objects: waiting, replaced, bucket, ...strays };
    return { receipt, held: unsent };
  } catch (error) {
    await Promise.allSettled(sent);
    const cleaning = AbortSignal.timeout(CLEANING_TIMEOUT_MS);
    await Promise.allSettled(begun.map(({ key, id }) => abort(client, delivery.config, key, id, cleaning)));
    throw error;
  }
}

/** Tells of uploads that wait in another bucket than the export has now, and are reached no more. */
function tellOfLeft(delivery: Delivery<S3Config>, { bucket, names, objects }: S3Receipt): void {
  if (bucket === undefined || bucket === bucketLabel(delivery.config)) return;
  if (objects.every((object) => object.upload === null)) return;
  delivery.say(
    'WARNING',
    `The export was changed after parts of '${names.stem}' had been sent to ${bucket}: they stay there unseen, and may ` +
      'cost storage until the unfinished uploads are aborted, by hand or by a lifecycle rule.',
  );
}

const TOO_LARGE =
  'An object of more than 78 GiB (10,000 parts of 8 MiB) cannot be sent. Set max_file_size_mb, or use a shorter ' +
  'interval or compression.';

/** Yields the same bytes in buffers of one size; the last may be shorter. */
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

/** The number of objects that become visible at a time. */
const MAX_CONCURRENT_COMMITS = 8;

/** Makes the objects visible. Returns false when what was prepared is gone, and another attempt's object is there. */
async function complete(client: S3, delivery: Delivery<S3Config>, { receipt, held }: S3Prepared): Promise<boolean> {
  const { names, objects, isNumbered, replaced = {} } = receipt;
  for (let at = 0; at < objects.length; at += MAX_CONCURRENT_COMMITS) {
    const some = objects.slice(at, at + MAX_CONCURRENT_COMMITS);
    const done = await Promise.all(
      some.map((object) => completeOne(client, delivery, object, replaced[object.key], held)),
    );
    if (done.includes(false)) return false;
  }
  if (isNumbered) {
    const key = manifestName(names);
    const head = headOf(delivery, key, 'application/json');
    const Body = manifestText(objects.map((object) => object.key));
    await writeOurs(client, delivery, key, replaced[key], (condition) =>
      client.putObject({ ...head, Body, ...condition }),
    );
  }
  return true;
}

async function completeOne(
  client: S3,
  delivery: Delivery<S3Config>,
  { key, upload: prepared }: WaitingObject,
  replaced: string | undefined,
  unsent: Unsent | undefined,
): Promise<boolean> {
  if (prepared === null) {
    const Body = unsent?.get(key);
    if (Body === undefined) return false;
    const head = headOf(delivery, key, contentType(delivery.config));
    await writeOurs(client, delivery, key, replaced, (condition) => client.putObject({ ...head, Body, ...condition }));
    return true;
  }
  const about = { Bucket: delivery.config.bucket_name, Key: key, UploadId: prepared.id };
  const MultipartUpload = { Parts: prepared.parts };
  try {
    await writeOurs(client, delivery, key, replaced, (condition) =>
      client.completeMultipartUpload({ ...about, MultipartUpload, ...condition }),
    );
    return true;
  } catch (error) {
    if (nameOf(error) === 'NoSuchUpload') return isOurs(client, delivery, key);
    throw error;
  }
}

/** Aborts an upload; fine when it is gone. */
async function abort(client: S3, { bucket_name }: S3Config, Key: string, UploadId: string, abortSignal?: AbortSignal) {
  try {
    await client.abortMultipartUpload({ Bucket: bucket_name, Key, UploadId }, abortSignal && { abortSignal });
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

/** Aborts uploads to the interval's keys that earlier attempts left behind; only one attempt at a time holds an interval. */
async function abortLeftovers(client: S3, delivery: Delivery<S3Config>, names: IntervalNames): Promise<void> {
  const { config } = delivery;
  const about = { Bucket: config.bucket_name, Prefix: names.stem };
  const leftovers: { Key: string; UploadId: string }[] = [];
  try {
    for (let next: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}; next !== undefined; ) {
      const page: ListMultipartUploadsCommandOutput = await client.listMultipartUploads({ ...about, ...next });
      for (const { Key = '', UploadId = '' } of page.Uploads ?? []) {
        if (isFileOf(names, Key)) leftovers.push({ Key, UploadId });
      }
      const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
      next = IsTruncated && KeyMarker ? { KeyMarker, ...(UploadIdMarker && { UploadIdMarker }) } : undefined;
    }
    for (const { Key, UploadId } of leftovers) await abort(client, config, Key, UploadId);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    delivery.say(
      'WARNING',
      `Unfinished uploads of earlier attempts at '${names.stem}' could not be removed, and may cost storage: grant ` +
        's3:ListBucketMultipartUploads and s3:AbortMultipartUpload, or let a lifecycle rule of the bucket remove them.',
    );
  }
}

/** Returns the names of objects like the interval's, whoever's they are; undefined when they may not be listed. */
async function keysLike(
  client: S3,
  { config }: Delivery<S3Config>,
  names: IntervalNames,
): Promise<ReadonlySet<string> | undefined> {
  const found = new Set<string>();
  try {
    const about = { Bucket: config.bucket_name, Prefix: names.stem };
    for await (const page of client.paginateListObjectsV2(about))
      for (const { Key = '' } of page.Contents ?? []) found.add(Key);
    return found;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** Removes objects of the export's earlier deliveries of the interval that count no more. */
async function removeStrays(client: S3, delivery: Delivery<S3Config>, receipt: S3Receipt): Promise<void> {
  const { names, isNumbered, strays } = receipt;
  let isRefused = strays === undefined && isNumbered;
  for (const Key of strays ?? []) {
    const object = await look(client, delivery, Key);
    if (object === 'unreadable') isRefused = true;
    else if (object?.writer === delivery.exportId) {
      try {
        await client.deleteObject({ Bucket: delivery.config.bucket_name, Key });
      } catch (error) {
        if (!isForbidden(error)) throw error;
        isRefused = true;
        break;
      }
    }
  }
  if (!isRefused) return;
  delivery.say(
    'WARNING',
    `Files of earlier deliveries of '${names.stem}' that count no more could not be removed; where there is a ` +
      'manifest, it names those that count. Grant s3:ListBucket, s3:GetObject and s3:DeleteObject.',
  );
}

/** Returns whether a request is not permitted, or not built by a server of the same protocol. */
const isForbidden = (error: unknown): boolean => statusOf(error) === 403 || statusOf(error) === 501;

async function explained<T>({ config, signal }: { config: S3Config; signal?: AbortSignal }, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    throw explain(error, config);
  }
}
