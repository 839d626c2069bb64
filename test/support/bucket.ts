import { S3 } from '@aws-sdk/client-s3';
import { startFauxqs } from 'fauxqs';

/** A server that speaks S3's protocol, in this process, with one bucket. */
export interface Bucket {
  readonly url: string;
  /** The config of an S3 destination that leads here, without a prefix. */
  readonly config: Readonly<Record<string, unknown>> & { readonly prefix: string };
  /** Names of all objects. */
  keys(): Promise<string[]>;
  /** An object's bytes and metadata. */
  read(key: string): Promise<{ body: Buffer; metadata: Record<string, string>; type: string | undefined }>;
  /** Names of all uploads that are neither completed nor aborted. */
  uploads(): Promise<string[]>;
  abortUploads(): Promise<void>;
  empty(): Promise<void>;
  close(): Promise<void>;
}

export async function startBucket(): Promise<Bucket> {
  const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false });
  const Bucket = 'exports';
  server.createBucket(Bucket);
  const url = `http://127.0.0.1:${server.port}`;
  const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' };
  const client = new S3({ endpoint: url, region: 'us-east-1', forcePathStyle: true, credentials });
  const listUploads = async () => (await client.listMultipartUploads({ Bucket })).Uploads ?? [];
  const keys = async () => {
    const { Contents = [] } = await client.listObjectsV2({ Bucket });
    return Contents.map(({ Key = '' }) => Key);
  };
  const abortUploads = async () => {
    for (const { Key, UploadId } of await listUploads()) {
      await client.abortMultipartUpload({ Bucket, Key, UploadId });
    }
  };
  return {
    url,
    config: {
      bucket_name: Bucket,
      region: 'us-east-1',
      prefix: 'events',
      aws_access_key_id: credentials.accessKeyId,
      aws_secret_access_key: credentials.secretAccessKey,
      endpoint_url: url,
    },
    keys,
    async read(Key) {
      const { Body, Metadata = {}, ContentType } = await client.getObject({ Bucket, Key });
      return {
        body: Buffer.from((await Body?.transformToByteArray()) ?? []),
        metadata: Metadata,
        type: ContentType,
      };
    },
    uploads: async () => (await listUploads()).map(({ Key = '' }) => Key),
    abortUploads,
    async empty() {
      await abortUploads();
      for (const Key of await keys()) await client.deleteObject({ Bucket, Key });
    },
    async close() {
      client.destroy();
      await server.stop();
    },
  };
}
