import { randomInt } from 'node:crypto';
import { builtConsole } from '../../infra/build/console.ts';
import { browserServer } from './browser.ts';
import { dynamodbServer } from './dynamodb-local.ts';
import { folderOfRun } from './folder-of-run.ts';
import { postgresServer } from './postgres.ts';

/** Runs once, before all tests. `TEST_SEED=<seed> npm test -- <file>` tries the same random values again. */
export default async (): Promise<void> => {
  process.env['TEST_SEED'] ??= String(randomInt(2 ** 31));
  process.stderr.write(`TEST_SEED=${process.env['TEST_SEED']}\n`);
  folderOfRun.open();
  await Promise.all([dynamodbServer.open(), postgresServer.open(), browserServer.open(), builtConsole()]);
};
