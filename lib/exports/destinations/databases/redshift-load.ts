/** Loads rows into a temporary table of Redshift: by statements with many rows each, or by files in a bucket. */
import { promisify } from 'node:util';
import { gzip as gzipped } from 'node:zlib';
import { MIB } from '../../../basics/units.ts';
import { Permanent } from '../../../ports/errors.ts';
import type { Delivery } from '../destination.ts';
import { type BucketConfig, CLEANING_TIMEOUT_MS, connect, explain, statusOf } from '../files/bucket.ts';
import { rowsIn, withPlainEscapes } from './copy-text.ts';
import { TEMPORARY_TABLE } from './merge.ts';
import type { Session } from './session.ts';
import { quotedList } from './sql-identifier.ts';
import { namesOf, type TableColumn } from './table.ts';

/** The values of one statement: the protocol counts them in 16 bits with a sign. */
const MAX_VALUES = 32_767;

/** The bytes of one statement: half of what Redshift takes (16 MB). */
const MAX_STATEMENT_BYTES = 8_000_000;

/** Inserts rows into the temporary table. Returns the bytes that were sent. */
export async function insertRows(session: Session, pieces: AsyncIterable<Buffer>, columns: readonly TableColumn[]) {
  const maxRows = Math.floor(MAX_VALUES / columns.length);
  const head = `INSERT INTO ${TEMPORARY_TABLE} (${quotedList(namesOf(columns))}) VALUES `;
  let values: (string | null)[] = [];
  let waiting = 0;
  let bytes = 0;
  const send = async (): Promise<void> => {
    if (values.length === 0) return;
    const rows = Array.from({ length: values.length / columns.length }, (_, n) => rowText(columns, n));
    await session.query(head + rows.join(', '), values);
    [values, waiting] = [[], 0];
  };
  for await (const piece of pieces) {
    bytes += piece.length;
    for (const row of rowsIn(piece)) {
      const length = row.reduce((sum, value) => sum + (value === null ? 0 : Buffer.byteLength(value)), 0);
      if (waiting + length > MAX_STATEMENT_BYTES || values.length >= maxRows * columns.length) await send();
      values.push(...row);
      waiting += length;
    }
  }
  await send();
  return bytes;
}

/** Returns the places of a row's values. Text in a SUPER is a string, unless it is parsed. */
const rowText = (columns: readonly TableColumn[], row: number): string => {
  const places = columns.map(({ sqlType }, n) => {
    const place = `$${row * columns.length + n + 1}`;
    return sqlType === 'SUPER' ? `JSON_PARSE(${place})` : place;
  });
  return `(${places.join(', ')})`;
};

/** Who Redshift is when it reads a bucket: the ARN of a role (or `default`), or a key. */
export type Authorization = string | Pick<BucketConfig, 'aws_access_key_id' | 'aws_secret_access_key'>;

interface Copying extends Pick<Delivery, 'outbound' | 'signal' | 'say'> {
  readonly bucket: BucketConfig;
  readonly prefix: string;
  /** Below the prefix; of this interval alone. */
  readonly folder: string;
  readonly authorization: Authorization;
  readonly columns: readonly string[];
}

/** The bytes of a file before compression: some 5 MB after it, so that every slice of a cluster soon has one. */
const FILE_BYTES = 32 * MIB;

const gzip = promisify(gzipped);

/**
 * Copies rows into the temporary table, by files in the customer's bucket and a manifest that names them. They
 * are removed when the table has them. Returns the bytes that were sent.
 */
export async function copyThroughBucket(
  session: Session,
  pieces: AsyncIterable<Buffer>,
  { bucket, prefix, folder, authorization, columns, outbound, signal, say }: Copying,
): Promise<number> {
  const root = [...prefix.split('/'), folder].filter((part) => part !== '').join('/');
  const client = await connect(bucket, outbound, signal);
  const Bucket = bucket.bucket_name;
  const keys: string[] = [];
  let bytes = 0;
  const put = async (name: string, Body: Buffer): Promise<string> => {
    const Key = `${root}/${name}`;
    keys.push(Key);
    await client.putObject({ Bucket, Key, Body });
    return `s3://${Bucket}/${Key}`;
  };
  try {
    const entries: { url: string; mandatory: true }[] = [];
    for await (const file of inFiles(pieces)) {
      const body = await gzip(file, { level: 1 });
      bytes += body.length;
      entries.push({ url: await put(`${entries.length}.gz`, body), mandatory: true });
    }
    if (entries.length === 0) return 0;
    const manifest = await put('manifest', Buffer.from(JSON.stringify({ entries })));
    await session.query(copyText(columns, manifest, bucket.region, authorization));
    return bytes;
  } catch (error) {
    signal.throwIfAborted();
    throw (await loadFailure(session, error)) ?? explain(error, bucket);
  } finally {
    const cleaning = { abortSignal: AbortSignal.timeout(CLEANING_TIMEOUT_MS) };
    for (const Key of keys) {
      await client.deleteObject({ Bucket, Key }, cleaning).catch((error: unknown) => {
        if (Key !== keys[0]) return;
        const advice = statusOf(error) === 403 ? 'Grant s3:DeleteObject, or let' : 'Let';
        say(
          'WARNING',
          `Files below '${root}' could not be removed. ${advice} a lifecycle rule of the bucket remove them.`,
        );
      });
    }
    client.destroy();
  }
}

/** Yields files, put together of pieces of whole lines, with the escapes that Redshift reads. */
async function* inFiles(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    waiting.push(withPlainEscapes(piece));
    bytes += piece.length;
    if (bytes < FILE_BYTES) continue;
    yield Buffer.concat(waiting);
    [waiting, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

/** Returns a text as it stands in a statement of Redshift, where a backslash escapes. */
const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/** Returns the statement, which holds credentials. NULL is `\N` unless something else is said. */
function copyText(columns: readonly string[], manifest: string, region: string, authorization: Authorization): string {
  const access =
    typeof authorization === 'string'
      ? `IAM_ROLE ${authorization === 'default' ? authorization : literal(authorization)}`
      : `ACCESS_KEY_ID ${literal(authorization.aws_access_key_id)} SECRET_ACCESS_KEY ${literal(authorization.aws_secret_access_key)}`;
  return (
    `COPY ${TEMPORARY_TABLE} (${quotedList(columns)}) FROM ${literal(manifest)} ${access} REGION ${literal(region)} ` +
    "MANIFEST GZIP DELIMITER '\\t' ESCAPE TIMEFORMAT 'auto' COMPUPDATE OFF STATUPDATE OFF"
  );
}

/** Returns why a load failed, from where Redshift notes it; undefined when it was something else. */
async function loadFailure(session: Session, error: unknown): Promise<Permanent | undefined> {
  if (!(error instanceof Permanent) || !/_load_errors?/.test(error.message)) return undefined;
  const { rows } = await session
    .query(
      `SELECT column_name, line_number, error_message FROM sys_load_error_detail
        WHERE session_id = pg_backend_pid() ORDER BY start_time DESC LIMIT 1`,
    )
    .catch(() => ({ rows: [] }));
  const [found] = rows;
  if (found === undefined) return undefined;
  return new Permanent(
    `Redshift could not load row ${found['line_number']} of a file, column "${found['column_name']?.trim()}": ` +
      `${found['error_message']?.trim()}. Change the type of the column (properties_data_type 'super' holds JSON of any ` +
      'length), or what the export puts into it.',
    { cause: error },
  );
}
