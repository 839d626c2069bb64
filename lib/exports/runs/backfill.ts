/** A backfill's way through the pipeline: counted in batches, each of which notes what it has come to, then closed. */
import { wireInstant } from '../../http/instant.ts';
import { jobOps } from '../../jobs/job.ts';
import { filesBetween } from '../../lake/catalog.ts';
import type { Intervals } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { Transient } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import type { BackfillInput, PrepareOutput } from '../../workflow/messages.ts';
import { noticeOps } from '../notices/notice.ts';
import { type BackfillItem, type BatchProgress, progressSum } from '../records/backfills/model.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem, RunStatus } from '../records/runs/model.ts';
import { laterArrivals } from './estimate.ts';
import { batchesOf, intervalsOf, type Plan, release } from './plan.ts';
import { isOpen, OPEN } from './run.ts';
import { backfillWithPlan, planOp } from './store.ts';

/** Counts a backfill's batches, and says that it runs. Returns those that are not done; none when it has ended. */
export async function prepareBackfill(context: Context, input: BackfillInput): Promise<PrepareOutput> {
  const { export: exportId, backfill: id } = input;
  const { table, clock, settings } = context;
  const nothing = { batches: [], concurrency: settings.backfillConcurrency };
  const read = await backfillWithPlan(table, input);
  if (read === undefined || !isOpen(read.backfill)) return nothing;
  const { item, plan, backfill } = read;
  const intervals = backfillIntervals(plan, backfill);
  const set = { status: 'Running', total_runs: intervals.count, last_updated_at: clock() };
  try {
    await table.write([
      { change: keys.backfill(exportId, id), set, if: { is: { status: OPEN } } },
      ...jobOps('backfill', id, null),
      ...lineOps(context, exportId, id, 'prepare', await laterLines(context, item, backfill)),
    ]);
  } catch (error) {
    if (error instanceof Refused) return nothing;
    throw error;
  }
  const batches = Array.from({ length: batchesOf(intervals.count) }, (_, n) => n);
  return { ...nothing, batches: batches.filter((n) => backfill[batchField(n)] === undefined) };
}

/** Returns the field of a backfill that holds what its n-th batch has come to. */
export const batchField = (n: number): string => `batch_${n}`;

/** Returns what a batch has come to, now that all its runs have ended: put, so that it may be written twice. */
export function progressFields(batch: number, runs: readonly RunItem[]): Record<string, string> {
  const completed = runs.filter(({ status }) => status === 'Completed');
  const records = completed.reduce((sum, run) => sum + (run.records_completed ?? 0), 0);
  const [finished, cancelled] = [completed.length, runs.filter(({ status }) => status === 'Cancelled').length];
  const failed = runs.length - finished - cancelled;
  const progress: BatchProgress = { finished, failed, ...(cancelled === 0 ? {} : { cancelled }), records };
  return { [batchField(batch)]: JSON.stringify(progress) };
}

/** Returns a backfill's intervals; they stay what they are while its claim stands. */
export const backfillIntervals = (
  plan: Plan,
  { interval: frequency, adjusted_start_at, adjusted_end_at }: BackfillItem,
): Intervals => intervalsOf(plan, frequency, { from: adjusted_start_at, to: adjusted_end_at });

/** Returns the line, where it may be so, that rows of the range are exported with the intervals of their arrival. */
async function laterLines(context: Context, item: BatchExportItem, backfill: BackfillItem): Promise<LogLine[]> {
  const { adjusted_start_at: from, adjusted_end_at: to, id: instance } = backfill;
  const now = context.clock();
  const later = laterArrivals(await filesBetween(context.table, item.team_id, item.model, to, now + 1), { from, to });
  if (later === null) return [];
  const [first, last] = [wireInstant(later.first), wireInstant(later.last)];
  const message =
    `Up to ${later.rows} rows with timestamps in this range may have arrived later, between ${first} and ${last}, or ` +
    'none: the list of files tells no more. They are exported with the intervals in which they arrived.';
  return [{ at: now, level: 'INFO', message, instance }];
}

const FAILED_RUNS =
  'The log and the runs say why the others did not. Once that is mended, retry those runs or backfill their range.';

const CANCELLED_RUNS = 'The others were cancelled. To deliver them after all, retry them or backfill their range.';

/**
 * Ends a backfill that has not ended: gives its range back, removes its job, and says how it went. Without an `ending`
 * it is told by what the batches have come to: Failed when a run was not delivered, Cancelled when those were only cancelled; throws `Transient` while one of them
 * is not settled, for the end of an execution may be told to its machine first. Returns the status that it has now.
 */
export async function closeBackfill(
  context: Context,
  input: BackfillInput,
  ending: { readonly status: RunStatus; readonly reason: string } | null,
): Promise<RunStatus> {
  return untilWritten(async () => {
    const read = await backfillWithPlan(context.table, input);
    if (read === undefined) return ending?.status ?? 'Failed';
    const { plan, backfill } = read;
    if (!isOpen(backfill)) return backfill.status;
    if (ending === null && plan.active.some(({ by }) => by === backfill.id)) {
      throw new Transient('Runs of the backfill have not ended yet.', { isOwn: true });
    }
    const { finished, cancelled, records } = progressSum(backfill);
    const total = backfill.total_runs ?? 0;
    const status = ending?.status ?? statusOf(finished, cancelled, total);
    const counts = `${finished} of ${total} runs completed, ${records} records exported`;
    const isFine = status === 'Completed' || status === 'Cancelled';
    const message =
      status === 'Completed'
        ? `Backfill finished successfully: ${counts}`
        : `Backfill ended as ${status}: ${counts}. ${ending?.reason ?? (isFine ? CANCELLED_RUNS : FAILED_RUNS)}`;
    await context.table.write([
      ...endOps(context, plan, backfill, status, { level: isFine ? 'INFO' : 'ERROR', message }),
      ...(isFine ? [] : failureOps(backfill, message, context.clock())),
    ]);
    return status;
  });
}

function statusOf(finished: number, cancelled: number, total: number): RunStatus {
  if (finished === total) return 'Completed';
  return finished + cancelled === total ? 'Cancelled' : 'Failed';
}

/** Returns the ops of the notice that a backfill has failed. */
function failureOps({ id, batch_export, ...backfill }: BackfillItem, reason: string, at: number): Op[] {
  const range = { start: backfill.adjusted_start_at, end: backfill.adjusted_end_at };
  return noticeOps(id, { type: 'backfill_failed', export: batch_export, subject: id, range, reason, at });
}

/** Returns the ops that end a backfill: its status, its range given back, its job gone, a line in the log. */
export function endOps(
  context: Context,
  plan: Plan,
  { id, batch_export: exportId }: BackfillItem,
  status: RunStatus,
  line: Pick<LogLine, 'level' | 'message'>,
): Op[] {
  const now = context.clock();
  const set = { status, finished_at: now, last_updated_at: now };
  return [
    { change: keys.backfill(exportId, id), set, if: { is: { status: OPEN } } },
    planOp(exportId, plan, release(plan, id)),
    ...jobOps('backfill', id, null),
    ...lineOps(context, exportId, id, 'end', [{ at: now, instance: id, ...line }]),
  ];
}
