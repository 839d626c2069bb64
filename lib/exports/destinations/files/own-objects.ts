/**
 * Whose an object of a bucket is, and how one is written where nobody else's lies: its metadata names the run and the
 * attempt that wrote it, and an attempt begins with the id of its export.
 */
import type { S3 } from '@aws-sdk/client-s3';
import { Permanent, Transient } from '../../../ports/errors.ts';
import type { Delivery } from '../destination.ts';
import { type BucketConfig, bucketLabel, nameOf, statusOf } from './bucket.ts';
import { refuseTaken } from './owner.ts';

/** A delivery of the export whose own objects are looked for. */
type Owning = Pick<Delivery, 'exportId' | 'runId' | 'attempt' | 'nameOf'> & { readonly config: BucketConfig };

/** Of what has to be there for an object to be written. */
interface Condition {
  readonly IfNoneMatch?: '*';
  readonly IfMatch?: string;
}

/** How often a write looks again at an object that others are changing. */
const MAX_LOOKS = 5;

/**
 * Writes an object where none is, or one that this export wrote; `etag`: the one that was there, undefined: none. Throws
 * `Permanent` when it is another's. A server that does not know conditions of writes is asked just before.
 */
export async function writeOurs(
  client: S3,
  delivery: Owning,
  key: string,
  etag: string | undefined,
  write: (condition: Condition) => Promise<unknown>,
): Promise<void> {
  let known = etag;
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    try {
      await write(known === undefined ? { IfNoneMatch: '*' } : { IfMatch: known });
      return;
    } catch (error) {
      const isUnknown = isUnknownCondition(delivery.config, error);
      if (!isUnknown && !isConditionFailure(error)) throw error;
      known = await etagOfOurs(client, delivery, key);
      if (isUnknown) {
        await write({});
        return;
      }
    }
  }
  throw new Transient(`'${key}' in ${bucketLabel(delivery.config)} is being changed by others.`);
}

/** Returns whether a server of the same protocol may have refused a write because it does not know its condition. */
export const isUnknownCondition = ({ endpoint_url }: Pick<BucketConfig, 'endpoint_url'>, error: unknown): boolean =>
  Boolean(endpoint_url) && [400, 501].includes(statusOf(error) ?? 0);

/** Returns whether a write was refused for what is there, or not there any more, or for another write at the same time. */
export const isConditionFailure = (error: unknown): boolean =>
  statusOf(error) === 412 || ['NoSuchKey', 'ConditionalRequestConflict'].includes(nameOf(error));

/** Returns the ETag of an object that this export wrote; undefined when none is there. Throws `Permanent` for another's. */
export async function etagOfOurs(client: S3, delivery: Owning, key: string): Promise<string | undefined> {
  const object = await look(client, delivery, key);
  if (object === undefined) return undefined;
  const place = `'${key}' in ${bucketLabel(delivery.config)}`;
  if (object === 'unreadable') {
    throw new Permanent(
      `${place} is there already, and whose it is may not be read: it is not replaced. Allow the key s3:GetObject there.`,
    );
  }
  if (object.writer !== delivery.exportId) return refuseTaken(delivery, place, object.writer);
  return object.etag;
}

/** What an object's metadata says of it. */
interface SeenObject {
  readonly etag: string;
  readonly run: string | undefined;
  readonly attempt: string | undefined;
  /** The export that wrote it; undefined: none did. */
  readonly writer: string | undefined;
}

/** Returns what is there; undefined: nothing. */
export async function look(
  client: S3,
  { config }: Owning,
  Key: string,
): Promise<SeenObject | 'unreadable' | undefined> {
  try {
    const { ETag: etag = '', Metadata = {} } = await client.headObject({ Bucket: config.bucket_name, Key });
    const { run, attempt } = Metadata;
    return { etag, run, attempt, writer: /^(.{36})-\d+$/.exec(attempt ?? '')?.[1] };
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    if (statusOf(error) === 403) return 'unreadable';
    throw error;
  }
}

/** Returns whether this attempt at the run wrote the object that is there. */
export async function isOurs(client: S3, delivery: Owning, key: string): Promise<boolean> {
  const object = await look(client, delivery, key);
  return typeof object === 'object' && object.run === delivery.runId && object.attempt === delivery.attempt;
}
