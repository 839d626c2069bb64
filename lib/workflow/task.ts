/**
 * The steps of the state machines (functions/steps), by file name, each with its time limit in seconds as a Lambda
 * function. begin, finish, prepare and close read and write the table and move files: minutes at the very most.
 * send-slot has Lambda's whole 15 minutes. purge walks for 10 minutes, then ends by itself; 2 more are for its last call.
 * send-notice waits at most 50 s for a webhook.
 */
export const STEPS = {
  'begin-run': 300,
  'send-slot': 900,
  'finish-run': 300,
  'prepare-backfill': 300,
  'close-backfill': 300,
  purge: 720,
  'send-notice': 60,
} as const;

export type StepName = keyof typeof STEPS;

/**
 * A machine waits this much longer for a step than the step's own limit, in seconds: an old attempt is dead before the
 * next one begins.
 */
export const AFTER_THE_LIMIT = 30;

/** Waits of what may pass: 5, 10, 20, 40, 80, 160 s, then 300 s each, every one times a random part (full jitter). */
const BACKOFF = { IntervalSeconds: 5, BackoffRate: 2, MaxDelaySeconds: 300, JitterStrategy: 'FULL' } as const;

/**
 * How every step is tried again. Transient and Lambda's own trouble: 12 attempts are 11 waits, at most
 * 5 + 10 + 20 + 40 + 80 + 160 + 5 x 300 = 1,815 s, so 30 minutes. A step that ran out of time or memory, or whose
 * process died, is tried twice more: it may be a slow hour, but 12 x 15 minutes would be three of them. Permanent and
 * anything unknown: never.
 */
export const RETRY = [
  {
    ErrorEquals: [
      'Transient',
      'Lambda.ServiceException',
      'Lambda.AWSLambdaException',
      'Lambda.SdkClientException',
      'Lambda.TooManyRequestsException',
      'Lambda.ClientExecutionTimeoutException',
    ],
    MaxAttempts: 11,
    ...BACKOFF,
  },
  {
    ErrorEquals: ['States.Timeout', 'Sandbox.Timedout', 'Lambda.Unknown', 'Runtime.ExitError', 'Runtime.OutOfMemory'],
    MaxAttempts: 2,
    ...BACKOFF,
  },
] as const;

/** The fields of a Task that calls a step with `payload` (text between `{%` and `%}` is JSONata). */
export function calls<Payload>(step: StepName, payload: Payload) {
  return {
    Type: 'Task',
    Resource: 'arn:aws:states:::lambda:invoke',
    Arguments: { FunctionName: `\${${step}}`, Payload: payload },
    TimeoutSeconds: STEPS[step] + AFTER_THE_LIMIT,
    Retry: RETRY,
  } as const;
}

/** Everything that can be caught goes to `next`, with the error beside the state's input as `error`. */
export function otherwise(next: string) {
  return [
    {
      ErrorEquals: ['States.ALL'],
      Output: '{% $merge([$states.input, { "error": $states.errorOutput }]) %}',
      Next: next,
    },
  ] as const;
}

/** What the last state before Fail leaves: the caught error, with a cause even where AWS gives none. */
export const CAUGHT = '{% $merge([{ "Cause": "" }, $states.input.error]) %}';

/** The end of a machine that gave up. */
export const FAILED = {
  Type: 'Fail',
  Error: '{% $states.input.Error %}',
  Cause: '{% $states.input.Cause %}',
} as const;
