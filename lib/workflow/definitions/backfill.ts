import type { Definition } from '../states-language.ts';
import { CAUGHT, calls, FAILED, otherwise } from './task.ts';

/**
 * Runs a backfill as chunks of up to 96 slots, each an execution of `export-run` named `<backfill>-<chunk>`. Input:
 * BackfillInput. A chunk that fails does not stop the others: its own execution has told the backfill. 200,000 slots
 * are 2,084 chunks: about 8 history events each, 17,000 of the 25,000 that one execution may have.
 */
export const backfillMachine = {
  Comment: 'A range of an export again, in chunks of up to 96 slots.',
  QueryLanguage: 'JSONata',
  // 30 days. 2,084 chunks, 2 at a time, half an hour each: 22 days; the rest is room.
  TimeoutSeconds: 2_592_000,
  StartAt: 'Prepare',
  States: {
    Prepare: {
      ...calls('prepare-backfill', {
        export: '{% $states.input.export %}',
        backfill: '{% $states.input.backfill %}',
        execution: '{% $states.context.Execution.Name %}',
      }),
      Output: '{% $merge([$states.input, $states.result.Payload]) %}',
      Catch: otherwise('GiveUp'),
      Next: 'Chunks',
    },
    Chunks: {
      Type: 'Map',
      Items: '{% $states.input.chunks %}',
      ItemSelector: {
        export: '{% $states.input.export %}',
        backfill: '{% $states.input.backfill %}',
        chunk: '{% $states.context.Map.Item.Value %}',
      },
      MaxConcurrency: '{% $states.input.concurrency %}',
      ItemProcessor: {
        ProcessorConfig: { Mode: 'INLINE' },
        StartAt: 'Chunk',
        States: {
          Chunk: {
            Type: 'Task',
            Resource: 'arn:aws:states:::states:startExecution.sync:2',
            Arguments: {
              StateMachineArn: '${export-run}',
              Name: '{% $states.input.backfill & "-" & $string($states.input.chunk) %}',
              Input: {
                export: '{% $states.input.export %}',
                trigger: {
                  backfill: '{% $states.input.backfill %}',
                  chunk: '{% $states.input.chunk %}',
                },
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
                IntervalSeconds: 5,
                BackoffRate: 2,
                MaxDelaySeconds: 300,
                MaxAttempts: 11,
                JitterStrategy: 'FULL',
              },
            ],
            Output: '{% $states.input.chunk %}',
            Catch: [{ ErrorEquals: ['States.ALL'], Output: '{% $states.input.chunk %}', Next: 'Ended' }],
            End: true,
          },
          Ended: { Type: 'Pass', End: true },
        },
      },
      Output: { export: '{% $states.input.export %}', backfill: '{% $states.input.backfill %}' },
      Catch: otherwise('GiveUp'),
      Next: 'Close',
    },
    Close: {
      ...calls('close-backfill', {
        export: '{% $states.input.export %}',
        backfill: '{% $states.input.backfill %}',
        execution: '{% $states.context.Execution.Name %}',
        error: null,
      }),
      Output: '{% $states.result.Payload %}',
      Next: 'Done',
    },
    Done: { Type: 'Succeed' },
    GiveUp: {
      ...calls('close-backfill', {
        export: '{% $states.input.export %}',
        backfill: '{% $states.input.backfill %}',
        execution: '{% $states.context.Execution.Name %}',
        error: '{% $states.input.error %}',
      }),
      Output: CAUGHT,
      Next: 'Failed',
    },
    Failed: FAILED,
  },
} satisfies Definition;
