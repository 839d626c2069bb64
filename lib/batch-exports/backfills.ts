/** Backfills: begun over HTTP, run in chunks by their machine, cancelled over HTTP or closed by the machine. */
import type { Context } from '../context.ts';
import { fail, invalid, messageOf } from '../errors.ts';
import { wireInstant } from '../http/instant.ts';
import { jobOps } from '../jobs/jobs.ts';
import { filesBetween } from '../lake/lake.ts';
import { noticeOps } from '../notices/notice.ts';
import { keys, places } from '../table/keys.ts';
import { type Op, Refused } from '../table/table.ts';
import { untilWritten } from '../table/until-written.ts';
import type { PrepareOutput } from '../workflow/messages.ts';
import type { Slots } from './intervals.ts';
import { type LogLine, lineOps } from './logs.ts';
import {
  type BackfillItem,
  type BatchExportItem,
  type ChunkProgress,
  progressSum,
  type RunItem,
  type RunStatus,
} from './model.ts';
import {
  backfillRange,
  type Claim,
  chunksOf,
  claim,
  MAX_BACKFILL,
  type Plan,
  type Range,
  release,
  slotAt,
  slotsOf,
} from './plan.ts';
import { cancelOpenRuns, exportWithPlan, isOpen, OPEN, planOp, rangeText } from './run-state.ts';

/** The job is for a start that was lost; the start itself follows the transaction at once. */
const START_LOST = 60_000;

interface Named {
  readonly export: string;
  readonly backfill: string;
}

/** A range as asked for, in milliseconds since 1970. */
export interface Asked {
  readonly start_at: number;
  readonly end_at: number;
}

/**
 * Begins a backfill: the item, the claim on its range and the job in one transaction, with what `once` adds; then
 * starts the machine. The range is aligned outward to whole intervals; those that have not ended are left to the
 * schedule. 400: it overlaps another one that is under way, or is too large. The export must not be deleted (404).
 */
export async function startBackfill(
  context: Context,
  { id: exportId }: BatchExportItem,
  asked: Asked,
  once: (backfillId: string) => readonly Op[] = () => [],
): Promise<BackfillItem> {
  const id = context.newId();
  const backfill = await untilWritten(() => writeBackfill(context, exportId, id, asked, once));
  if (isOpen(backfill)) await startMachine(context, backfill);
  return backfill;
}

async function writeBackfill(
  context: Context,
  exportId: string,
  id: string,
  asked: Asked,
  once: (backfillId: string) => readonly Op[],
): Promise<BackfillItem> {
  const { item, plan } = (await exportWithPlan(context.table, exportId)) ?? fail('not_found');
  if (item.deleted_at !== null) fail('not_found');
  const now = context.clock();
  const range = backfillRange(plan, item.interval, { from: asked.start_at, to: asked.end_at }, now);
  const claimed = range === undefined ? plan : await claimRange(context, item, plan, id, range);
  const backfill = newBackfill(item, id, asked, range ?? nowhere(plan, item, asked), now);
  await context.table.write([
    planOp(exportId, plan, claimed),
    { check: keys.batchExport(exportId), if: { is: { interval: item.interval, deleted_at: null } } },
    { put: backfill, if: 'absent' },
    ...(isOpen(backfill) ? jobOps('backfill', id, now + START_LOST, { export: exportId }) : []),
    ...lineOps(context, exportId, id, 'start', [beginning(backfill)]),
    ...once(id),
  ]);
  return backfill;
}

/** The plan with the range claimed. */
async function claimRange(
  context: Context,
  item: BatchExportItem,
  plan: Plan,
  id: string,
  range: Range,
): Promise<Plan> {
  const { count } = slotsOf(plan, item.interval, range);
  if (count > MAX_BACKFILL) {
    invalid(null, `A backfill may have at most ${MAX_BACKFILL} intervals, this range has ${count}: split it.`);
  }
  const result = claim(plan, item.interval, id, range);
  if ('plan' in result) return result.plan;
  if (result.refused === 'ranges') {
    invalid(null, 'What this batch export has run lies in too many separate ranges: backfill a range that joins them.');
  }
  await closeDead(context, item, result.by);
  return invalid(
    null,
    `The range overlaps the one of backfill ${result.by.backfill}, which is still running. ` +
      'Wait for it to finish, or cancel it.',
  );
}

/** Closes a backfill whose machine ended without telling anybody, and then has everything looked at again. */
async function closeDead({ workflow, ...context }: Context, item: BatchExportItem, { backfill }: Claim): Promise<void> {
  const status = await workflow.status('backfill', backfill);
  if (status === undefined || status === 'RUNNING') return;
  const ending = { status: 'Failed', reason: 'its execution ended without a word' } as const;
  await closeBackfill({ workflow, ...context }, { export: item.id, backfill }, ending);
  throw new Refused(0, undefined);
}

/** Where a backfill that has nothing to run stands: at the edge before what was asked for. */
function nowhere(plan: Plan, item: BatchExportItem, { start_at }: Asked): Range {
  const { start } = slotAt(plan, item.interval, start_at);
  return { from: start, to: start };
}

function newBackfill(item: BatchExportItem, id: string, asked: Asked, { from, to }: Range, now: number): BackfillItem {
  const empty = from === to;
  return {
    ...keys.backfill(item.id, id),
    ...places.backfillOf(item.id, now, asked.start_at, id),
    id,
    batch_export: item.id,
    team_id: item.team_id,
    status: empty ? 'Completed' : 'Starting',
    start_at: asked.start_at,
    end_at: asked.end_at,
    adjusted_start_at: from,
    adjusted_end_at: to,
    interval: item.interval,
    total_runs: empty ? 0 : null,
    created_at: now,
    finished_at: empty ? now : null,
    last_updated_at: now,
  };
}

function beginning(backfill: BackfillItem): LogLine {
  const { created_at: at, id: instance, interval, adjusted_start_at: start, adjusted_end_at: end } = backfill;
  const rest = backfill.end_at > end ? ' Intervals that have not ended are left to the schedule.' : '';
  const message =
    start === end
      ? `Backfill has nothing to run: no interval (${interval}) of its range has ended.${rest}`
      : `Backfill of ${rangeText({ start, end })} begins.${rest}`;
  return { at, level: 'INFO', message, instance };
}

async function startMachine({ workflow, log }: Context, { id, batch_export }: BackfillItem): Promise<void> {
  try {
    await workflow.start('backfill', id, { export: batch_export, backfill: id });
  } catch (error) {
    log.warning('backfill could not be started at once; its job will', { backfill: id, reason: messageOf(error) });
  }
}

/** Counts a backfill's chunks, and says that it runs. No chunks: it has ended. One that is done is not run again. */
export async function prepareBackfill(
  context: Context,
  { export: exportId, backfill: id }: Named,
): Promise<PrepareOutput> {
  const { table, clock, settings } = context;
  const nothing = { chunks: [], concurrency: settings.backfillConcurrency };
  const [read, found] = await Promise.all([exportWithPlan(table, exportId), table.get(keys.backfill(exportId, id))]);
  const backfill = found as BackfillItem | undefined;
  if (read === undefined || backfill === undefined || !isOpen(backfill)) return nothing;
  const slots = backfillSlots(read.plan, backfill);
  const set = { status: 'Running', total_runs: slots.count, last_updated_at: clock() };
  try {
    await table.write([
      { change: keys.backfill(exportId, id), set, if: { is: { status: OPEN } } },
      ...jobOps('backfill', id, null),
      ...lineOps(context, exportId, id, 'prepare', await laterArrivals(context, read.item, backfill)),
    ]);
  } catch (error) {
    if (error instanceof Refused) return nothing;
    throw error;
  }
  const chunks = Array.from({ length: chunksOf(slots.count) }, (_, n) => n);
  return { ...nothing, chunks: chunks.filter((n) => backfill[chunkField(n)] === undefined) };
}

/** The field of a backfill that holds what its n-th chunk has come to. */
export const chunkField = (n: number): string => `chunk_${n}`;

/** What a chunk has come to, now that all its runs have ended: put, so that it may be written twice. */
export function progressFields(chunk: number, runs: readonly RunItem[]): Record<string, string> {
  const completed = runs.filter(({ status }) => status === 'Completed');
  const records = completed.reduce((sum, run) => sum + (run.records_completed ?? 0), 0);
  const progress: ChunkProgress = { finished: completed.length, failed: runs.length - completed.length, records };
  return { [chunkField(chunk)]: JSON.stringify(progress) };
}

/** A backfill's slots; they stay what they are while its claim stands. */
export const backfillSlots = (plan: Plan, { interval, adjusted_start_at, adjusted_end_at }: BackfillItem): Slots =>
  slotsOf(plan, interval, { from: adjusted_start_at, to: adjusted_end_at });

/** Tells that events of the range are exported with the intervals in which they arrived, where that may be so. */
async function laterArrivals(context: Context, item: BatchExportItem, backfill: BackfillItem): Promise<LogLine[]> {
  const { adjusted_start_at: start, adjusted_end_at: end, id: instance } = backfill;
  const now = context.clock();
  const later = await filesBetween(context.table, item.team_id, item.model, end, now + 1);
  const ofRange = later.filter((file) => file.min_timestamp < end && file.max_timestamp >= start);
  if (ofRange.length === 0) return [];
  const rows = ofRange.reduce((sum, file) => sum + file.rows, 0);
  const first = wireInstant(Math.max(end, Math.min(...ofRange.map((file) => file.min_arrival))));
  const last = wireInstant(Math.max(...ofRange.map((file) => file.max_arrival)));
  const message =
    `Up to ${rows} rows with timestamps in this range arrived later, between ${first} and ${last}. ` +
    'They are exported with the intervals in which they arrived.';
  return [{ at: now, level: 'INFO', message, instance }];
}

/**
 * Ends a backfill that has not ended: gives its range back, removes its job, and says how it went. `ending` null: by
 * what its chunks have come to, and Failed when a run of it was not delivered. Answers the status that it has now.
 */
export async function closeBackfill(
  context: Context,
  { export: exportId, backfill: id }: Named,
  ending: { readonly status: RunStatus; readonly reason: string } | null,
): Promise<RunStatus> {
  const { table } = context;
  return untilWritten(async () => {
    const [read, found] = await Promise.all([exportWithPlan(table, exportId), table.get(keys.backfill(exportId, id))]);
    const backfill = found as BackfillItem | undefined;
    if (read === undefined || backfill === undefined) return ending?.status ?? 'Failed';
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
    await table.write([
      ...endOps(context, read.plan, backfill, status, { level, message }),
      ...(status === 'Failed' ? failedOps(backfill, message, context.clock()) : []),
    ]);
    return status;
  });
}

/** What tells of a backfill that failed. */
function failedOps(backfill: BackfillItem, reason: string, at: number): Op[] {
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

/** The end of a backfill: its status, its range given back, its job gone, a line in the log. */
function endOps(
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

/**
 * Cancels a backfill with its runs: nothing of it starts from now on. A run that is being committed is finished. 404:
 * there is none; 400: it has ended.
 */
export async function cancelBackfill(context: Context, { id: exportId }: BatchExportItem, id: string): Promise<void> {
  const { table } = context;
  const { item, plan } = await untilWritten(async () => {
    const [read, found] = await Promise.all([exportWithPlan(table, exportId), table.get(keys.backfill(exportId, id))]);
    const backfill = found as BackfillItem | undefined;
    if (read === undefined || backfill === undefined) return fail('not_found');
    if (!isOpen(backfill)) invalid(null, `Cannot cancel a backfill that is in '${backfill.status}' status`);
    const line = { level: 'INFO', message: 'Backfill was cancelled' } as const;
    await table.write(endOps(context, read.plan, backfill, 'Cancelled', line));
    return read;
  });
  const chunks = plan.active.filter(({ by }) => by === id);
  const stoppable = await Promise.all(chunks.map((mine) => cancelOpenRuns(context, item, plan, mine)));
  // Otherwise it ends by itself: its next chunks find that there is nothing to do.
  if (stoppable.every(Boolean)) await context.workflow.stop('backfill', id, 'The backfill was cancelled.');
}
