import { endedInput } from '../../../infra/aws/runtime.ts';
import { MACHINES } from '../../../lib/workflow/definitions/index.ts';

const arn = (machine: string) => `arn:aws:states:eu-central-1:123456789012:stateMachine:workspaces-dev-${machine}`;

/** An event as EventBridge sends it, with what of it nobody reads left out. */
const event = (machineArn: string, detail: object = {}) =>
  ({
    'detail-type': 'Step Functions Execution Status Change',
    source: 'aws.states',
    detail: {
      executionArn: `${machineArn.replace(':stateMachine:', ':execution:')}:execution`,
      stateMachineArn: machineArn,
      name: 'execution',
      status: 'FAILED',
      input: '{"export":"e","trigger":"schedule"}',
      inputDetails: { included: true },
      output: null,
      error: null,
      cause: null,
      ...detail,
    },
  }) as unknown as Parameters<typeof endedInput>[0];

describe('what EventBridge says of an execution that did not succeed', () => {
  beforeAll(() => {
    process.env['STAGE'] = 'dev';
  });
  afterAll(() => {
    delete process.env['STAGE'];
  });

  test.each(Object.keys(MACHINES))('names the machine %s', (machine) => {
    for (const status of ['FAILED', 'TIMED_OUT', 'ABORTED']) {
      expect(endedInput(event(arn(machine), { status }))).toEqual({
        machine,
        execution: 'execution',
        status,
        input: { export: 'e', trigger: 'schedule' },
        error: null,
      });
    }
  });

  test('carries the error, with a cause even where there is none', () => {
    const error = (detail: object) => endedInput(event(arn('export-run'), detail)).error;
    expect(error({ error: 'Permanent', cause: 'No such bucket.' })).toEqual({
      Error: 'Permanent',
      Cause: 'No such bucket.',
    });
    expect(error({ error: 'States.Timeout' })).toEqual({ Error: 'States.Timeout', Cause: '' });
  });

  test('of a machine that is not ours is an error', () => {
    expect(() => endedInput(event(arn('somebody-elses')))).toThrow("somebody-elses is none of the service's machines");
  });
});
