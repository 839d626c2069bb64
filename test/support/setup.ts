import { builtConsole } from '../../infra/local/console.ts';
import { browserServer } from './browser.ts';
import { dynamodbServer } from './dynamodb-local.ts';
import { postgresServer } from './postgres.ts';

/** Runs once, before all tests. */
export default async (): Promise<void> => {
  await Promise.all([dynamodbServer.open(), postgresServer.open(), browserServer.open(), builtConsole()]);
};
