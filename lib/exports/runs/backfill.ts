/** A backfill's way through the pipeline: counted in chunks, each of which notes what it has come to, then closed. */
import { wireInstant } from '../../http/instant.ts';
import { jobOps } from '../../jobs/job.ts';
import { filesBetween } from '../../lake/catalog.ts';
import type { Slots } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import type { BackfillInput, PrepareOutput } from '../../workflow/messages.ts';
import { noticeOps } from '../notices/notice.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import {
  type BackfillItem,
  type BatchExportItem,
  type ChunkProgress,
  progressSum,
  type RunItem,
  type RunStatus,
} from '../records/model.ts';
import { laterArrivals } from './estimate.ts';
import { chunksOf, type Plan, release, slotsOf } from './plan.ts';
import { isOpen, OPEN } from './run.ts';
import { backfillWithPlan, planOp } from './store.ts';

/** Counts a backfill's chunks, and says that it runs. Returns those that are not done; none when it has ended. */
export async function prepareBackfill(context: Context, input: BackfillInput): Promise<PrepareOutput> {
  const { export: exportId, backfill: id } = input;
  const { table, clock, settings } = context;
  const nothing = { chunks: [], concurrency: settings.backfillConcurrency };
  const read = await backfillWithPlan(table, input);
  if (read === undefined || !isOpen(read.backfill)) return nothing;
  const { item, plan, backfill } = read;
  const slots = backfillSlots(plan, backfill);
  const set = { status: 'Running', total_runs: slots.count, last_updated_at: clock() };
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
  const chunks = Array.from({ length: chunksOf(slots.count) }, (_, n) => n);
  return { ...nothing, chunks: chunks.filter((n) => backfill[chunkField(n)] === undefined) };
}

/** Returns the field of a backfill that holds what its n-th chunk has come to. */
export const chunkField = (n: number): string => `chunk_${n}`;

/** Returns what a chunk has come to, now that all its runs have ended: put, so that it may be written twice. */
export function progressFields(chunk: number, runs: readonly RunItem[]): Record<string, string> {
  const completed = runs.filter(({ status }) => status === 'Completed');
  const records = completed.reduce((sum, run) => sum + (run.records_completed ?? 0), 0);
  const progress: ChunkProgress = { finished: completed.length, failed: runs.length - completed.length, records };
  return { [chunkField(chunk)]: JSON.stringify(progress) };
}

/** Returns a backfill's slots; they stay what they are while its claim stands. */
export const backfillSlots = (plan: Plan, { interval, adjusted_start_at, adjusted_end_at }: BackfillItem): Slots =>
  slotsOf(plan, interval, { from: adjusted_start_at, to: adjusted_end_at });

/**
 * Returns the line that events of the range are exported with the intervals in which they arrived, where that may be
 * so.
 */
async function laterLines(context: Context, item: BatchExportItem, backfill: BackfillItem): Promise<LogLine[]> {
  const { adjusted_start_at: from, adjusted_end_at: to, id: instance } = backfill;
  const now = context.clock();
  const later = laterArrivals(await filesBetween(context.table, item.team_id, item.model, to, now + 1), { from, to });
  if (later === null) return [];
  const [first, last] = [wireInstant(later.first), wireInstant(later.last)];
  const message =
    `Up to ${later.rows} rows with timestamps in this range arrived later, between ${first} and ${last}. ` +
    'They are exported with the intervals in which they arrived.';
  return [{ at: now, level: 'INFO', message, instance }];
}

/**
 * Ends a backfill that has not ended: gives its range back, removes its job, and says how it went. Without an `ending`
 * it is told by what the chunks have come to: Failed when a run was not delivered. Returns the status that it has now.
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
    const { finished, records } = progressSum(backfill);
    const total = backfill.total_runs ?? 0;
    const status = ending?.status ?? (finished === total ? 'Completed' : 'Failed');
    const counts = `${finished} of ${total} runs completed, ${records} records exported`;
    const message =
      status === 'Completed'
        ? `Backfill finished successfully: ${counts}`
        : `Backfill ended as ${status}: ${counts}.${ending === null ? '' : ` ${ending.reason}`}`;
    const level = status === 'Completed' ? 'INFO' : 'ERROR';
    await context.table.write([
      ...endOps(context, plan, backfill, status, { level, message }),
      ...(status === 'Failed' ? backfillFailureOps(backfill, message, context.clock()) : []),
    ]);
    return status;
  });
}

/** Returns the ops of the notice that a backfill has failed. */
function backfillFailureOps(backfill: BackfillItem, reason: string, at: number): Op[] {
  const { id, batch_export, adjusted_start_at: start, adjusted_end_at: end } = backfill;
  return noticeOps(id, {
    type: 'backfill_failed',
    export: batch_export,
    subject: id,
    range: { start, end },
    reason,
    at,
  });
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
