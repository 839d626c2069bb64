/** A stage as a person's shell reaches it, with their own credentials: for the admin command line. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { v7 } from 'uuid';
import type { AdminContext } from '../../lib/admin/commands.ts';
import { lakeDatabases } from '../../lib/lake/databases.ts';
import { s3Files } from '../../lib/ports/files/s3.ts';
import type { Log } from '../../lib/ports/log.ts';
import { dynamodbTable } from '../../lib/ports/table/dynamodb.ts';
import { resourcesOf } from './account.ts';
import { stageNamed } from './stages.ts';

/** Opens a stage; `folder` is for what commands leave on this machine. Throws `UnknownStage` or `NotReady`. */
export async function openStage(name: string, folder: string, log: Log): Promise<AdminContext & { close(): void }> {
  const stage = stageNamed(name);
  const resource = await resourcesOf(stage);
  const clock = Date.now;
  const dynamodb = new DynamoDBClient({ maxAttempts: 1 });
  const s3 = new S3Client();
  const lake = s3Files({ client: s3, bucket: resource('lake') });
  return {
    folder: join(folder, stage.name),
    table: dynamodbTable({ client: dynamodb, tableName: resource('table'), clock }),
    lake,
    databases: lakeDatabases(lake),
    runFiles: s3Files({ client: s3, bucket: resource('runFiles') }),
    clock,
    newId: v7,
    random: randomBytes,
    log,
    settings: stage.settings,
    close: () => {
      dynamodb.destroy();
      s3.destroy();
    },
  };
}
