import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { dynamodbTable } from '../../lib/ports/table/dynamodb.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { settableClock } from '../support/context.ts';
import { createTable, describeOnDynamodb, dynamodbClient } from '../support/dynamodb-local.ts';
import { tableCases } from './table-cases.ts';

describe('SQLite', () => {
  const opened: { close(): void }[] = [];
  afterAll(() => opened.forEach((table) => table.close()));

  tableCases(async () => {
    const clock = settableClock();
    const table = sqliteTable(':memory:', { clock });
    opened.push(table);
    return { table, clock };
  });
});

describeOnDynamodb('DynamoDB', () => {
  let client: DynamoDBClient;
  beforeAll(async () => {
    client = await dynamodbClient();
  });
  afterAll(() => client.destroy());

  tableCases(async () => {
    const clock = settableClock();
    return { table: dynamodbTable({ client, tableName: await createTable(client), clock }), clock };
  });
});
