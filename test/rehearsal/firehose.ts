/** Data Firehose with one stream, as far as the service asks it: records are written together, with its role's rights. */
import type { S3 } from '@aws-sdk/client-s3';
import { type Assembly, PARTITION } from './assembly.ts';
import type { Permissions } from './permissions.ts';

/** AWS's, of a record. */
const MAX_RECORD_BYTES = 1_024_000;

class FirehoseError extends Error {
  override readonly name: string;
  constructor(name: string, message = name) {
    super(message);
    this.name = name;
  }
}

interface Asked {
  readonly DeliveryStreamName: string;
  readonly Record: { readonly Data: string };
}

export interface Firehose {
  readonly call: (action: string, asked: Asked) => object;
  /** Writes what has come, as when its minute is over. Some of it twice: it promises no more than at least once. */
  readonly deliver: () => Promise<void>;
}

interface FirehoseOptions {
  readonly assembly: Assembly;
  readonly permissions: Permissions;
  readonly client: Pick<S3, 'putObject'>;
}

export function fakeFirehose({ assembly, permissions, client }: FirehoseOptions): Firehose {
  const { properties } = assembly.theOne('AWS::KinesisFirehose::DeliveryStream');
  const { bucketArn, roleArn, prefix, compressionFormat } = Object.fromEntries(
    Object.entries(properties['ExtendedS3DestinationConfiguration'] as Record<string, string>).map(([name, value]) => [
      name.replace(/^./, (letter) => letter.toLowerCase()).replace('ARN', 'Arn'),
      value,
    ]),
  );
  if (compressionFormat !== 'UNCOMPRESSED') throw new Error('the rehearsal does not pack what a stream writes');
  let waiting: Buffer[] = [];
  let written = 0;
  return {
    call: (action, { DeliveryStreamName, Record }) => {
      if (action !== 'PutRecord') throw new Error(`the rehearsal does not know firehose:${action}`);
      if (DeliveryStreamName !== properties['DeliveryStreamName']) throw new FirehoseError('ResourceNotFoundException');
      const data = Buffer.from(Record.Data, 'base64');
      if (data.length > MAX_RECORD_BYTES)
        throw new FirehoseError('InvalidArgumentException', 'the record is too large');
      waiting.push(data);
      return { RecordId: String(waiting.length), Encrypted: true };
    },
    deliver: async () => {
      const records = waiting;
      waiting = [];
      if (records.length === 0) return;
      written += 1;
      const Key = `${prefix}2026/01/01/00/inbox-${written}`;
      const Bucket = String(bucketArn).replace(`arn:${PARTITION}:s3:::`, '');
      const access = { action: 's3:PutObject', resource: `${bucketArn}/${Key}` };
      if (!permissions.allows(String(roleArn), access, 'Firehose')) throw new Error('the stream may not write');
      await client.putObject({ Bucket, Key, Body: Buffer.concat([...records, ...records.slice(0, 1)]) });
    },
  };
}
