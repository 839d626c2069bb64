import { browserServer } from './browser.ts';
import { dynamodbServer } from './dynamodb-local.ts';
import { folderOfRun } from './folder-of-run.ts';
import { postgresServer } from './postgres.ts';

/** Runs once, after all tests. */
export default async (): Promise<void> => {
  await Promise.all([dynamodbServer.close(), postgresServer.close(), browserServer.close()]);
  folderOfRun.close();
};
