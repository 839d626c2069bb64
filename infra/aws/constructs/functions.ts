import { Duration, RemovalPolicy, Size, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, Function as LambdaFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { getOrMake } from '../../../lib/basics/maps.ts';
import { INBOX_FOLDERS } from '../../../lib/ports/inbox/firehose.ts';
import type { Settings } from '../../../lib/ports/settings.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import type { Key } from '../../../lib/ports/table/table.ts';
import type { FileUse, StepNeed, StepUses } from '../../../lib/workflow/steps.ts';
import type { MachineName } from '../../../lib/workflow/workflow.ts';
import { isNative } from '../bundle.ts';
import { type DataStack, QUERY_RESULTS } from '../data-stack.ts';
import {
  ENVIRONMENT,
  FUNCTIONS,
  flat,
  type LambdaSpec,
  reservedOf,
  type TableUse,
  type Variable,
} from '../functions.ts';
import type { Concurrency, Stage } from '../stages.ts';
import { athenaOver } from './athena.ts';
import { allow, permit } from './permissions.ts';

interface FunctionsProps {
  readonly stage: Stage;
  readonly data: DataStack;
  readonly workGroup: string;
  /** The workgroup of queries whose rows are wanted. */
  readonly queryWorkGroup: string;
  /** ARN of the bus on which failures are announced. */
  readonly eventBus: string;
  /** ARN of the delivery stream of the inbox. */
  readonly inboxStream: string;
  /** ARNs of what sends mail in SES; none: no mail is sent. */
  readonly mailResources: readonly string[];
  /** ARNs of the state machines, by name. */
  readonly machines: Readonly<Record<MachineName, string>>;
  readonly concurrency: Concurrency | null;
  /** Where a function's bundle is. */
  readonly folder: (name: string) => string;
}

/** What the table's adapter sends, beside queries; a transaction needs the right to each of its parts. */
const READS = ['BatchGetItem', 'GetItem'];
const WRITES = ['ConditionCheckItem', 'DeleteItem', 'PutItem', 'UpdateItem'];
const TABLE_ACTIONS: Readonly<Record<TableUse, readonly string[]>> = {
  none: [],
  keys: ['GetItem', 'UpdateItem'],
  // By the partition: below.
  capture: [],
  read: READS,
  write: [...READS, ...WRITES],
  'write-many': [...READS, ...WRITES, 'BatchWriteItem'],
};

/** Who calls a function: the gateway before a request and with it, another function, the schedule, a machine, its end. */
type Kind = 'Authorizer' | 'Endpoints' | 'Internal' | 'Tick' | 'Steps' | 'Ended';

const kindOf = ({ name }: LambdaSpec): Kind => {
  if (name === 'authorizer') return 'Authorizer';
  if (name === 'tick') return 'Tick';
  if (name === 'steps/execution-ended') return 'Ended';
  if (name === 'run-queries' || name.startsWith('lake-worker/')) return 'Internal';
  return name.startsWith('steps/') ? 'Steps' : 'Endpoints';
};

/**
 * A lambda function of each handler, step and trigger. Functions that are called by the same and declare the same (use
 * of the table, needs and uses) have one role together: a role of their own would allow just the same.
 */
export class Functions extends Construct {
  private readonly byName = new Map<string, LambdaFunction>();

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const { stage, folder } = props;
    const logGroups = new Map<string, LogGroup>();
    const roles = new Map<string, Role>();
    for (const spec of FUNCTIONS) {
      const kind = kindOf(spec);
      const log = kind === 'Endpoints' || kind === 'Authorizer' ? 'Endpoints' : 'Steps';
      const logGroup = getOrMake(logGroups, log, () => {
        const made = { retention: stage.logRetention, removalPolicy: RemovalPolicy.DESTROY };
        return new LogGroup(this, `${log}Log`, made);
      });
      const name = roleName(kind, spec);
      const role = getOrMake(roles, name, () => this.role(name, spec, logGroup, props));
      const reserved = reservedOf(spec, props.concurrency);
      const lambda = new LambdaFunction(this, flat(spec.name), {
        description: `${spec.name} (${stage.name})`,
        runtime: Runtime.NODEJS_24_X,
        architecture: isNative(spec) ? Architecture.X86_64 : Architecture.ARM_64,
        code: Code.fromAsset(folder(spec.name)),
        handler: 'index.handler',
        memorySize: Math.min(spec.memory, stage.mostMemory),
        timeout: Duration.seconds(spec.timeout),
        ...(isNative(spec) ? { ephemeralStorageSize: Size.gibibytes(10) } : {}),
        ...(reserved === undefined ? {} : { reservedConcurrentExecutions: reserved }),
        role,
        logGroup,
        tracing: Tracing.ACTIVE,
        environment: this.environmentOf(spec, props),
      });
      this.byName.set(spec.name, lambda);
    }
  }

  /** The function of this name. */
  named(name: string): LambdaFunction {
    const found = this.byName.get(name);
    if (found === undefined) throw new Error(`there is no function ${name}`);
    return found;
  }

  /** Gives the function of this name settings of its own. */
  tell(name: string, settings: Settings): void {
    this.named(name).addEnvironment('SETTINGS', JSON.stringify(settings));
  }

  private role(name: string, spec: LambdaSpec, logGroup: LogGroup, props: FunctionsProps): Role {
    const role = new Role(this, name, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const { partition, region, account } = Stack.of(this);
    const table = `arn:${partition}:dynamodb:${region}:${account}:table/${props.data.tableName}`;
    const statements = [
      allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [logGroup.logGroupArn]),
      allow(['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], ['*']),
      ...tableStatements(spec, table),
      ...spec.needs.flatMap((need) => statementsOf(need, spec, partition, props)),
      ...(spec.needs.includes('queryRunner') ? athenaOver(this, props.data, answers(props.queryWorkGroup)) : []),
      ...this.callsOf(spec),
    ];
    permit(role, statements, WILDCARDS);
    return role;
  }

  /** Who waits has the lake read; what a request does not wait for, and what strangers see, is ordered. */
  private callsOf(spec: LambdaSpec): PolicyStatement[] {
    const { needs, reads } = spec;
    const called = [
      ...(reads === true ? [lakeWorkerOf(spec)] : []),
      // A step waits for what it tells.
      ...(needs.includes('answers') && kindOf(spec) === 'Endpoints' ? ['run-queries'] : []),
    ];
    const arns = called.map((name) => this.named(name).functionArn);
    return arns.length === 0 ? [] : [allow(['lambda:InvokeFunction'], arns)];
  }

  private environmentOf(spec: LambdaSpec, props: FunctionsProps): Record<string, string> {
    const { needs } = spec;
    const { stage, data, machines, workGroup, queryWorkGroup, eventBus, inboxStream } = props;
    const values: Record<Variable, () => string> = {
      STAGE: () => stage.name,
      TABLE_NAME: () => data.tableName,
      SETTINGS: () => JSON.stringify(stage.settings),
      LOG_LEVEL: () => stage.logLevel,
      MACHINES: () => JSON.stringify(machines),
      KEY_ARN: () => data.keyArn,
      RUN_FILES_BUCKET: () => data.runFilesBucket,
      LAKE_BUCKET: () => data.lakeBucket,
      LAKE_DATABASE: () => data.database,
      WORK_GROUP: () => workGroup,
      QUERY_WORK_GROUP: () => queryWorkGroup,
      EVENT_BUS: () => eventBus,
      INBOX_BUCKET: () => data.inboxBucket,
      INBOX_STREAM: () => inboxStream.slice(inboxStream.lastIndexOf('/') + 1),
      LAKE_WORKER: () => this.named(lakeWorkerOf(spec)).functionName,
      QUERY_RUNNER: () => this.named('run-queries').functionName,
    };
    const names = new Set<Variable>([...ENVIRONMENT.always, ...needs.flatMap((need) => [...ENVIRONMENT[need]])]);
    return Object.fromEntries([...names].map((name) => [name, values[name]()]));
  }
}

/** Returns the function that reads the lake for another one: who waits has it for themselves. */
const lakeWorkerOf = (spec: LambdaSpec): string =>
  `lake-worker/${kindOf(spec) === 'Endpoints' ? 'waited' : 'background'}`;

function tableStatements({ table: use, countsKeys, reads, needs }: LambdaSpec, table: string): PolicyStatement[] {
  if (use === 'none') return [];
  const actions = TABLE_ACTIONS[use].map((name) => `dynamodb:${name}`);
  const within = (partition: string, names: readonly string[]): PolicyStatement =>
    new PolicyStatement({
      actions: [...names],
      resources: [table],
      conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [partition] } },
    });
  if (use === 'keys') return [within(keys.personalApiKey('*').pk, actions)];
  if (use === 'capture')
    return [
      within(keys.projectToken('*').pk, ['dynamodb:GetItem']),
      within(ofProjects(keys.project(0)), ['dynamodb:ConditionCheckItem']),
      within(ofProjects(keys.captureCounts(0, '')), ['dynamodb:BatchGetItem', 'dynamodb:UpdateItem']),
      within(keys.job('landing', '*').pk, ['dynamodb:PutItem', 'dynamodb:UpdateItem']),
    ];
  return [
    allow(actions, [table]),
    allow(['dynamodb:Query'], [table, `${table}/index/*`]),
    // Who writes anyway needs no right of its own for counts.
    ...(countsKeys === true && use === 'read' ? [within(keys.requestCount('*', 0).pk, ['dynamodb:UpdateItem'])] : []),
    ...(reads === true && use === 'read' ? [within(ANSWERS, KEEPS)] : []),
    ...((reads === true || needs.includes('testTurns')) && use === 'read'
      ? [within(keys.sharedTurn('*', '', 0).pk, TAKES)]
      : []),
  ];
}

/** Returns the partitions of all projects, by that of project 0. */
const ofProjects = ({ pk }: Key): string => pk.replace('0', '*');
const ANSWERS = ofProjects(keys.propertyReads(0));
/** What is kept of queries is put, changed and removed, each by itself. */
const KEEPS = ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'];
/** A turn is taken and given back. */
const TAKES = ['dynamodb:PutItem', 'dynamodb:DeleteItem'];

/** Queries that Athena answers for who asked, whose rows are read where the workgroup keeps them. */
const answers = (workGroup: string) => ({
  workGroup,
  actions: ['StartQueryExecution', 'GetQueryExecution', 'GetQueryResults', 'StopQueryExecution'],
  results: `${QUERY_RESULTS}*`,
});

const WILDCARDS =
  'Log streams, indexes of the table, objects of a bucket, executions of a machine, configuration sets and X-Ray have no names beforehand.';

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const EXECUTION_ACTIONS = { look: 'states:DescribeExecution', stop: 'states:StopExecution' } as const;
const FILE_ACTIONS: Readonly<Record<FileUse, string>> = {
  read: 's3:GetObject',
  write: 's3:PutObject',
  'write-parts': 's3:AbortMultipartUpload',
  remove: 's3:DeleteObject',
};

/** What a role's functions need and do, in words: `EndpointsTableWriteVaultSealRole`. */
function roleName(kind: Kind, { table, countsKeys, reads, seals, needs, uses = {} }: LambdaSpec): string {
  const used = (need: StepNeed): readonly string[] =>
    need === 'vault' && seals === true ? ['seal'] : (uses[need as keyof StepUses] ?? []);
  const ports = needs.toSorted((a, b) => (a < b ? -1 : 1)).flatMap((need) => [need, ...used(need)]);
  const words = [
    'table',
    table,
    ...(countsKeys === true ? ['counts'] : []),
    ...(reads === true ? ['reads'] : []),
    ...ports,
  ];
  return `${kind}${words
    .flatMap((word) => word.split('-'))
    .map(capitalized)
    .join('')}Role`;
}

/** What a need allows to a function. */
function statementsOf(
  need: StepNeed,
  spec: LambdaSpec,
  partition: string,
  { data, machines, eventBus, inboxStream, mailResources }: FunctionsProps,
): PolicyStatement[] {
  const kind = kindOf(spec);
  const { uses = {} } = spec;
  const inboxArn = `arn:${partition}:s3:::${data.inboxBucket}`;
  const used = uses.workflow?.map((use) => EXECUTION_ACTIONS[use]);
  const [runs, backfills] = [machines['export-run'], machines.backfill].map(
    (arn) => `${arn.replace(':stateMachine:', ':execution:')}:*`,
  ) as [string, string];
  // A request begins a backfill; whatever else is due the tick begins. What a machine calls begins nothing.
  const starts = { Endpoints: [machines.backfill], Tick: Object.values(machines) };
  const statements: Readonly<Record<StepNeed, readonly PolicyStatement[]>> = {
    workflow: [
      ...(kind === 'Endpoints' || kind === 'Tick' ? [allow(['states:StartExecution'], starts[kind])] : []),
      ...(used === undefined ? [] : [allow(used, [runs, backfills])]),
      // A request cancels, and looks whether a backfill in its way is alive.
      ...(kind === 'Endpoints'
        ? [allow([EXECUTION_ACTIONS.stop], [runs, backfills]), allow([EXECUTION_ACTIONS.look], [backfills])]
        : []),
    ],
    vault: [
      new PolicyStatement({
        actions: ['kms:Decrypt', ...(spec.seals === true ? ['kms:GenerateDataKey'] : [])],
        resources: [data.keyArn],
        // Only for a named organization: its export, alert or subscription is named beside it.
        conditions: { Null: { 'kms:EncryptionContext:organization': 'false' } },
      }),
    ],
    runFiles: objectsOf(uses.runFiles, `arn:${partition}:s3:::${data.runFilesBucket}`),
    lake: objectsOf(uses.lake, `arn:${partition}:s3:::${data.lakeBucket}`),
    outbound: [],
    compiler: [],
    reader: [],
    personRemoval: [],
    answers: [],
    imports: [],
    pictures: [],
    testTurns: [],
    events: [allow(['events:PutEvents'], [eventBus])],
    mail: mailResources.length === 0 ? [] : [allow(['ses:SendEmail'], mailResources)],
    warehouse: [],
    lakeWorker: [],
    queryRunner: [],
    compactor: [],
    personDeletions: [],
    landing: [],
    // Who takes requests puts them there; who lands them reads, forgets, and sets aside what is damaged.
    inbox:
      kind === 'Endpoints'
        ? [
            allow(['firehose:PutRecord'], [inboxStream]),
            allow(['s3:PutObject'], [`${inboxArn}/${INBOX_FOLDERS.direct}*`]),
          ]
        : [
            ...objectsOf(['read', 'remove'], inboxArn),
            allow(['s3:PutObject'], [`${inboxArn}/${INBOX_FOLDERS.damaged}*`]),
          ],
    converter: [],
  };
  return [...statements[need]];
}

function objectsOf(uses: readonly FileUse[] | undefined, bucket: string): PolicyStatement[] {
  const actions = uses?.map((use) => FILE_ACTIONS[use]);
  // Without the right to list, an object that is not there is a refusal, not an absence.
  return actions === undefined ? [] : [allow(actions, [`${bucket}/*`]), allow(['s3:ListBucket'], [bucket])];
}
