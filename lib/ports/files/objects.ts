/** Objects of a bucket that is somebody's own: read where they lie, with the credentials of whoever asks. */
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GetObjectCommand, type _Object as ListedObject, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { orTransient } from '../aws-failures.ts';

interface Objects {
  /** Lists the objects whose keys begin so, in byte order; those that stand for folders are left out. */
  list(prefix: string): AsyncIterable<{ readonly key: string; readonly size: number }>;
  /** Writes an object into a local file. */
  save(key: string, localFile: string, signal: AbortSignal): Promise<void>;
}

/** Returns a client as the environment says: region, credentials, and the address of a server that is not Amazon's. */
export function clientOf(environment: NodeJS.ProcessEnv): S3Client {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = environment;
  const isForeign = (AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL ?? '') !== '';
  return new S3Client({ followRegionRedirects: true, forcePathStyle: isForeign });
}

/** Lists what S3 tells of the objects whose keys begin so, in byte order. Throws `Transient`. */
export async function* listed(client: S3Client, Bucket: string, Prefix: string): AsyncGenerator<ListedObject> {
  const pages = paginateListObjectsV2({ client }, { Bucket, Prefix });
  for (let page = await orTransient('S3', pages.next()); !page.done; page = await orTransient('S3', pages.next()))
    yield* page.value.Contents ?? [];
}

/** Returns the objects of a bucket. */
export function objectsIn(client: S3Client, Bucket: string): Objects {
  return {
    list: async function* (prefix) {
      for await (const { Key: key = '', Size: size = 0 } of listed(client, Bucket, prefix))
        if (!key.endsWith('/')) yield { key, size };
    },
    save: async (Key, localFile, abortSignal) => {
      const { Body } = await orTransient('S3', client.send(new GetObjectCommand({ Bucket, Key }), { abortSignal }));
      await pipeline(Body as Readable, createWriteStream(localFile), { signal: abortSignal });
    },
  };
}
