import { Stack } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { MODELS } from '../../../lib/lake/schema.ts';
import type { DataStack } from '../data-stack.ts';
import { allow } from './permissions.ts';

interface AthenaUse {
  readonly workGroup: string;
  /** Of `athena:`. */
  readonly actions: readonly string[];
  /** Where results go, below the bucket of the runs' files: `*` for anywhere. */
  readonly results: string;
}

/** What Athena does with the caller's rights: the query, what it reads of the lake, and its result. */
export function athenaOver(
  scope: Construct,
  data: Pick<DataStack, 'lakeBucket' | 'runFilesBucket' | 'database'>,
  { workGroup, actions, results }: AthenaUse,
): PolicyStatement[] {
  const { partition, region, account } = Stack.of(scope);
  const [lake, runFiles] = [data.lakeBucket, data.runFilesBucket].map(
    (bucket) => `arn:${partition}:s3:::${bucket}`,
  ) as [string, string];
  const athena = (path: string): string => `arn:${partition}:athena:${region}:${account}:${path}`;
  const glue = (path: string): string => `arn:${partition}:glue:${region}:${account}:${path}`;
  return [
    allow(
      actions.map((action) => `athena:${action}`),
      [athena(`workgroup/${workGroup}`)],
    ),
    allow(['athena:GetDataCatalog'], [athena('datacatalog/AwsDataCatalog')]),
    // Athena asks for the database `default` whatever database a query names.
    // https://docs.aws.amazon.com/athena/latest/ug/fine-grained-access-to-glue-resources.html
    allow(['glue:GetDatabase', 'glue:CreateDatabase'], [glue('catalog'), glue('database/default')]),
    allow(
      ['glue:GetDatabase', 'glue:GetTable', 'glue:GetPartitions'],
      [
        glue('catalog'),
        glue(`database/${data.database}`),
        ...MODELS.map((model) => glue(`table/${data.database}/${model}`)),
      ],
    ),
    allow(
      ['s3:GetObject'],
      MODELS.map((model) => `${lake}/${model}/*`),
    ),
    allow(
      ['s3:GetObject', 's3:PutObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'],
      [`${runFiles}/${results}`],
    ),
    allow(['s3:GetBucketLocation', 's3:ListBucket'], [lake, runFiles]),
    allow(['s3:ListBucketMultipartUploads'], [runFiles]),
  ];
}
