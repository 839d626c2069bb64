import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { DefinitionBody, LogLevel, StateMachine, StateMachineType } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { MACHINES } from '../../../lib/workflow/definitions/index.ts';
import { STEPS } from '../../../lib/workflow/steps.ts';
import { MACHINE_NAMES, type MachineName } from '../../../lib/workflow/workflow.ts';
import type { DataStack } from '../data-stack.ts';
import { machineName } from '../machine-name.ts';
import type { Stage } from '../stages.ts';
import { athenaOver } from './athena.ts';
import { allow, explainWildcards, permit } from './permissions.ts';

/** Each machine's ARN, from its name alone: functions need it that the machine itself needs. */
export function machineArns(stack: Stack, stage: Stage): Record<MachineName, string> {
  const arn = (name: MachineName): string =>
    `arn:${stack.partition}:states:${stack.region}:${stack.account}:stateMachine:${machineName(stage.name, name)}`;
  return Object.fromEntries(MACHINE_NAMES.map((name) => [name, arn(name)])) as Record<MachineName, string>;
}

interface WorkflowsProps {
  readonly stage: Stage;
  readonly data: DataStack;
  readonly workGroup: string;
  readonly machines: Readonly<Record<MachineName, string>>;
  readonly functionNamed: (name: string) => IFunction;
}

/** The state machines of lib/workflow/definitions as they are, and the rule that tells of executions that did not succeed. */
export class Workflows extends Construct {
  readonly machines: readonly StateMachine[];
  /** Ends of executions that nobody has settled: the events that told of them. */
  readonly unsettled: Queue;

  constructor(scope: Construct, id: string, props: WorkflowsProps) {
    super(scope, id);
    const { stage, data, workGroup, machines, functionNamed } = props;
    // A group of another name adds to the account's policy for deliveries of logs, which is full at 5,120 characters.
    // https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html
    const logs = new LogGroup(this, 'Log', {
      logGroupName: `/aws/vendedlogs/states/workspaces-${stage.name}`,
      retention: stage.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.machines = MACHINE_NAMES.map((name) => {
      const text = JSON.stringify(MACHINES[name]);
      const functions = Object.keys(STEPS).filter((step) => text.includes(reference(step)));
      const steps = functions.map((step) => [step, functionNamed(`steps/${step}`).functionArn] as const);
      const machine = new StateMachine(this, name, {
        stateMachineName: machineName(stage.name, name),
        stateMachineType: StateMachineType.STANDARD,
        definitionBody: DefinitionBody.fromString(substituted(text, [...steps, ...Object.entries(machines)])),
        // What goes wrong, by states and errors alone: inputs, outputs and causes may hold what is a customer's.
        logs: { destination: logs, level: LogLevel.ERROR, includeExecutionData: false },
        tracingEnabled: true,
      });
      Validations.of(machine).acknowledge({
        id: 'AwsSolutions-SF1',
        reason: 'What a machine does stands in the history of its execution; its log tells what went wrong.',
      });
      const arns = steps.map(([, arn]) => arn);
      const statements = [
        ...(arns.length === 0 ? [] : [allow(['lambda:InvokeFunction'], arns)]),
        ...(text.includes('athena:startQueryExecution.sync') ? athenaOver(this, data, unloads(workGroup)) : []),
        ...(text.includes('states:startExecution.sync:2') ? executions(this, machines['export-run']) : []),
      ];
      permit(machine.role, statements, WILDCARDS);
      // What CDK adds for logging and tracing.
      explainWildcards(machine.role, ['*'], WILDCARDS);
      return machine;
    });

    const ended = new Rule(this, 'Ended', {
      description: 'Settles what an execution left that did not succeed',
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: { status: ['FAILED', 'TIMED_OUT', 'ABORTED'], stateMachineArn: Object.values(machines) },
      },
    });
    const settler = functionNamed('steps/execution-ended');
    this.unsettled = new Queue(this, 'Unsettled', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    Validations.of(this.unsettled).acknowledge({ id: 'AwsSolutions-SQS3', reason: 'It is the dead-letter queue.' });
    // What the rule could not hand over, and what the function could not do in three attempts.
    ended.addTarget(new LambdaTarget(settler, { deadLetterQueue: this.unsettled }));
    settler.configureAsyncInvoke({ retryAttempts: 2, onFailure: new SqsDestination(this.unsettled) });
  }
}

/** What `athena:startQueryExecution.sync` does. */
const unloads = (workGroup: string) => ({
  workGroup,
  actions: ['StartQueryExecution', 'GetQueryExecution', 'StopQueryExecution'],
  results: '*',
});

const WILDCARDS = 'Log delivery, X-Ray, executions and objects of a bucket have no names beforehand.';

const reference = (name: string): string => `\${${name}}`;

const substituted = (text: string, names: readonly (readonly [string, string])[]): string =>
  names.reduce((all, [name, arn]) => all.replaceAll(reference(name), arn), text);

/** What `states:startExecution.sync:2` needs: to start, to follow and to stop, and the rule by which it is told. */
function executions(scope: Construct, machine: string): PolicyStatement[] {
  const { partition, region, account } = Stack.of(scope);
  const rule = `arn:${partition}:events:${region}:${account}:rule/StepFunctionsGetEventsForStepFunctionsExecutionRule`;
  return [
    allow(['states:StartExecution'], [machine]),
    allow(
      ['states:DescribeExecution', 'states:StopExecution'],
      [`${machine.replace(':stateMachine:', ':execution:')}:*`],
    ),
    allow(['events:PutTargets', 'events:PutRule', 'events:DescribeRule'], [rule]),
  ];
}
