import { Duration, RemovalPolicy, Size, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, Function as LambdaFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
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
  readonly machines: Readonly<Record<string, string>>;
  /** Where a function's bundle is. */
  readonly folder: (name: string) => string;
}

/** What the table's adapter sends; a transaction needs the right to each of its parts. */
const TABLE_ACTIONS = [
  'BatchGetItem',
  'BatchWriteItem',
  'ConditionCheckItem',
  'DeleteItem',
  'GetItem',
  'PutItem',
  'Query',
  'UpdateItem',
].map((name) => `dynamodb:${name}`);

/** A lambda function of each handler, step and trigger. Those that need the same have one role together. */
export class Functions extends Construct {
  private readonly byName = new Map<string, LambdaFunction>();

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const { stage, folder } = props;
    const logGroups = new Map<string, LogGroup>();
    const roles = new Map<string, Role>();
    for (const spec of FUNCTIONS) {
      const kind = spec.name.startsWith('steps/') || spec.name === 'tick' ? 'Steps' : 'Endpoints';
      const logGroup = known(logGroups, kind, () => {
        const made = { retention: stage.logRetention, removalPolicy: RemovalPolicy.DESTROY };
        return new LogGroup(this, `${kind}Log`, made);
      });
      const name = roleName(kind, spec.needs);
      const role = known(roles, name, () => this.role(name, spec.needs, logGroup, props));
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

  private role(name: string, needs: readonly Port[], logGroup: LogGroup, props: FunctionsProps): Role {
    const role = new Role(this, name, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const { partition, region, account } = Stack.of(this);
    const table = `arn:${partition}:dynamodb:${region}:${account}:table/${props.data.tableName}`;
    const statements = [
      allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [logGroup.logGroupArn]),
      allow(['xray:PutTraceSegments', 'xray:PutTelemetryRecords'], ['*']),
      allow(TABLE_ACTIONS, [table, `${table}/index/*`]),
      ...needs.flatMap((need) => statementsOf(need, partition, props)),
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

/** What a role's functions need, in words: `StepsOutboundSpoolVault`. */
const roleName = (kind: string, needs: readonly Port[]): string =>
  `${kind}${needs
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map(capitalized)
    .join('')}Role`;

/** What a need allows. */
function statementsOf(need: Port, partition: string, { data, machines, eventBus }: FunctionsProps): PolicyStatement[] {
  const arns = Object.values(machines);
  const executions = arns.map((arn) => `${arn.replace(':stateMachine:', ':execution:')}:*`);
  const statements: Readonly<Record<Port, readonly PolicyStatement[]>> = {
    workflow: [
      allow(['states:StartExecution'], arns),
      allow(['states:StopExecution', 'states:DescribeExecution'], executions),
    ],
    vault: [
      new PolicyStatement({
        actions: ['kms:GenerateDataKey', 'kms:Decrypt'],
        resources: [data.keyArn],
        // Only for a named export of a named organization.
        conditions: {
          Null: { 'kms:EncryptionContext:organization': 'false', 'kms:EncryptionContext:export': 'false' },
        },
      }),
    ],
    spool: objectsOf(`arn:${partition}:s3:::${data.spoolBucket}`),
    lake: objectsOf(`arn:${partition}:s3:::${data.lakeBucket}`),
    outbound: [],
    parser: [],
    events: [allow(['events:PutEvents'], [eventBus])],
    warehouse: [],
    converter: [],
  };
  return [...statements[need]];
}

const objectsOf = (bucket: string): PolicyStatement[] => [
  allow(['s3:GetObject', 's3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload'], [`${bucket}/*`]),
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
