/**
 * Step Functions: the state machines as the template has them, run by the embedded engine. A task calls the function
 * that its definition names by ARN, with the rights of the machine's role; the end of an execution is an event for the
 * template's rules.
 */
import type { Log } from '../../lib/ports/log.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { type Engine, startEngine } from '../../lib/workflow/engine.ts';
import type { EndedInput } from '../../lib/workflow/messages.ts';
import type { Definition } from '../../lib/workflow/states-language.ts';
import type { StepRunner } from '../../lib/workflow/step.ts';
import type { ExecutionStatus, Json } from '../../lib/workflow/workflow.ts';
import { ownTurns } from '../support/engine-world.ts';
import type { Assembly, Properties } from './assembly.ts';
import type { RehearsalClock } from './clock.ts';
import type { Lambda } from './lambda.ts';
import type { Permissions } from './permissions.ts';
import type { Query } from './queries.ts';

interface ExecutionsOptions {
  readonly assembly: Assembly;
  readonly permissions: Permissions;
  readonly lambda: Lambda;
  readonly clock: RehearsalClock;
  readonly log: Log;
  /** Runs a query of Athena with the rights of a role. */
  readonly query: (role: string, query: Query) => Promise<void>;
  /** Notified of every execution that ended, as EventBridge is. */
  readonly emit: (event: ExecutionEvent) => Promise<void>;
}

interface ExecutionEvent {
  readonly source: 'aws.states';
  readonly 'detail-type': 'Step Functions Execution Status Change';
  readonly detail: Readonly<Record<string, Json>>;
}

export interface Executions {
  /** The service's API: `StartExecution`, `StopExecution`, `DescribeExecution`. */
  readonly call: (action: string, asked: never) => Promise<object>;
  /** Names of executions that were started, by the machine's name. */
  readonly started: () => ReadonlyMap<string, readonly string[]>;
  readonly engine: Engine;
  /** By the machine's short name, `export-run`. */
  statusOf(machine: string, name: string): Promise<ExecutionStatus | undefined>;
  close(): Promise<void>;
}

/** An error that Step Functions answers. */
class StatesError extends Error {
  override readonly name: string;
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

/** A failed function as a state machine meets it: the error's type is the name that Retry and Catch match. */
class FunctionFailed extends Error {
  override readonly name: string;
  constructor(errorType: string, message: string) {
    super(message);
    this.name = errorType;
  }
}

const LAMBDA = 'arn:aws:states:::lambda:invoke';
const ATHENA = 'arn:aws:states:::athena:startQueryExecution.sync';
const CHILD = 'arn:aws:states:::states:startExecution.sync:2';

type State = { [name: string]: unknown } & {
  Type: string;
  Resource?: string;
  Arguments?: { [name: string]: unknown };
  ItemProcessor?: { States: Record<string, State> };
};

export function startExecutions(options: ExecutionsOptions): Executions {
  const { assembly, permissions, lambda, clock, log } = options;
  const machines = new Map(
    assembly.ofType('AWS::StepFunctions::StateMachine').map((resource) => [resource.ref, resource.properties]),
  );
  const inputs = new Map<string, string>();
  const starts = new Map<string, string[]>();
  const tasks = new Map<string, StepRunner>();

  /**
   * The engine's language calls tasks and machines `${name}` where a host has put its own names: what was put in is
   * taken for such a name. A query of Athena is a task like another.
   */
  const nameOf = new Map<string, string>();
  const named = (arn: string): string => {
    const name =
      nameOf.get(arn) ?? `n-${String.fromCharCode(97 + Math.floor(nameOf.size / 26), 97 + (nameOf.size % 26))}`;
    nameOf.set(arn, name);
    return name;
  };

  function taken(machine: string, role: string, states: Record<string, State>): void {
    for (const [id, state] of Object.entries(states)) {
      const { Resource, Arguments = {} } = state;
      const where = `${machine.split(':').at(-1)}.${id}`;
      if (Resource === LAMBDA) {
        const arn = String(Arguments['FunctionName']);
        const name = named(`${role} ${arn}`);
        tasks.set(name, (input, signal) => untilAborted(signal, invoked(role, arn, input, where)));
        Arguments['FunctionName'] = `\${${name}}`;
      } else if (Resource === ATHENA) {
        const name = named(`${role} ${ATHENA}`);
        tasks.set(name, (query, signal) =>
          untilAborted(
            signal,
            options
              .query(role, query as unknown as Query)
              .then(() => ({ QueryExecution: { Status: { State: 'SUCCEEDED' } } })),
          ),
        );
        state.Resource = LAMBDA;
        state.Arguments = { FunctionName: `\${${name}}`, Payload: Arguments };
      } else if (Resource === CHILD) {
        const arn = String(Arguments['StateMachineArn']);
        if (!machines.has(arn)) throw new Error(`${where} starts ${arn}, which is not in the template`);
        checkChild(role, arn, where);
        Arguments['StateMachineArn'] = `\${${named(arn)}}`;
      } else if (Resource !== undefined) {
        throw new Error(`the rehearsal does not know ${Resource} in ${where}`);
      }
      if (state.ItemProcessor !== undefined) taken(machine, role, state.ItemProcessor.States);
    }
  }

  async function invoked(role: string, arn: string, input: Json, where: string): Promise<Json> {
    if (!permissions.allows(role, { action: 'lambda:InvokeFunction', resource: arn }, where)) {
      throw new FunctionFailed('Lambda.AccessDeniedException', `${where} may not invoke ${arn}`);
    }
    const outcome = await lambda.invoke(arn, input);
    if ('failed' in outcome) throw new FunctionFailed(outcome.failed.errorType, outcome.failed.errorMessage);
    return JSON.parse(outcome.payload) as Json;
  }

  /** Checks the rights that a nested execution needs: to start, to follow and to stop it, and the rule of its end. */
  function checkChild(role: string, arn: string, where: string): void {
    const executions = `${arn.replace(':stateMachine:', ':execution:')}:any`;
    const rule = `${arn.replace(':states:', ':events:').replace(/stateMachine:.*/, '')}rule/StepFunctionsGetEventsForStepFunctionsExecutionRule`;
    permissions.allows(role, { action: 'states:StartExecution', resource: arn }, where);
    for (const action of ['DescribeExecution', 'StopExecution'])
      permissions.allows(role, { action: `states:${action}`, resource: executions }, where);
    for (const action of ['PutTargets', 'PutRule', 'DescribeRule'])
      permissions.allows(role, { action: `events:${action}`, resource: rule }, where);
  }

  /** Step Functions itself delivers logs and traces with the machine's role. */
  function checkPlatform(arn: string, { RoleArn, LoggingConfiguration, TracingConfiguration }: Properties): void {
    const logs = LoggingConfiguration === undefined ? [] : LOG_DELIVERY.map((name) => `logs:${name}`);
    const traces = TracingConfiguration === undefined ? [] : TRACING.map((name) => `xray:${name}`);
    for (const action of [...logs, ...traces])
      permissions.allows(RoleArn, { action, resource: '*' }, `the log of ${arn}`);
  }

  const definitions: Record<string, Definition> = {};
  for (const [arn, properties] of machines) {
    const definition = JSON.parse(properties['DefinitionString']) as { States: Record<string, State> };
    taken(arn, properties['RoleArn'], definition.States);
    checkPlatform(arn, properties);
    definitions[named(arn)] = definition as unknown as Definition;
  }
  const arnOf = new Map([...nameOf].map(([arn, name]) => [name, arn]));

  const table = sqliteTable(':memory:', { clock: clock.now });
  const engine = startEngine({
    table,
    clock: clock.now,
    timer: clock.timer,
    // Retries with full jitter wait for no time.
    random: () => 0,
    log,
    ...ownTurns(),
    machines: definitions,
    tasks: (name) => tasks.get(name) ?? (() => Promise.reject(new Error(`there is no task ${name}`))),
    onEnded: async (input) => {
      await options.emit(
        eventOf(input as unknown as EndedInput, arnOf.get((input as unknown as EndedInput).machine) ?? ''),
      );
      return null;
    },
  });

  /** `arn:…:execution:machine:name` */
  const executionOf = (arn: string): { machine: string; name: string } => {
    const parts = arn.split(':');
    const name = parts.pop() ?? '';
    return { machine: parts.join(':').replace(':execution:', ':stateMachine:'), name };
  };
  const machineNamed = (arn: string): string => {
    if (!machines.has(arn)) throw new StatesError('StateMachineDoesNotExist', `State Machine Does Not Exist: '${arn}'`);
    return named(arn);
  };

  const actions: Readonly<Record<string, (asked: Asked) => Promise<object>>> = {
    StartExecution: async ({ stateMachineArn = '', name = '', input = '{}' }) => {
      const machine = machineNamed(stateMachineArn);
      const executionArn = `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
      const known = inputs.get(executionArn);
      const isRunning = (await engine.status(machine, name)) === 'RUNNING';
      if (known !== undefined && !(isRunning && known === input)) {
        throw new StatesError('ExecutionAlreadyExists', `Execution Already Exists: '${executionArn}'`);
      }
      inputs.set(executionArn, input);
      const short = shortOf(stateMachineArn);
      if (known === undefined) starts.set(short, [...(starts.get(short) ?? []), name]);
      await engine.start(machine, name, JSON.parse(input) as Json);
      return { executionArn, startDate: clock.now() / 1000 };
    },
    StopExecution: async ({ executionArn = '', cause = '' }) => {
      const { machine, name } = executionOf(executionArn);
      await known(executionArn, machine, name);
      await engine.stop(machineNamed(machine), name, cause);
      return { stopDate: clock.now() / 1000 };
    },
    DescribeExecution: async ({ executionArn = '' }) => {
      const { machine, name } = executionOf(executionArn);
      const status = await known(executionArn, machine, name);
      return { executionArn, stateMachineArn: machine, name, status, startDate: clock.now() / 1000 };
    },
  };
  async function known(executionArn: string, machine: string, name: string): Promise<string> {
    const status = await engine.status(machineNamed(machine), name);
    if (status === undefined)
      throw new StatesError('ExecutionDoesNotExist', `Execution Does Not Exist: '${executionArn}'`);
    return status;
  }

  return {
    engine,
    started: () => starts,
    statusOf: (machine, name) => {
      const arn = [...machines.keys()].find((one) => shortOf(one) === machine);
      return engine.status(machineNamed(arn ?? machine), name);
    },
    call: (action, asked) => {
      const found = actions[action];
      if (found === undefined) throw new Error(`the rehearsal does not know states:${action}`);
      return found(asked);
    },
    close: async () => {
      await engine.close();
      table.close();
    },
  };
}

/** Step Functions does not wait for what an execution that ended has called, and cannot stop a function either. */
async function untilAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal?.reason);
  signal?.addEventListener('abort', stop);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** `export-run` of `arn:…:stateMachine:workspaces-dev-export-run` */
const shortOf = (arn: string): string => arn.replace(/^.*:[a-z]+-[a-z]+-/, '');

interface Asked {
  readonly stateMachineArn?: string;
  readonly executionArn?: string;
  readonly name?: string;
  readonly input?: string;
  readonly cause?: string;
}

const LOG_DELIVERY = [
  'CreateLogDelivery',
  'GetLogDelivery',
  'UpdateLogDelivery',
  'DeleteLogDelivery',
  'ListLogDeliveries',
  'PutResourcePolicy',
  'DescribeResourcePolicies',
  'DescribeLogGroups',
];
const TRACING = ['PutTraceSegments', 'PutTelemetryRecords', 'GetSamplingRules', 'GetSamplingTargets'];

function eventOf({ execution: name, status, input, error }: EndedInput, stateMachineArn: string): ExecutionEvent {
  return {
    source: 'aws.states',
    'detail-type': 'Step Functions Execution Status Change',
    detail: {
      executionArn: `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`,
      stateMachineArn,
      name,
      status,
      input: JSON.stringify(input),
      output: null,
      error: error?.Error ?? null,
      cause: error?.Cause ?? null,
    },
  };
}
