import type { EventBridgeEvent } from 'aws-lambda';
import type { EndedInput } from '../../../lib/workflow/messages.ts';
import { MACHINE_NAMES } from '../../../lib/workflow/workflow.ts';
import { machineName } from '../machine-name.ts';
import { variable } from './environment.ts';

type Ended = EventBridgeEvent<
  'Step Functions Execution Status Change',
  {
    readonly stateMachineArn: string;
    readonly name: string;
    readonly status: EndedInput['status'];
    readonly input: string;
    readonly error?: string | null;
    readonly cause?: string | null;
  }
>;

/** What EventBridge says of an execution, as `execution-ended` is told it. */
export function endedInput({ detail }: Ended): EndedInput {
  const { stateMachineArn, name, status, input, error, cause } = detail;
  const stage = variable('STAGE');
  const machine = MACHINE_NAMES.find((known) => stateMachineArn.endsWith(`:${machineName(stage, known)}`));
  if (machine === undefined) throw new Error(`${stateMachineArn} is none of the service's machines`);
  const failure = typeof error === 'string' ? { Error: error, Cause: cause ?? '' } : null;
  return { machine, execution: name, status, input: JSON.parse(input), error: failure };
}
