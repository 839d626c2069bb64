import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  SFNClient,
  StartExecutionCommand,
  StateMachineDoesNotExist,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import { mockClient } from 'aws-sdk-client-mock';
import { Transient } from '../../../lib/ports/errors.ts';
import { stepFunctionsWorkflow } from '../../../lib/workflow/stepfunctions.ts';

const PREFIX = 'arn:aws:states:eu-central-1:123456789012';
const sfn = mockClient(SFNClient);
const workflow = stepFunctionsWorkflow({
  client: new SFNClient({ region: 'eu-central-1' }),
  machines: {
    'export-run': `${PREFIX}:stateMachine:dev-export-run`,
    backfill: `${PREFIX}:stateMachine:dev-backfill`,
    purge: `${PREFIX}:stateMachine:dev-purge`,
    notice: `${PREFIX}:stateMachine:dev-notice`,
    compaction: `${PREFIX}:stateMachine:dev-compaction`,
    deletion: `${PREFIX}:stateMachine:dev-deletion`,
    landing: `${PREFIX}:stateMachine:dev-landing`,
    alert: `${PREFIX}:stateMachine:dev-alert`,
    subscription: `${PREFIX}:stateMachine:dev-subscription`,
    message: `${PREFIX}:stateMachine:dev-message`,
  },
});
const about = { message: 'no', $metadata: {} };

beforeEach(() => sfn.reset());

describe('a workflow on Step Functions', () => {
  test('starts an execution of the machine, with the input as JSON', async () => {
    sfn.on(StartExecutionCommand).resolves({});
    await workflow.start('purge', 'a-1', { kind: 'project', id: '1' });
    expect(sfn.commandCalls(StartExecutionCommand).map((call) => call.args[0].input)).toEqual([
      { stateMachineArn: `${PREFIX}:stateMachine:dev-purge`, name: 'a-1', input: '{"kind":"project","id":"1"}' },
    ]);
  });

  test('takes a name that is known for nothing, and nothing else', async () => {
    sfn.on(StartExecutionCommand).rejects(new ExecutionAlreadyExists(about));
    await expect(workflow.start('backfill', 'a', {})).resolves.toBeUndefined();
    sfn.on(StartExecutionCommand).rejects(new StateMachineDoesNotExist(about));
    await expect(workflow.start('backfill', 'a', {})).rejects.toThrow(StateMachineDoesNotExist);
  });

  test('stops an execution by its name; one that is not there needs nothing', async () => {
    sfn.on(StopExecutionCommand).resolves({});
    await workflow.stop('export-run', 'a', 'x'.repeat(40_000));
    expect(sfn.commandCalls(StopExecutionCommand)[0]?.args[0].input).toEqual({
      executionArn: `${PREFIX}:execution:dev-export-run:a`,
      cause: 'x'.repeat(32_768),
    });
    sfn.on(StopExecutionCommand).rejects(new ExecutionDoesNotExist(about));
    await expect(workflow.stop('export-run', 'a', 'x')).resolves.toBeUndefined();
  });

  test('tells how an execution stands', async () => {
    const executionArn = `${PREFIX}:execution:dev-backfill:a`;
    sfn.on(DescribeExecutionCommand, { executionArn }).resolves({ status: 'TIMED_OUT' });
    expect(await workflow.status('backfill', 'a')).toBe('TIMED_OUT');
    sfn.on(DescribeExecutionCommand).resolves({ status: 'PENDING_REDRIVE' });
    expect(await workflow.status('backfill', 'a')).toBe('RUNNING');
    sfn.on(DescribeExecutionCommand).rejects(new ExecutionDoesNotExist(about));
    expect(await workflow.status('backfill', 'b')).toBeUndefined();
  });

  test('says of throttling that it passes', async () => {
    sfn.rejects(Object.assign(new Error('Rate exceeded'), { name: 'ThrottlingException', $metadata: {} }));
    await expect(workflow.start('purge', 'a', {})).rejects.toThrow(Transient);
    await expect(workflow.stop('purge', 'a', '')).rejects.toThrow(Transient);
    await expect(workflow.status('purge', 'a')).rejects.toThrow(Transient);
  });
});
