/** What a person's own credentials find in the account: for the commands that are run from a shell. */
import {
  CloudFormationClient,
  CloudFormationServiceException,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { messageOf } from '../../lib/basics/text.ts';
import { DATA_LAYOUT, dataLayoutOf } from '../../lib/ports/table/data-layout.ts';
import { dynamodbTable } from '../../lib/ports/table/dynamodb.ts';
import type { Table } from '../../lib/ports/table/table.ts';
import { isDefaultAddressClosed, type StageOptions } from './options.ts';
import { dataStackName, type Stage, serviceStackName } from './stages.ts';

/** Something has to be done first; the message says what, in one sentence. */
export class NotReady extends Error {
  override readonly name = 'NotReady';
}

/** The stack that `cdk bootstrap` makes, unless it is told otherwise. */
const BOOTSTRAP = 'CDKToolkit';

type Client = Pick<CloudFormationClient, 'send'>;

/** Throws `NotReady` when nothing can be deployed from this shell. */
export async function checkBootstrap(client: Client = new CloudFormationClient()): Promise<void> {
  const outputs = await outputsOf(client, BOOTSTRAP);
  if (outputs === undefined)
    throw new NotReady('This account and Region are not prepared for CDK: run npx cdk bootstrap.');
}

/** What AWS wants to be left of the account's functions at once, when some are set apart. */
const LEFT_TO_ALL = 100;

/** Throws `NotReady` when the account may run too few functions at once for a stage to set this many apart. */
export async function checkConcurrency(
  reserved: number,
  client: Pick<LambdaClient, 'send'> = new LambdaClient(),
): Promise<void> {
  if (reserved === 0) return;
  const { AccountLimit } = await client.send(new GetAccountSettingsCommand()).catch((error: unknown) => {
    // Who deploys need not have this right; then CloudFormation is the one that says it.
    if (isDenied(error)) return { AccountLimit: undefined };
    throw explained(error);
  });
  const most = AccountLimit?.ConcurrentExecutions ?? Number.POSITIVE_INFINITY;
  if (reserved + LEFT_TO_ALL <= most) return;
  throw new NotReady(
    `This account may run ${most} functions at once in this Region, and the stage sets ${reserved} apart, beside which ` +
      `AWS wants ${LEFT_TO_ALL} to be left: ask for more (Service Quotas, Lambda, Concurrent executions), or set ` +
      'concurrency in cdk.json (docs/deploy.md, "Functions at once").',
  );
}

/** Throws `NotReady` when a deploy would close the only address by which a stage is reached so far. */
export async function checkAddress(
  stage: Stage,
  options: Pick<StageOptions, 'domain'>,
  client: Client = new CloudFormationClient(),
): Promise<void> {
  if (!isDefaultAddressClosed(options)) return;
  const outputs = await outputsOf(client, serviceStackName(stage));
  // What has never come to be has no address to close.
  if (!outputs?.has('Address') || outputs.has('DomainTarget')) return;
  throw new NotReady(
    `The stage ${stage.name} is reached at ${outputs.get('Address')}, which this deploy would close, before the name of ` +
      'its own can lead to it: say "defaultAddress": "open" in its domain in cdk.json, until all who call it have moved ' +
      '(docs/deploy.md, "An address of its own").',
  );
}

/** The layouts with whose data this version can go on: on AWS nothing brings an older one up to date. */
const KNOWN_LAYOUTS = { from: 3, to: DATA_LAYOUT };

interface LayoutCheck {
  readonly client?: Client;
  readonly open?: (tableName: string) => Pick<Table, 'get'>;
  readonly known?: { readonly from: number; readonly to: number };
}

const openTable = (tableName: string): Table =>
  dynamodbTable({ client: new DynamoDBClient({ maxAttempts: 1 }), tableName, clock: Date.now });

/** Throws `NotReady` when the table that a deploy would use was written in a layout that this version does not know. */
export async function checkDataLayout(
  stage: Stage,
  { restoredTable }: Pick<StageOptions, 'restoredTable'>,
  { client = new CloudFormationClient(), open = openTable, known = KNOWN_LAYOUTS }: LayoutCheck = {},
): Promise<void> {
  const stack = dataStackName(stage);
  const tableName = restoredTable ?? (await outputsOf(client, stack))?.get(`${stack}-table`);
  if (tableName === undefined) return;
  const layout = await dataLayoutOf(open(tableName)).catch((error: unknown) => {
    // Who deploys need not have this right.
    if (isDenied(error)) return undefined;
    if (error instanceof Error && error.name === 'ResourceNotFoundException')
      throw new NotReady(`There is no table ${tableName} in this account and Region.`);
    throw explained(error);
  });
  if (layout === undefined) return;
  if (layout < known.from)
    throw new NotReady(
      `The data of the stage ${stage.name} has layout ${layout}, and this version can go on with none before ` +
        `${known.from} (docs/deploy.md, "Upgrade").`,
    );
  if (layout > known.to)
    throw new NotReady(
      `The stage ${stage.name} was last used by a newer version: its data has layout ${layout}, and this version knows ` +
        `layouts up to ${known.to}. Deploy the newer one, or name a table that was restored as of before it ` +
        '(docs/deploy.md, "Go back to an earlier version").',
    );
}

/**
 * What a stage's data stack exports: its resources' names, by what they are (`table`, `lake`, `runFiles`, `key`). What was
 * restored takes the place of the stack's own.
 */
export async function resourcesOf(stage: Stage, client: Client = new CloudFormationClient()) {
  const stack = dataStackName(stage);
  const outputs = await outputsOf(client, stack);
  if (outputs === undefined) {
    const command = `npm run deploy -- -c stage=${stage.name}`;
    throw new NotReady(`The stage ${stage.name} is not in this account and Region: deploy it with ${command}.`);
  }
  return (what: string): string =>
    outputs.get(`${stack}-restored-${what}`) ??
    outputs.get(`${stack}-${what}`) ??
    missing(`The stack ${stack} does not export its ${what}: deploy it again.`);
}

function missing(message: string): never {
  throw new NotReady(message);
}

/** The outputs of a stack, by the names under which they are exported, else by their own; undefined: there is no such stack. */
async function outputsOf(client: Client, StackName: string): Promise<Map<string, string> | undefined> {
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName }));
    return new Map(
      stack?.Outputs?.map(({ OutputKey = '', ExportName = OutputKey, OutputValue = '' }) => [ExportName, OutputValue]),
    );
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw explained(error);
  }
}

/** CloudFormation says it with a general name and these words. */
const isAbsent = (error: unknown): boolean =>
  error instanceof CloudFormationServiceException &&
  error.name === 'ValidationError' &&
  error.message.endsWith('does not exist');

const isDenied = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'AccessDenied' || error.name === 'AccessDeniedException');

const EXPIRED = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
]);
const UNREACHABLE = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT']);

function explained(error: unknown): unknown {
  const name = error instanceof Error ? error.name : '';
  if (name === 'CredentialsProviderError' || name === 'TokenProviderError')
    return new NotReady(
      'There are no AWS credentials in this shell: sign in, for example with aws sso login or aws configure.',
    );
  if (EXPIRED.has(name)) return new NotReady('AWS does not accept the credentials of this shell: sign in again.');
  if (messageOf(error) === 'Region is missing')
    return new NotReady('No Region is chosen: set AWS_REGION, for example to eu-central-1.');
  if (isDenied(error)) return new NotReady(`The credentials of this shell may not look at stacks: ${messageOf(error)}`);
  if (UNREACHABLE.has((error as { code?: string }).code ?? ''))
    return new NotReady(`AWS cannot be reached from here: ${messageOf(error)}.`);
  return error;
}
