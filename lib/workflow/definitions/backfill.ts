import type { Definition } from '../states-language.ts';
import { BACKOFF, CAUGHT, calls, EXECUTION, FAILED, fields, otherwise } from './task.ts';

/**
 * Runs a backfill as batches of up to 96 intervals, each an execution of `export-run` named `<backfill>-<batch>`. Input:
 * BackfillInput. A batch that fails does not stop the others: its own execution has told the backfill. 200,000 intervals
 * are 2,084 batches: about 8 history events each, 17,000 of the 25,000 that one execution may have.
 */
export const backfillMachine = {
  Comment: 'A range of an export again, in batches of up to 96 intervals.',
  QueryLanguage: 'JSONata',
  // 30 days. 2,084 batches, 2 at a time, half an hour each: 22 days; the rest is room.
  TimeoutSeconds: 2_592_000,
  StartAt: 'Prepare',
  States: {
    Prepare: {
      ...calls('prepare-backfill', {
        ...fields('export', 'backfill'),
        execution: EXECUTION,
      }),
      Output: '{% $merge([$states.input, $states.result.Payload]) %}',
      Catch: otherwise('GiveUp'),
      Next: 'Batches',
    },
    Batches: {
      Type: 'Map',
      Items: '{% $states.input.batches %}',
      ItemSelector: {
        ...fields('export', 'backfill'),
        batch: '{% $states.context.Map.Item.Value %}',
      },
      MaxConcurrency: '{% $states.input.concurrency %}',
      ItemProcessor: {
        ProcessorConfig: { Mode: 'INLINE' },
        StartAt: 'Batch',
        States: {
          Batch: {
            Type: 'Task',
            Resource: 'arn:aws:states:::states:startExecution.sync:2',
            Arguments: {
              StateMachineArn: '${export-run}',
              Name: '{% $states.input.backfill & "-" & $string($states.input.batch) %}',
              Input: {
                export: '{% $states.input.export %}',
                trigger: fields('backfill', 'batch'),
              },
            },
            // Only starts that were throttled, and so started nothing: 5, 10, 20 ... 300 s, at most 30 minutes.
            Retry: [
              {
                ErrorEquals: [
                  'StepFunctions.ThrottlingException',
                  'StepFunctions.ExecutionLimitExceededException',
                  'StepFunctions.AWSStepFunctionsException',
                ],
                MaxAttempts: 11,
                ...BACKOFF,
              },
            ],
            Output: '{% $states.input.batch %}',
            Catch: [{ ErrorEquals: ['States.ALL'], Output: '{% $states.input.batch %}', Next: 'Ended' }],
            End: true,
          },
          Ended: { Type: 'Pass', End: true },
        },
      },
      Output: fields('export', 'backfill'),
      Catch: otherwise('GiveUp'),
      Next: 'Close',
    },
    Close: {
      ...calls('close-backfill', {
        ...fields('export', 'backfill'),
        execution: EXECUTION,
        error: null,
      }),
      Output: '{% $states.result.Payload %}',
      // Runs that nobody has settled in half an hour.
      Catch: otherwise('GiveUp', 'Transient'),
      Next: 'Done',
    },
    Done: { Type: 'Succeed' },
    GiveUp: {
      ...calls('close-backfill', {
        ...fields('export', 'backfill'),
        execution: EXECUTION,
        ...fields('error'),
      }),
      Output: CAUGHT,
      Next: 'Failed',
    },
    Failed: FAILED,
  },
} satisfies Definition;
