import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  type SFNClient,
  StartExecutionCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import { orTransient } from '../ports/aws-failures.ts';
import { MAX_CAUSE } from './state-error.ts';
import type { MachineName, Workflow } from './workflow.ts';

interface StepFunctionsOptions {
  readonly client: SFNClient;
  /** ARNs of the state machines. */
  readonly machines: Readonly<Record<MachineName, string>>;
}

/** Durable executions in Step Functions. Their names are free again 90 days after they ended. */
export function stepFunctionsWorkflow({ client, machines }: StepFunctionsOptions): Workflow {
  /** `arn:…:stateMachine:machine` -> `arn:…:execution:machine:name`. */
  const executionArn = (machine: MachineName, name: string): string =>
    `${machines[machine].replace(':stateMachine:', ':execution:')}:${name}`;

  return {
    start: async (machine, name, input) => {
      const command = new StartExecutionCommand({
        stateMachineArn: machines[machine],
        name,
        input: JSON.stringify(input),
      });
      await orTransient('Step Functions', client.send(command)).catch(unless(ExecutionAlreadyExists));
    },
    stop: async (machine, name, cause) => {
      const command = new StopExecutionCommand({
        executionArn: executionArn(machine, name),
        cause: cause.slice(0, MAX_CAUSE),
      });
      await orTransient('Step Functions', client.send(command)).catch(unless(ExecutionDoesNotExist));
    },
    status: async (machine, name) => {
      const command = new DescribeExecutionCommand({ executionArn: executionArn(machine, name) });
      const found = await orTransient('Step Functions', client.send(command)).catch(unless(ExecutionDoesNotExist));
      // An operator may have asked for another try of an execution: it goes on.
      return found?.status === 'PENDING_REDRIVE' ? 'RUNNING' : found?.status;
    },
    forget: async () => false,
  };
}

/** Takes one kind of error for nothing. */
const unless =
  (kind: abstract new (...args: never[]) => Error) =>
  (error: unknown): undefined => {
    if (!(error instanceof kind)) throw error;
  };
