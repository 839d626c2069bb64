/** The end of a batch, as the machine tells it: by its last step, or by an execution that did not succeed. */
import type { Context } from '../../ports/context.ts';
import type { Log } from '../../ports/log.ts';
import { isOfValues, valuesInWords } from '../../ports/queries/values.ts';
import { keys } from '../../ports/table/keys.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import {
  type BackfillInput,
  type EndedInput,
  type ErrorOutput,
  type ExportRunInput,
  type FinishInput,
  type FinishOutput,
  isOfAthena,
  NOT_RUN,
  reasonOf,
  type Trigger,
} from '../../workflow/messages.ts';
import type { BatchProgress } from '../records/backfills/model.ts';
import type { RunStatus } from '../records/runs/model.ts';
import { backfillIntervals, batchField, closeBackfill } from './backfill.ts';
import type { Delivering } from './delivery.ts';
import { batchOf } from './plan.ts';
import { isOpen, OPEN } from './run.ts';
import { removeFiles } from './run-files.ts';
import { type Ending, settleExecution, UNEXPECTED } from './settle.ts';
import { backfillWithPlan } from './store.ts';

/** Errors that may pass, though a machine has tried for long. What is unknown is our own fault, and not tried again. */
const PASSING_ERROR =
  /^(Transient|Unreadable|Held|States\.Timeout|States\.TaskFailed|Sandbox\.Timedout|Lambda\.|Runtime\.|Athena\.(TooManyRequests|Throttling))/;

/** The step took its process down at each of the three times that a machine tries it. */
const DEADLY_ERROR = /^Runtime\.(ExitError|OutOfMemory)$/;

function endingOf(error: ErrorOutput | null, log: Log): Ending {
  if (error === null) return UNEXPECTED;
  if (isOfAthena(error)) {
    const reason = reasonOf(error);
    if (isOfValues(reason)) return { status: 'Failed', reason: valuesInWords(reason) };
    // It may name roles and buckets, which are not the customer's.
    log.error('Athena did not unload the rows of a batch', { reason });
    return { status: 'FailedRetryable', reason: NOT_RUN };
  }
  if (DEADLY_ERROR.test(error.Error)) {
    const reason = `Delivering it broke the service’s worker three times, so it is not tried again. ${reasonOf(error)}`;
    return { status: 'Failed', reason };
  }
  if (PASSING_ERROR.test(error.Error)) return { status: 'FailedRetryable', reason: reasonOf(error) };
  return error.Error === 'Permanent' ? { status: 'Failed', reason: reasonOf(error) } : UNEXPECTED;
}

/** Ends a batch, also one that was given up. Does nothing for a settled execution. Returns how its runs ended. */
export async function finishRun(
  context: Context,
  { export: exportId, trigger, execution, attempt, skipped, error }: FinishInput,
  delivering?: Partial<Delivering>,
): Promise<FinishOutput> {
  const endings = new Map(skipped.map(({ interval, error: cause }) => [interval, endingOf(cause, context.log)]));
  const ending = endingOf(error, context.log);
  const endingOfInterval = (n: number) => endings.get(n) ?? ending;
  const runs = await settleExecution(context, exportId, execution, endingOfInterval, delivering);
  if (runs === undefined) {
    if (error !== null) await noteLostBatch(context, exportId, trigger);
    if (attempt !== null) await removeFiles(context, attempt);
  }
  const count = (status: RunStatus): number => (runs ?? []).filter((run) => run.status === status).length;
  const [completed, cancelled] = [count('Completed'), count('Cancelled')];
  return { completed, cancelled, failed: (runs?.length ?? 0) - completed - cancelled };
}

/**
 * Does for an execution that ended otherwise than SUCCEEDED what its last step would have done, for whatever it had
 * left open. Of other machines nothing is open: their jobs start another one.
 */
export async function executionEnded(
  context: Context,
  { machine, execution, status, input, error }: EndedInput,
  delivering?: Partial<Delivering>,
): Promise<void> {
  const ending: Ending = {
    FAILED: endingOf(error, context.log),
    TIMED_OUT: { status: 'FailedRetryable', reason: 'The run took longer than it may.' } as const,
    ABORTED: { status: 'Terminated', reason: 'The run was stopped by whoever runs the service.' } as const,
  }[status];
  if (machine === 'export-run') {
    const { export: exportId, trigger } = input as ExportRunInput;
    const runs = await settleExecution(context, exportId, execution, () => ending, delivering);
    if (runs === undefined) await noteLostBatch(context, exportId, trigger);
  } else if (machine === 'backfill') {
    await closeBackfill(context, input as BackfillInput, { ...ending, status: OF_BACKFILL[status] });
  }
}

/** How a backfill ends by the end of its execution: nobody tries it again. */
const OF_BACKFILL = { FAILED: 'Failed', TIMED_OUT: 'TimedOut', ABORTED: 'Terminated' } as const;

/** Tells a backfill of a batch whose execution ended before it acquired anything: its intervals were not delivered. */
async function noteLostBatch({ table, clock }: Context, exportId: string, trigger: Trigger): Promise<void> {
  if (trigger === 'schedule' || !('backfill' in trigger)) return;
  const read = await backfillWithPlan(table, { export: exportId, backfill: trigger.backfill });
  const field = batchField(trigger.batch);
  if (read === undefined || !isOpen(read.backfill) || read.backfill[field] !== undefined) return;
  const intervals = batchOf(backfillIntervals(read.plan, read.backfill), trigger.batch);
  const lost: BatchProgress = { finished: 0, failed: intervals.length, records: 0 };
  const set = { [field]: JSON.stringify(lost), last_updated_at: clock() };
  const key = keys.backfill(exportId, trigger.backfill);
  await tryWrite(table, [{ change: key, set, if: { is: { status: OPEN, [field]: null } } }]);
}
