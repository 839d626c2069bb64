/** A stage as its cloud assembly has it, on this machine. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CreateTableCommand, type CreateTableCommandInput, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3 } from '@aws-sdk/client-s3';
import { SFNClient, StopExecutionCommand } from '@aws-sdk/client-sfn';
import { REQUEST_LIMITS } from '../../infra/local/gateway/rest-api.ts';
import { type Gateway, serveRestApi } from '../../infra/local/gateway/server.ts';
import type { Log } from '../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../lib/ports/settings.ts';
import { type Bucket, startBucket } from '../support/bucket.ts';
import { type Certificate, selfSigned } from '../support/certificate.ts';
import { dynamodbClient, dynamodbServer } from '../support/dynamodb-local.ts';
import { apiOf } from './api.ts';
import { type Assembly, REGION } from './assembly.ts';
import { fakeAthena } from './athena.ts';
import { type Calls, startCalls } from './calls.ts';
import { type RehearsalClock, rehearsalClock } from './clock.ts';
import { emit, eventBus, ring } from './events.ts';
import { type Executions, startExecutions } from './executions.ts';
import { fakeFirehose } from './firehose.ts';
import { fakeKms } from './kms.ts';
import { type Lambda, startLambda } from './lambda.ts';
import { type Permissions, permissionsOf } from './permissions.ts';
import { runQuery } from './queries.ts';

/** So little is too much for a function that what SDKs send on the journey is: of that, Athena answers who asks later. */
const QUERY_BYTES = { waited: 1e9, background: 300_000, athena: 1e9 };

/** Of a stage SDKs' paths are among those that need no key, and API Gateway takes 10 MB there, too. */
const PUBLIC_LIMITS = { ...REQUEST_LIMITS.public, payloadBytes: 10_485_760, bodies: { each: 1e9, all: 1e9, spare: 0 } };

/** The access key of an operator, who may do everything: deploy, import and look after the stage. */
const OPERATOR = 'AKIAOPERATOR';

export interface Stage {
  readonly assembly: Assembly;
  /** `http://127.0.0.1:…/dev`. */
  readonly address: string;
  /** Where every AWS service is, and who an operator is there. */
  readonly aws: {
    readonly endpoint: string;
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  readonly tableName: string;
  readonly lakeBucket: string;
  readonly runFilesBucket: string;
  readonly clock: RehearsalClock;
  readonly lambda: Lambda;
  readonly permissions: Permissions;
  readonly calls: Calls;
  readonly executions: Executions;
  /** A customer's bucket, and the address by which functions find it. */
  readonly customer: Bucket & { readonly destination: object };
  /** Of a customer's servers; functions trust it as they do a public authority's. */
  readonly certificate: Certificate;
  /** Returns the ARN of a function, by its name below `functions/`. */
  functionNamed(name: string): string;
  /** Starts what is due, as the schedule does every minute. */
  tick(): Promise<unknown>;
  /** Lets the delivery stream write what has come, as it does within a minute. */
  deliverInbox(): Promise<void>;
  /** Stops an execution, as an operator does in the console. */
  abort(machine: string, execution: string): Promise<void>;
  close(): Promise<void>;
}

interface StageOptions {
  readonly assembly: Assembly;
  readonly log: Log;
  readonly functionLog: (name: string, text: string) => void;
}

export async function startStage({ assembly, log, functionLog }: StageOptions): Promise<Stage> {
  const clock = rehearsalClock();
  const permissions = permissionsOf(assembly);
  const endings: (() => Promise<unknown> | undefined)[] = [];
  const close = async (): Promise<void> => {
    for (const end of endings.splice(0).toReversed()) await end();
  };
  try {
    await dynamodbServer.open();
    endings.push(() => dynamodbServer.close());
    const storage = await startBucket();
    endings.push(() => storage.close());
    const customer = await startBucket();
    endings.push(() => customer.close());
    const local = await dynamodbClient();
    endings.push(async () => local.destroy());
    const { port } = (await local.config.endpoint?.()) ?? {};
    const dynamodb = `http://127.0.0.1:${port}`;
    const table = assembly.theOne('AWS::DynamoDB::GlobalTable');
    await local.send(new CreateTableCommand(tableInput(table.ref, table.properties as GlobalTable)));
    for (const { ref } of assembly.ofType('AWS::S3::Bucket')) await storage.client.createBucket({ Bucket: ref });

    const bucketOf = (id: RegExp): string =>
      assembly.ofType('AWS::S3::Bucket').find((resource) => id.test(resource.id))?.ref ?? '';

    const certificate = selfSigned();
    const trusted = join(mkdtempSync(join(tmpdir(), 'trusted-')), 'certificate.pem');
    endings.push(async () => rmSync(dirname(trusted), { recursive: true }));
    writeFileSync(trusted, certificate.cert);

    let endpoint = '';
    const lambda = startLambda({
      assembly,
      permissions,
      endpoint: () => endpoint,
      // The contract suite makes more organizations by one user than a stage lets them have.
      settings: { queryBytes: QUERY_BYTES, organizationsPerUser: LOCAL_SETTINGS.organizationsPerUser },
      clockOffset: clock.offset,
      trusted,
      log: functionLog,
    });
    endings.push(() => lambda.close());
    const executions = startExecutions({
      assembly,
      permissions,
      lambda,
      clock,
      log,
      query: (role, query) =>
        runQuery(query, {
          assembly,
          client: storage.client,
          allows: (access) => permissions.allows(role, access, 'Athena'),
        }),
      emit: (event) => emit({ assembly, permissions, lambda }, event),
    });
    endings.push(() => executions.close());
    const key = assembly.theOne('AWS::KMS::Key');
    const firehose = fakeFirehose({ assembly, permissions, client: storage.client });
    const calls = await startCalls({
      permissions,
      caller: (accessKey) => (accessKey === OPERATOR ? { name: 'the operator', role: null } : lambda.owner(accessKey)),
      dynamodb,
      s3: storage.url,
      clock: clock.now,
      functions: {
        arn: (name) => {
          const found = assembly.ofType('AWS::Lambda::Function').find(({ ref }) => ref === name);
          return found && assembly.attribute(found, 'Arn');
        },
        invoke: (arn, event) => lambda.invoke(arn, event),
      },
      services: {
        athena: fakeAthena({ assembly, client: storage.client, lakeBucket: bucketOf(/^Lake/) }),
        events: eventBus({ assembly, permissions, lambda }),
        firehose: firehose.call,
        kms: fakeKms(assembly.attribute(key, 'Arn')),
        states: executions.call,
      },
    });
    endings.push(() => calls.close());
    endpoint = calls.address;
    const aws = {
      endpoint,
      region: REGION,
      credentials: { accessKeyId: OPERATOR, secretAccessKey: 'secret-of-the-operator' },
    };

    const { api, timeoutMs } = apiOf({ assembly, permissions, lambda });
    // The stage's throttle would only slow the rehearsal down.
    const gateway: Gateway = await serveRestApi(api, {
      host: '127.0.0.1',
      port: 0,
      clock: clock.now,
      log,
      rateLimit: null,
      limits: { timeoutMs, public: PUBLIC_LIMITS },
    });
    endings.push(() => gateway.close());

    const functions = new Map(
      assembly
        .ofType('AWS::Lambda::Function')
        .map((one) => [String(one.properties['Description']).replace(/ \(\w+\)$/, ''), assembly.attribute(one, 'Arn')]),
    );
    const states = new SFNClient(aws);
    endings.push(async () => states.destroy());
    return {
      assembly,
      address: `${gateway.address}/${api.stage}`,
      aws,
      tableName: table.ref,
      lakeBucket: bucketOf(/^Lake/),
      runFilesBucket: bucketOf(/^FileStore/),
      clock,
      lambda,
      permissions,
      calls,
      executions,
      certificate,
      customer: { ...customer, destination: destinationAt(customer) },
      functionNamed: (name) => {
        const found = functions.get(name);
        if (found === undefined) throw new Error(`there is no function ${name}`);
        return found;
      },
      deliverInbox: firehose.deliver,
      tick: () => ring({ assembly, permissions, lambda }),
      abort: async (machine, execution) => {
        const arn = assembly
          .ofType('AWS::StepFunctions::StateMachine')
          .find(({ properties }) => String(properties['StateMachineName']).endsWith(`-${machine}`))?.ref;
        const executionArn = `${arn?.replace(':stateMachine:', ':execution:')}:${execution}`;
        await states.send(new StopExecutionCommand({ executionArn, cause: 'Stopped by an operator' }));
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns an S3 destination at a public name, which leads here (surroundings.ts). */
function destinationAt({ url, config }: Bucket): object {
  const endpoint_url = url.replace('127.0.0.1', 'acme-storage.com');
  return { type: 'S3', config: { ...config, endpoint_url, use_virtual_style_addressing: true } };
}

type GlobalTable = Pick<
  CreateTableCommandInput,
  'KeySchema' | 'AttributeDefinitions' | 'BillingMode' | 'GlobalSecondaryIndexes'
>;

/** Returns the definition of a global table as that of a table. */
const tableInput = (TableName: string, table: GlobalTable): CreateTableCommandInput => ({
  TableName,
  KeySchema: table.KeySchema,
  AttributeDefinitions: table.AttributeDefinitions,
  BillingMode: table.BillingMode,
  GlobalSecondaryIndexes: table.GlobalSecondaryIndexes,
});

/** Returns clients of the stage's services, with an operator's rights. */
export const operatorClients = ({ aws }: Stage) => ({
  dynamodb: new DynamoDBClient({ ...aws, maxAttempts: 1 }),
  s3: new S3(aws),
});

/** Synthesizes the assembly of a stage from the sources as they are, into a folder outside the repository. */
export async function synthesize(stage: string): Promise<{ folder: string; remove: () => void }> {
  const root = join(import.meta.dirname, '../..');
  const folder = mkdtempSync(join(tmpdir(), 'assembly-'));
  const { context } = JSON.parse(readFileSync(join(root, 'cdk.json'), 'utf8')) as { context: object };
  await promisify(execFile)(process.execPath, ['infra/aws/app.ts'], {
    cwd: root,
    // As the CDK's command line starts the app.
    env: { ...process.env, CDK_OUTDIR: folder, CDK_CONTEXT_JSON: JSON.stringify({ ...context, stage }) },
    maxBuffer: 64 * 1024 * 1024,
  });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
