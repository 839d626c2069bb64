import type { MachineName } from './workflow.ts';

/**
 * The messages between the state machines and their steps (functions/steps): the input and the output of every task. A
 * payload is at most 256 KiB of JSON (MAX_PAYLOAD), on AWS and on one machine.
 *
 * A step may run twice, or beside an older one of itself, with equal input: by `execution`, `attempt` and `interval` it finds
 * that its work is done. `execution` is the name of its execution, which a PLAN's active entry, the runs and log items
 * carry too, so the engine can be asked about it.
 */

/** The largest input or output of a state, in bytes of UTF-8: 256 KiB (AWS). */
export const MAX_PAYLOAD = 262_144;

/** A caught error in a state machine. The `Cause` of a failed function is Lambda's JSON, that of a query Athena's; see `reasonOf`. */
export type ErrorOutput = {
  readonly Error: string;
  readonly Cause?: string;
};

/**
 * Why an `export-run` looks at its export. `schedule`: whatever is due. `retry`: the id of the run that ended
 * FailedRetryable, to be run again. `backfill` and `batch`: up to 96 intervals follow from the batch's number (from 0).
 */
export type Trigger = 'schedule' | { readonly retry: string } | { readonly backfill: string; readonly batch: number };

/** Input of an `export-run` execution. A backfill's are named `<backfill>-<batch>`, a job's `<id>-<minute>`. */
export interface ExportRunInput {
  readonly export: string;
  readonly trigger: Trigger;
}

export interface BeginInput extends ExportRunInput {
  readonly execution: string;
}

/**
 * `nothing`: all is done (nothing is due, or every interval was empty: then begin has settled them, renewed the export's
 * latest runs, the backfill's progress and the next job). `hold`: an interval is taken by another execution, or not settled
 * yet, or (`queued`) the organization has as many under way as it may; begin is asked again after `seconds`. `unload`: Athena runs `unload` first. `deliver`: the rows are read where
 * they lie.
 */
export type BeginOutput =
  | { readonly do: 'nothing' }
  | {
      readonly do: 'hold';
      /** 5 to 60. */
      readonly seconds: number;
      /** This wait does not count among those after which the batch is given up. */
      readonly queued?: true;
    }
  | (Deliverable & {
      readonly do: 'unload';
      readonly unload: Unload;
    })
  | (Deliverable & { readonly do: 'deliver' });

/** A query of Athena. */
export interface Unload {
  /** At most 150 kB; `{try}` in it becomes the number of the try, from 0. */
  readonly QueryString: string;
  /** In which it runs. Without it that is `default`. */
  readonly Database: string;
  readonly WorkGroup: string;
}

export interface Deliverable {
  /** `<export id>-<plan version at acquire>`. */
  readonly attempt: string;
  /** Which of the frozen plan's intervals are to be sent: indexes into it, at most 96, at least one. */
  readonly intervals: readonly number[];
  /** How many of them at the same time. */
  readonly concurrency: number;
}

export interface SendInput {
  readonly export: string;
  readonly execution: string;
  readonly attempt: string;
  /** Index into the frozen plan's intervals. */
  readonly interval: number;
  /** Which try of Unload wrote the rows (`runs/<attempt>/<try>/`); null: nothing was unloaded. */
  readonly unloaded: number | null;
}

/** How the interval's run ended. Transient trouble is thrown, never answered. */
export interface SendOutput {
  readonly interval: number;
  readonly status: 'Completed' | 'Failed' | 'Cancelled';
}

/** An interval that Send could not bring to an end. Its cause is cut to 500 characters: 96 x 500 x 4 bytes = 192 kB. */
export interface Skipped {
  readonly interval: number;
  readonly error: ErrorOutput;
}

export interface FinishInput extends ExportRunInput {
  readonly execution: string;
  /** Null: begin never acquired anything. */
  readonly attempt: string | null;
  readonly skipped: readonly Skipped[];
  /** Why the whole batch was given up; null on the ordinary way. */
  readonly error: ErrorOutput | null;
}

/** For whoever looks at the execution: how many of its runs ended how. */
export interface FinishOutput {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** Input of a `backfill` execution. The one that POST starts is named `<backfill>`. */
export interface BackfillInput {
  readonly export: string;
  readonly backfill: string;
}

export interface PrepareInput extends BackfillInput {
  readonly execution: string;
}

export interface PrepareOutput {
  /** Numbers of the batches to run, at most 2,084; none: straight to Close. */
  readonly batches: readonly number[];
  /** How many of them at the same time. */
  readonly concurrency: number;
}

export interface CloseInput extends BackfillInput {
  readonly execution: string;
  /** Why the backfill was given up; null on the ordinary way, on which single batches may still have failed. */
  readonly error: ErrorOutput | null;
}

export interface CloseOutput {
  readonly status: string;
}

/** Input of a `purge` execution: the organization or project that was deleted. */
export interface PurgeInput {
  readonly kind: 'organization' | 'project';
  readonly id: string;
}

/** Input of a `compaction` or a `deletion` execution; a `landing` has none, as there is one inbox. */
export interface ProjectInput {
  /** The number of the project. */
  readonly project: number;
}

/**
 * Of a step that walks. `more`: its 10 minutes were over, or more was asked for. `rest`: walked to the end and found
 * something, so once more after a rest.
 */
export interface WalkOutput {
  readonly do: 'more' | 'rest' | 'nothing';
}

/** Input of a `notice` execution: the notice's id, which is its job's, and the export that failed. */
export interface NoticeInput {
  readonly export: string;
  readonly notice: string;
  /** How often the job had been taken when this execution was started. */
  readonly attempt: number;
}

/** Input of an `alert` or a `subscription` execution. */
export interface NotifierInput {
  readonly organization: string;
  readonly project: number;
  readonly id: string | number;
}

/** Input of a `message` execution: the message's id, which is its job's, and whose it is. */
export interface MessageInput {
  readonly organization: string;
  readonly message: string;
  /** How often the job had been taken when this execution was started. */
  readonly attempt: number;
}

/** Input of `execution-ended`: an execution that ended by itself in another way than SUCCEEDED, or was stopped. */
export interface EndedInput {
  readonly machine: MachineName;
  readonly execution: string;
  readonly status: 'FAILED' | 'TIMED_OUT' | 'ABORTED';
  /** The execution's own input, such as ExportRunInput. */
  readonly input: unknown;
  readonly error: ErrorOutput | null;
}

/** Returns whether a query has failed in Athena: the cause is its execution, the text of the query before the status. */
export const isOfAthena = ({ Cause = '' }: ErrorOutput): boolean => Cause.startsWith('{"QueryExecution":');

/** What is said of a query whose reason is not known, or not for who is told. */
export const NOT_RUN = 'Athena did not run the query to its end.';

/**
 * Returns the words for a person in a caught error. A failed function's cause is `{"errorType": …, "errorMessage": …,
 * "trace": …}`, that of a query `{"QueryExecution": …}`, each perhaps cut off; any other cause is the words themselves.
 * A step that ran out of time has none.
 */
export function reasonOf(error: ErrorOutput): string {
  const { Error: name, Cause: cause = '' } = error;
  if (isOfAthena(error)) return textIn(/"StateChangeReason":"((?:[^"\\]|\\.)*)/.exec(cause)) ?? NOT_RUN;
  const ofFunction = /^\{"errorType":"(?:[^"\\]|\\.)*","errorMessage":"((?:[^"\\]|\\.)*)/.exec(cause);
  if (cause === '') return name === 'States.Timeout' ? 'It took longer than it may.' : name;
  return textIn(ofFunction) ?? cause;
}

/** Returns a text that was found in JSON, perhaps cut off. */
function textIn(match: RegExpExecArray | null): string | undefined {
  const found = match?.[1];
  if (found === undefined) return undefined;
  try {
    return String(JSON.parse(`"${found}"`));
  } catch {
    return found;
  }
}
