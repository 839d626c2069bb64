/**
 * Files in a bucket. S3 shows an object when it is whole, or not at all. The upload of a stream that broke is
 * aborted; that of a process that died is removed by the bucket's lifecycle.
 */
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type S3Client,
  type _Error as S3Error,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { orTransient } from '../aws-failures.ts';
import { Transient } from '../errors.ts';
import type { FileStore, ListedFile } from './files.ts';
import { listed } from './objects.ts';
import { partsOf } from './path.ts';

/** S3's limit of one DeleteObjects. */
const MAX_REMOVED = 1000;

interface S3FilesOptions {
  readonly client: S3Client;
  readonly bucket: string;
}

/** Returns the files in the whole of a bucket. A file that is moved may have 5 GB. */
export function s3Files({ client, bucket: Bucket }: S3FilesOptions): FileStore {
  const root = `s3://${Bucket}/`;

  const write: FileStore['write'] = async (path, Body) => {
    await sent(new Upload({ client, params: { Bucket, Key: keyOf(path), Body } }).done());
  };

  /** Returns undefined when there is no such file. */
  const find = async (path: string): Promise<ListedFile | undefined> => {
    const found = await sent(client.send(new HeadObjectCommand({ Bucket, Key: path }))).catch(absentObject);
    return found && { path, size: found.ContentLength ?? 0, writtenAt: found.LastModified?.getTime() ?? 0 };
  };

  async function* list(path: string): AsyncGenerator<ListedFile> {
    const prefix = path === '' ? '' : keyOf(path.replace(/\/$/, ''));
    const own = prefix === '' ? undefined : await find(prefix);
    if (own !== undefined) yield own;
    for await (const { Key = '', Size = 0, LastModified } of listed(client, Bucket, prefix === '' ? '' : `${prefix}/`))
      yield { path: Key, size: Size, writtenAt: LastModified?.getTime() ?? 0 };
  }

  const save: FileStore['save'] = async (path, localFile, signal = new AbortController().signal) => {
    try {
      const command = new GetObjectCommand({ Bucket, Key: keyOf(path) });
      const { Body } = await sent(client.send(command, { abortSignal: signal }));
      await sent(pipeline(Body as Readable, createWriteStream(localFile), { signal }));
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  };

  const removeFiles = async (keys: readonly string[]): Promise<void> => {
    for (let at = 0; at < keys.length; at += MAX_REMOVED) {
      const Objects = keys.slice(at, at + MAX_REMOVED).map((Key) => ({ Key }));
      const command = new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } });
      const { Errors: [error] = [] } = await sent(client.send(command));
      if (error !== undefined) throw notRemoved(error);
    }
  };

  return {
    root,
    write,
    list,
    save,
    read: async (path) => {
      const command = new GetObjectCommand({ Bucket, Key: keyOf(path) });
      const found = await sent(client.send(command)).catch(absentObject);
      return found && Buffer.from((await (found.Body && sent(found.Body.transformToByteArray()))) ?? []);
    },
    move: async (from, to) => {
      const [source, Key] = [keyOf(from), keyOf(to)];
      const CopySource = [Bucket, ...partsOf(from)].map(encodeURIComponent).join('/');
      const copied = await sent(client.send(new CopyObjectCommand({ Bucket, Key, CopySource }))).catch(absentObject);
      if (copied !== undefined) await sent(client.send(new DeleteObjectCommand({ Bucket, Key: source })));
      else if ((await find(Key)) === undefined) throw new Error(`there is no file ${from} to move to ${to}`);
    },
    take: async (localFile, path) => {
      await write(path, createReadStream(localFile));
      await rm(localFile);
    },
    local: async (paths, folder) => {
      const copies = paths.map((path) => join(folder, ...partsOf(path)));
      for (const [n, copy] of copies.entries()) {
        if (existsSync(copy)) continue;
        await mkdir(dirname(copy), { recursive: true });
        await save(paths[n] as string, `${copy}.part`);
        await rename(`${copy}.part`, copy);
      }
      return copies;
    },
    remove: async (path) => {
      if (path === '') throw new TypeError(`removing all files of ${root}`);
      const found: string[] = [];
      for await (const file of list(path)) found.push(file.path);
      await removeFiles(found);
    },
    removeFiles: async (paths) => removeFiles(paths.map(keyOf)),
    address: (path) => `${root}${keyOf(path)}`,
  };
}

const sent = <T>(call: Promise<T>): Promise<T> => orTransient('S3', call);

/** What may pass, as S3 says it of one object in an answer that is no failure; the client tries none of that again. */
const PASSING: ReadonlySet<string | undefined> = new Set(['InternalError', 'SlowDown', 'ServiceUnavailable']);

function notRemoved({ Key, Code, Message }: S3Error): Error {
  const text = `S3 did not remove ${Key}: ${Code} ${Message}`;
  return PASSING.has(Code) ? new Transient(text, { isOwn: true }) : new Error(text);
}

/** Returns the path itself. Throws `TypeError` when it is none. */
const keyOf = (path: string): string => partsOf(path).join('/');

/** Returns undefined for the answer that there is no such object, and throws any other error. */
function absentObject(error: unknown): undefined {
  if (!(error instanceof S3ServiceException) || error.$metadata.httpStatusCode !== 404) throw error;
  if (error.name === 'NoSuchBucket') throw error;
}
