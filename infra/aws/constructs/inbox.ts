import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnDeliveryStream } from 'aws-cdk-lib/aws-kinesisfirehose';
import { LogGroup, LogStream } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { INBOX_FOLDERS, STREAM_WAITS_SECONDS } from '../../../lib/ports/inbox/firehose.ts';
import type { DataStack } from '../data-stack.ts';
import type { Stage } from '../stages.ts';
import { allow, permit } from './permissions.ts';

/** The stream waits so long, or for so much, before it writes an object. */
const BUFFERING = { intervalInSeconds: STREAM_WAITS_SECONDS, sizeInMBs: 64 } as const;

interface CaptureStreamProps {
  readonly stage: Stage;
  readonly data: DataStack;
}

/** The delivery stream by which requests of SDKs come into the bucket of the inbox. */
export class CaptureStream extends Construct {
  readonly arn: string;
  readonly name: string;

  constructor(scope: Construct, id: string, { stage, data }: CaptureStreamProps) {
    super(scope, id);
    const { partition } = Stack.of(this);
    const bucketArn = `arn:${partition}:s3:::${data.inboxBucket}`;
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('firehose.amazonaws.com') });
    const removalPolicy = RemovalPolicy.DESTROY;
    const logGroup = new LogGroup(this, 'Log', { retention: stage.logRetention, removalPolicy });
    const log = new LogStream(this, 'LogStream', { logGroup, removalPolicy });
    permit(
      role,
      [
        allow(
          ['s3:AbortMultipartUpload', 's3:GetBucketLocation', 's3:ListBucket', 's3:ListBucketMultipartUploads'],
          [bucketArn],
        ),
        allow(['s3:AbortMultipartUpload', 's3:GetObject', 's3:PutObject'], [`${bucketArn}/*`]),
        allow(['logs:PutLogEvents'], [logGroup.logGroupArn]),
      ],
      'Objects of a bucket and streams of a log have no names beforehand.',
    );
    this.name = `workspaces-${stage.name}-inbox`;
    const stream = new CfnDeliveryStream(this, 'Stream', {
      deliveryStreamName: this.name,
      deliveryStreamType: 'DirectPut',
      deliveryStreamEncryptionConfigurationInput: { keyType: 'AWS_OWNED_CMK' },
      extendedS3DestinationConfiguration: {
        bucketArn,
        roleArn: role.roleArn,
        prefix: INBOX_FOLDERS.stream,
        errorOutputPrefix: 'errors/',
        bufferingHints: BUFFERING,
        compressionFormat: 'UNCOMPRESSED',
        // Why it could not write; nothing of what it writes.
        cloudWatchLoggingOptions: {
          enabled: true,
          logGroupName: logGroup.logGroupName,
          logStreamName: log.logStreamName,
        },
      },
    });
    stream.node.addDependency(role);
    this.arn = Stack.of(this).formatArn({ service: 'firehose', resource: 'deliverystream', resourceName: this.name });
  }
}
