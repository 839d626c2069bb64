/**
 * The service on which the rows are tried: one in this process, or the stage that `CONTRACT_STAGE` names (JSON of
 * `ContractStage`), as the rehearsal has it.
 */
import { randomBytes } from 'node:crypto';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { v4, v7 } from 'uuid';
import type { Route } from '../../lib/http/route.ts';
import { dynamodbTable } from '../../lib/ports/table/dynamodb.ts';
import { testContext } from '../support/context.ts';
import { seeded, testService } from '../support/service.ts';
import type { World } from './fixtures.ts';

export interface ContractStage {
  /** `http://127.0.0.1:8010/dev`. */
  readonly address: string;
  /** How the table is reached, which several worlds share. */
  readonly aws: Pick<DynamoDBClientConfig, 'region'> & {
    readonly endpoint: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  readonly tableName: string;
  /** How far the stage's clock is ahead, in milliseconds. */
  readonly clockOffset: number;
  /** Where exports may deliver to. */
  readonly destination: object;
}

/** Does no stage offer the row yet? Then it answers a 400 that says so. */
export const isOffered = ({ needs = [], tag }: Route): boolean =>
  process.env['CONTRACT_STAGE'] === undefined || (!needs.includes('reader') && tag !== 'Queries' && tag !== 'Imports');

/** Returns a new world, with nothing in it but an owner, their organization and its project. */
export async function newWorld(): Promise<World> {
  const named = process.env['CONTRACT_STAGE'];
  if (named === undefined) {
    const context = testContext();
    return { context, service: await testService(context) };
  }
  const { address, aws, tableName, clockOffset, destination } = JSON.parse(named) as ContractStage;
  const unmoved = (): never => {
    throw new Error("a stage's clock is not the test's to move");
  };
  const clock = Object.assign(() => Date.now() + clockOffset, { set: unmoved, advance: unmoved });
  const table = dynamodbTable({ client: new DynamoDBClient({ ...aws, maxAttempts: 1 }), tableName, clock });
  const context = testContext({ table, clock, newId: v7, random: randomBytes });
  const service = await seeded({ context, address, mail: (name) => `${name}-${v4()}@example.com` });
  return { context, service: { ...service, close: async () => {} }, destination };
}
