import type { Definition } from '../states-language.ts';
import { BACKOFF, CAUGHT, calls, EXECUTION, FAILED, fields, otherwise } from './task.ts';

/**
 * Runs up to 96 intervals of one export: a scheduled look at it, a retry, or a batch of a backfill. Input: ExportRunInput.
 * messages.ts says what passes between its states. Transitions: 4 without data, 7 with one interval and no unload, 8 with.
 */
export const exportRunMachine = {
  Comment: 'Up to 96 intervals of one export: begin, unload once, send each, finish.',
  QueryLanguage: 'JSONata',
  // A day. 96 intervals, 4 at a time, 15 minutes each: 6 hours, and 2 of holding; the rest is room for retries. An active
  // entry of the plan that is older is not being run by anybody.
  TimeoutSeconds: 86_400,
  StartAt: 'Begin',
  States: {
    Begin: {
      ...calls('begin-run', {
        ...fields('export', 'trigger'),
        execution: EXECUTION,
      }),
      Output: '{% $merge([$states.input, $states.result.Payload]) %}',
      Catch: otherwise('GiveUp'),
      Next: 'Ready',
    },
    Ready: {
      Type: 'Choice',
      Choices: [
        { Condition: "{% $states.input.do = 'unload' %}", Next: 'Unload' },
        { Condition: "{% $states.input.do = 'deliver' %}", Next: 'Deliver' },
        { Condition: "{% $states.input.do = 'nothing' %}", Next: 'Done', Output: {} },
        {
          // 2 hours, and perhaps a last minute.
          Condition: "{% $states.input.do = 'hold' and $sum([$states.input.held]) >= 7200 %}",
          Output:
            '{% $merge([$states.input, { "error": { "Error": "Held", "Cause": "Another run had its intervals for 2 hours." } }]) %}',
          Next: 'GiveUp',
        },
        { Condition: "{% $states.input.do = 'hold' %}", Next: 'Hold' },
      ],
    },
    Hold: {
      Type: 'Wait',
      Seconds: '{% $states.input.seconds %}',
      Output: {
        ...fields('export', 'trigger'),
        // A turn among the organization's batches comes: waiting for it is no reason to give up.
        held: '{% $sum([$states.input.held, $states.input.queued ? 0 : $states.input.seconds]) %}',
      },
      Next: 'Begin',
    },
    Unload: {
      Type: 'Task',
      Resource: 'arn:aws:states:::athena:startQueryExecution.sync',
      Arguments: {
        // The target of an UNLOAD must be empty, and a failed one leaves files behind: each attempt has its own.
        QueryString:
          '{% $replace($states.input.unload.QueryString, "{try}", $string($states.context.State.RetryCount)) %}',
        QueryExecutionContext: { Database: '{% $states.input.unload.Database %}' },
        WorkGroup: '{% $states.input.unload.WorkGroup %}',
      },
      // Athena ends a query after 30 minutes; 30 more for its queue.
      TimeoutSeconds: 3600,
      Retry: [
        // More queries than the account may run: as for Transient, 11 waits of at most 1,815 s together.
        {
          ErrorEquals: ['Athena.TooManyRequestsException', 'Athena.ThrottlingException'],
          MaxAttempts: 11,
          ...BACKOFF,
        },
        // Each attempt scans, and is paid for, again.
        { ErrorEquals: ['States.TaskFailed', 'States.Timeout'], IntervalSeconds: 30, BackoffRate: 2, MaxAttempts: 2 },
      ],
      Output: '{% $merge([$states.input, { "unload": null, "unloaded": $states.context.State.RetryCount }]) %}',
      Catch: otherwise('GiveUp'),
      Next: 'Deliver',
    },
    Deliver: {
      Type: 'Map',
      Items: '{% $states.input.intervals %}',
      ItemSelector: {
        export: '{% $states.input.export %}',
        execution: EXECUTION,
        attempt: '{% $states.input.attempt %}',
        interval: '{% $states.context.Map.Item.Value %}',
        unloaded: '{% $exists($states.input.unloaded) ? $states.input.unloaded : null %}',
      },
      MaxConcurrency: '{% $states.input.concurrency %}',
      ItemProcessor: {
        ProcessorConfig: { Mode: 'INLINE' },
        StartAt: 'Send',
        States: {
          Send: {
            ...calls('send-interval', '{% $states.input %}'),
            Output: '{% $states.result.Payload %}',
            Catch: otherwise('Skip'),
            End: true,
          },
          Skip: {
            Type: 'Pass',
            Output: {
              interval: '{% $states.input.interval %}',
              error: {
                Error: '{% $states.input.error.Error %}',
                // AWS gives a time-out no cause: what is missing is joined as an empty text.
                Cause: '{% $substring($states.input.error.Cause & "", 0, 500) %}',
              },
            },
            End: true,
          },
        },
      },
      Output: '{% $merge([$states.input, { "skipped": [$states.result[$exists(error)]] }]) %}',
      Catch: otherwise('GiveUp'),
      Next: 'Finish',
    },
    Finish: {
      ...calls('finish-run', {
        ...fields('export', 'trigger'),
        execution: EXECUTION,
        ...fields('attempt', 'skipped'),
        error: null,
      }),
      Output: '{% $states.result.Payload %}',
      Next: 'Done',
    },
    Done: { Type: 'Succeed' },
    GiveUp: {
      ...calls('finish-run', {
        ...fields('export', 'trigger'),
        execution: EXECUTION,
        attempt: '{% $exists($states.input.attempt) ? $states.input.attempt : null %}',
        skipped: [],
        ...fields('error'),
      }),
      Output: CAUGHT,
      Next: 'Failed',
    },
    Failed: FAILED,
  },
} satisfies Definition;
