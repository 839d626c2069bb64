import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { AttributeType, Billing, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { CfnDatabase, CfnTable } from 'aws-cdk-lib/aws-glue';
import { Key } from 'aws-cdk-lib/aws-kms';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type BucketProps,
  type IBucket,
  ObjectOwnership,
} from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { INCOMING } from '../../lib/lake/catalog.ts';
import { LAKE_MODELS, MODELS, type Model } from '../../lib/lake/schema.ts';
import { TABLE_DEFINITION } from '../../lib/ports/table/keys.ts';
import type { StageOptions } from './options.ts';
import { type Stage, tagsOf } from './stages.ts';

const text = (name: string) => ({ name, type: AttributeType.STRING });

/** What a bucket of ours always is. */
const PRIVATE: BucketProps = {
  encryption: BucketEncryption.S3_MANAGED,
  enforceSSL: true,
  minimumTLSVersion: 1.2,
  blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
  objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
  removalPolicy: RemovalPolicy.RETAIN,
};

/** Uploads that a process died over are taken away after a day. */
const NO_LEFTOVERS = { abortIncompleteMultipartUploadAfter: Duration.days(1) };

/** Where Athena keeps the rows of queries, in the bucket of the runs' files. They are read once, at once. */
export const QUERY_RESULTS = 'queries/';

interface DataStackProps {
  readonly stage: Stage;
  readonly options: StageOptions;
}

/**
 * What must survive: table, lake, the key of secrets, and how the lake is read. Deleting the stack is refused, and its
 * resources stay where they are even then. A test holds their logical ids: a new id would be a new, empty resource.
 */
export class DataStack extends Stack {
  readonly tableName: string;
  readonly lakeBucket: string;
  readonly runFilesBucket: string;
  /** Captured events that are not in the lake yet. */
  readonly inboxBucket: string;
  readonly keyArn: string;
  /** The Glue database; over each model of the lake is a table of its name. */
  readonly database: string;

  constructor(scope: Construct, id: string, { stage, options: { restoredTable } }: DataStackProps) {
    super(scope, id, {
      terminationProtection: true,
      description: `Workspaces (${stage.name}): what must survive`,
      tags: tagsOf(stage),
    });

    const { key, indexes, ttl } = TABLE_DEFINITION;
    const table = new TableV2(this, 'Table', {
      partitionKey: text(key.partition),
      sortKey: text(key.sort),
      globalSecondaryIndexes: Object.entries(indexes).map(([indexName, index]) => ({
        indexName,
        partitionKey: text(index.partition),
        sortKey: text(index.sort),
        projectionType: ProjectionType[index.projection],
      })),
      timeToLiveAttribute: ttl,
      billing: Billing.onDemand(),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: stage.isProtected,
      removalPolicy: RemovalPolicy.RETAIN,
    });

    const accessLogs = new Bucket(this, 'AccessLogs', {
      ...PRIVATE,
      lifecycleRules: [{ ...NO_LEFTOVERS, expiration: Duration.days(90) }],
    });
    Validations.of(accessLogs).acknowledge({
      id: 'AwsSolutions-S1',
      reason: 'This bucket holds the access logs of the others.',
    });
    const lake = new Bucket(this, 'Lake', {
      ...PRIVATE,
      versioned: true,
      serverAccessLogsBucket: accessLogs as IBucket,
      serverAccessLogsPrefix: 'lake/',
      // What was removed by mistake can be brought back for a week. Then the mark of its removal goes too.
      lifecycleRules: [
        { ...NO_LEFTOVERS, noncurrentVersionExpiration: Duration.days(7), expiredObjectDeleteMarker: true },
        // Each batch passes through here, and whoever adds to a project lists it first: past a mark for each that has.
        { prefix: INCOMING, noncurrentVersionExpiration: Duration.days(1) },
      ],
    });
    const runFiles = new Bucket(this, 'RunFiles', {
      ...PRIVATE,
      serverAccessLogsBucket: accessLogs as IBucket,
      serverAccessLogsPrefix: 'runs/',
      // A run lives for a day and its retries for one more; what is older was left by something that died.
      lifecycleRules: [
        { ...NO_LEFTOVERS, expiration: Duration.days(7) },
        { prefix: QUERY_RESULTS, expiration: Duration.days(1) },
      ],
    });

    const inbox = new Bucket(this, 'Inbox', {
      ...PRIVATE,
      serverAccessLogsBucket: accessLogs as IBucket,
      serverAccessLogsPrefix: 'inbox/',
      lifecycleRules: [NO_LEFTOVERS],
    });

    // Without theirs, what is kept of a stack that is deleted would be handed out without TLS, and no longer logged.
    for (const bucket of [accessLogs, lake, runFiles, inbox]) bucket.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN);

    const sealing = new Key(this, 'Key', {
      alias: `workspaces-${stage.name}`,
      description: `Seals the credentials of destinations (${stage.name})`,
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });

    this.database = `workspaces_${stage.name}`;
    const database = new CfnDatabase(this, 'LakeDatabase', {
      catalogId: this.account,
      databaseInput: { name: this.database, description: 'The lake' },
    });
    for (const model of MODELS) {
      const table = new CfnTable(this, TABLE_IDS[model], {
        catalogId: this.account,
        databaseName: this.database,
        tableInput: tableOf(lake.bucketName, model),
      });
      table.addResourceDependency(database);
    }

    // Exported by name, whether or not something reads them: then no deploy of the other stack changes this one.
    const exported = (what: string, value: string): string => this.exportValue(value, { name: `${id}-${what}` });
    const ownTable = exported('table', table.tableName);
    // An export that is in use cannot change, so a restored table has one of its own, which no stack imports.
    if (restoredTable !== undefined) exported('restored-table', restoredTable);
    this.tableName = restoredTable ?? ownTable;
    this.lakeBucket = exported('lake', lake.bucketName);
    this.runFilesBucket = exported('runFiles', runFiles.bucketName);
    this.inboxBucket = exported('inbox', inbox.bucketName);
    this.keyArn = exported('key', sealing.keyArn);
  }
}

/** Logical ids, which must stay. */
const TABLE_IDS: Readonly<Record<Model, string>> = { events: 'LakeEvents', persons: 'LakePersons' };

/** Where the lake keeps a model, and from when to when a day may be. Partitions are computed, never listed. */
function tableOf(bucket: string, model: Model): CfnTable.TableInputProperty {
  const root = `s3://${bucket}/${model}`;
  return {
    name: model,
    tableType: 'EXTERNAL_TABLE',
    partitionKeys: ['team_id', 'day', 'gen'].map((name) => ({ name, type: 'string' })),
    parameters: {
      classification: 'parquet',
      'projection.enabled': 'true',
      'projection.team_id.type': 'injected',
      'projection.day.type': 'date',
      'projection.day.format': 'yyyy-MM-dd',
      'projection.day.range': '1970-01-01,NOW+1DAYS',
      'projection.gen.type': 'enum',
      // 0: as it was published; 1: what has taken the place of others.
      'projection.gen.values': '0,1',
      'storage.location.template': `${root}/team_id=\${team_id}/day=\${day}/gen=\${gen}`,
    },
    storageDescriptor: {
      location: `${root}/`,
      inputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat',
      outputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat',
      serdeInfo: { serializationLibrary: 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' },
      columns: LAKE_MODELS[model].columns
        .filter(({ name }) => name !== 'team_id')
        .map(({ name, type }) => ({ name, type: { VARCHAR: 'string', BIGINT: 'bigint', BOOLEAN: 'boolean' }[type] })),
    },
  };
}
