import type { Definition } from '../states-language.ts';
import { GRACE_SECONDS, STEPS, type StepName } from '../steps.ts';

/** Waits of what may pass: 5, 10, 20, 40, 80, 160 s, then 300 s each, every one times a random part (full jitter). */
export const BACKOFF = { IntervalSeconds: 5, BackoffRate: 2, MaxDelaySeconds: 300, JitterStrategy: 'FULL' } as const;

/**
 * Every step is tried again so. Transient and Lambda's own trouble: 12 attempts are 11 waits, at most
 * 5 + 10 + 20 + 40 + 80 + 160 + 5 x 300 = 1,815 s, so 30 minutes. A step that ran out of time or memory, or whose
 * process died, is tried twice more: it may be a slow hour, but 12 x 15 minutes would be three of them. Permanent and
 * anything unknown: never.
 */
const RETRY = [
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

/** Returns the fields of a Task that calls a step with `payload`, in which text between `{%` and `%}` is JSONata. */
export function calls<Payload>(step: StepName, payload: Payload) {
  return {
    Type: 'Task',
    Resource: 'arn:aws:states:::lambda:invoke',
    Arguments: { FunctionName: `\${${step}}`, Payload: payload },
    TimeoutSeconds: STEPS[step].timeout + GRACE_SECONDS,
    Retry: RETRY,
  } as const;
}

/** A machine of one step. */
interface Single {
  readonly comment: string;
  /** In seconds: of all tries of the step. The machine's job starts another execution. */
  readonly timeout: number;
  readonly step: StepName;
  /** The fields of the machine's input that the step is given. */
  readonly input: readonly string[];
}

/** Returns the machine that does one step. A step that fails for good fails the execution. */
export function once({ comment, timeout, step, input }: Single): Definition {
  return {
    Comment: comment,
    QueryLanguage: 'JSONata',
    TimeoutSeconds: timeout,
    StartAt: 'Do',
    States: {
      Do: { ...calls(step, { ...fields(...input), execution: EXECUTION }), Output: {}, Next: 'Done' },
      Done: { Type: 'Succeed' },
    },
  };
}

/** A machine whose walks leave what they have no time for to the next. */
interface Walking extends Single {
  /** In seconds: of all walks together. The machine's job starts another execution, which goes on with what is left. */
  readonly timeout: number;
  /** Which answers `{ do }`: `more` has it walk again, `rest` after a rest, and anything else ends it. */
  readonly step: StepName;
  /** In seconds; absent: it never rests. */
  readonly rest?: number;
}

/** The choice of a state by what a walk has answered. */
const when = (answer: string, Next: string) => ({ Condition: `{% $states.input.do = '${answer}' %}`, Next });

/** Returns the machine that repeats a step until nothing is left. A walk that fails for good fails the execution. */
export function walks({ comment, timeout, step, input, rest }: Walking): Definition {
  return {
    Comment: comment,
    QueryLanguage: 'JSONata',
    TimeoutSeconds: timeout,
    StartAt: 'Walk',
    States: {
      Walk: {
        ...calls(step, { ...fields(...input), execution: EXECUTION }),
        Output: { ...fields(...input), do: '{% $states.result.Payload.do %}' },
        Next: 'More',
      },
      More: {
        Type: 'Choice',
        Choices: [when('more', 'Walk'), ...(rest === undefined ? [] : [when('rest', 'Rest')])],
        Default: 'Done',
      },
      ...(rest === undefined ? {} : { Rest: { Type: 'Wait', Seconds: rest, Next: 'Walk' } as const }),
      Done: { Type: 'Succeed' },
    },
  };
}

/** The name of the execution that runs. */
export const EXECUTION = '{% $states.context.Execution.Name %}';

/** Returns fields of the state's input, as they are. */
export const fields = <Name extends string>(...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, `{% $states.input.${name} %}`])) as Record<Name, string>;

/** Sends everything that can be caught, or errors of one name, to `next`, with the error beside the state's input as `error`. */
export function otherwise(next: string, name = 'States.ALL') {
  return [
    {
      ErrorEquals: [name],
      Output: '{% $merge([$states.input, { "error": $states.errorOutput }]) %}',
      Next: next,
    },
  ] as const;
}

/** The output of the last state before Fail: the caught error, with a cause even where AWS gives none. */
export const CAUGHT = '{% $merge([{ "Cause": "" }, $states.input.error]) %}';

/** The end of a machine that gave up. */
export const FAILED = {
  Type: 'Fail',
  Error: '{% $states.input.Error %}',
  Cause: '{% $states.input.Cause %}',
} as const;
