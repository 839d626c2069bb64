import { Duration, RemovalPolicy, Size, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, Function as LambdaFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { MachineName } from '../../../lib/workflow/workflow.ts';
import { isNative } from '../bundle.ts';
import type { DataStack } from '../data-stack.ts';
import { ENVIRONMENT, FUNCTIONS, type FunctionSpec, flat, type Port, type Variable } from '../functions.ts';
import type { Stage } from '../stages.ts';
import { allow, permit } from './permissions.ts';

export interface FunctionsProps {
  readonly stage: Stage;
  readonly data: DataStack;
  readonly workGroup: string;
  /** ARN of the bus on which failures are announced. */
  readonly eventBus: string;
  /** ARNs of the state machines, by name. */
  readonly machines: Readonly<Record<MachineName, string>>;
  /** Where a function's bundle is. */
  readonly folder: (name: string) => string;
}

/** What the table's adapter sends, beside queries; a transaction needs the right to each of its parts. */
const TABLE_ACTIONS = ['BatchGetItem', 'ConditionCheckItem', 'DeleteItem', 'GetItem', 'PutItem', 'UpdateItem'].map(
  (name) => `dynamodb:${name}`,
);

/** Who calls a function: a request, the schedule, or a machine (and the rule that tells of its end). */
type Kind = 'Endpoints' | 'Tick' | 'Steps';

const kindOf = ({ name }: FunctionSpec): Kind =>
  name === 'tick' ? 'Tick' : name.startsWith('steps/') ? 'Steps' : 'Endpoints';

/** A lambda function of each handler, step and trigger. Those that need the same have one role together. */
export class Functions extends Construct {
  private readonly byName = new Map<string, LambdaFunction>();

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const { stage, folder } = props;
    const logGroups = new Map<string, LogGroup>();
    const roles = new Map<string, Role>();
    for (const spec of FUNCTIONS) {
      const kind = kindOf(spec);
      const log = kind === 'Endpoints' ? kind : 'Steps';
      const logGroup = known(logGroups, log, () => {
        const made = { retention: stage.logRetention, removalPolicy: RemovalPolicy.DESTROY };
        return new LogGroup(this, `${log}Log`, made);
      });
      const name = roleName(kind, spec.needs);
      const role = known(roles, name, () => this.role(name, spec, logGroup, props));
      const lambda = new LambdaFunction(this, flat(spec.name), {
        description: `${spec.name} (${stage.name})`,
        runtime: Runtime.NODEJS_24_X,
        architecture: isNative(spec) ? Architecture.X86_64 : Architecture.ARM_64,
        code: Code.fromAsset(folder(spec.name)),
        handler: 'index.handler',
        memorySize: spec.memory,
        timeout: Duration.seconds(spec.timeout),
        ...(isNative(spec) ? { ephemeralStorageSize: Size.gibibytes(10) } : {}),
        role,
        logGroup,
        tracing: Tracing.ACTIVE,
        environment: environmentOf(spec, props),
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

  private role(name: string, spec: FunctionSpec, logGroup: LogGroup, props: FunctionsProps): Role {
    const role = new Role(this, name, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const { partition, region, account } = Stack.of(this);
    const table = `arn:${partition}:dynamodb:${region}:${account}:table/${props.data.tableName}`;
    const statements = [
      allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [logGroup.logGroupArn]),
      allow(['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], ['*']),
      allow(TABLE_ACTIONS, [table]),
      // Only steps write many items that do not belong together.
      ...(kindOf(spec) === 'Steps' ? [allow(['dynamodb:BatchWriteItem'], [table])] : []),
      allow(['dynamodb:Query'], [table, `${table}/index/*`]),
      ...spec.needs.flatMap((need) => statementsOf(need, spec, partition, props)),
    ];
    permit(role, statements, WILDCARDS);
    return role;
  }
}

const WILDCARDS =
  'Log streams, indexes of the table, objects of a bucket, executions of a machine and X-Ray have no names beforehand.';

function known<T>(map: Map<string, T>, key: string, make: () => T): T {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const LOOK = 'states:DescribeExecution';
const STOP = 'states:StopExecution';
const READ = 's3:GetObject';
const REMOVE = 's3:DeleteObject';
const WRITE = 's3:PutObject';
/** What is larger than 5 MB is sent in parts, which are taken back when it fails: the files of a year by the hour. */
const TAKE_BACK = 's3:AbortMultipartUpload';
const OPEN = 'kms:Decrypt';
const SEAL = 'kms:GenerateDataKey';

/** What functions do with executions, files and secrets. Those of one role do the same. */
const USES: Readonly<Record<string, { [port in 'workflow' | 'spool' | 'lake' | 'vault']?: readonly string[] }>> = {
  'batch-exports/create': { vault: [OPEN, SEAL] },
  'batch-exports/update': { vault: [OPEN, SEAL] },
  // It also finishes a batch of the lake whose importer died: its files are copied to their places and removed.
  'steps/begin-run': { workflow: [LOOK, STOP], spool: [READ, WRITE, TAKE_BACK], lake: [READ, WRITE, REMOVE] },
  'steps/send-slot': { spool: [READ, WRITE, REMOVE] },
  'steps/finish-run': { spool: [READ, REMOVE] },
  'steps/execution-ended': { spool: [READ, REMOVE] },
  'steps/purge': { workflow: [STOP], spool: [READ, REMOVE], lake: [READ, REMOVE] },
};

/** What a role's functions need, in words: `StepsOutboundSpoolVault`. */
const roleName = (kind: Kind, needs: readonly Port[]): string =>
  `${kind}${needs
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map(capitalized)
    .join('')}Role`;

/** What a need allows to a function. */
function statementsOf(
  need: Port,
  spec: FunctionSpec,
  partition: string,
  { data, machines, eventBus }: FunctionsProps,
): PolicyStatement[] {
  const kind = kindOf(spec);
  const uses = USES[spec.name] ?? {};
  const [runs, backfills] = [machines['export-run'], machines.backfill].map(
    (arn) => `${arn.replace(':stateMachine:', ':execution:')}:*`,
  ) as [string, string];
  // A request begins a backfill; whatever else is due the tick begins. What a machine calls begins nothing.
  const starts: Readonly<Record<Kind, readonly string[]>> = {
    Endpoints: [machines.backfill],
    Tick: Object.values(machines),
    Steps: [],
  };
  const statements: Readonly<Record<Port, readonly PolicyStatement[]>> = {
    workflow: [
      ...(starts[kind].length === 0 ? [] : [allow(['states:StartExecution'], starts[kind])]),
      ...(uses.workflow === undefined ? [] : [allow(uses.workflow, [runs, backfills])]),
      // A request cancels, and looks whether a backfill in its way is alive.
      ...(kind === 'Endpoints' ? [allow([STOP], [runs, backfills]), allow([LOOK], [backfills])] : []),
    ],
    vault: [
      new PolicyStatement({
        actions: [...(uses.vault ?? [OPEN])],
        resources: [data.keyArn],
        // Only for a named export of a named organization.
        conditions: {
          Null: { 'kms:EncryptionContext:organization': 'false', 'kms:EncryptionContext:export': 'false' },
        },
      }),
    ],
    spool: objectsOf(uses.spool, `arn:${partition}:s3:::${data.spoolBucket}`),
    lake: objectsOf(uses.lake, `arn:${partition}:s3:::${data.lakeBucket}`),
    outbound: [],
    parser: [],
    events: [allow(['events:PutEvents'], [eventBus])],
    warehouse: [],
    converter: [],
  };
  return [...statements[need]];
}

const objectsOf = (actions: readonly string[] | undefined, bucket: string): PolicyStatement[] =>
  actions === undefined
    ? []
    : [
        allow(actions, [`${bucket}/*`]),
        // Without the right to list, an object that is not there is a refusal, not an absence.
        allow(['s3:ListBucket'], [bucket]),
      ];

function environmentOf({ needs }: FunctionSpec, props: FunctionsProps): Record<string, string> {
  const { stage, data, machines, workGroup, eventBus } = props;
  const values: Record<Variable, () => string> = {
    STAGE: () => stage.name,
    TABLE_NAME: () => data.tableName,
    SETTINGS: () => JSON.stringify(stage.settings),
    LOG_LEVEL: () => stage.logLevel,
    MACHINES: () => JSON.stringify(machines),
    KEY_ARN: () => data.keyArn,
    SPOOL_BUCKET: () => data.spoolBucket,
    LAKE_BUCKET: () => data.lakeBucket,
    LAKE_DATABASE: () => data.database,
    WORK_GROUP: () => workGroup,
    EVENT_BUS: () => eventBus,
  };
  const names = new Set<Variable>([...ENVIRONMENT.always, ...needs.flatMap((need) => [...ENVIRONMENT[need]])]);
  return Object.fromEntries([...names].map((name) => [name, values[name]()]));
}
