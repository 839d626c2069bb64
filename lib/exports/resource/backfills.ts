/** Backfills: begun over HTTP, run in chunks by their machine, cancelled over HTTP or closed by the machine. */
import type * as z from 'zod';
import { wireInstant } from '../../http/instant.ts';
import { jobOps } from '../../jobs/job.ts';
import { filesBetween } from '../../lake/catalog.ts';
import type { ArrivalRange, Slots } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid, messageOf } from '../../ports/errors.ts';
import { keys, places } from '../../ports/table/keys.ts';
import { type Op, Refused, type Table } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import type { PrepareOutput } from '../../workflow/messages.ts';
import { noticeOps } from '../notices/notice.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import {
  type BackfillEstimate,
  type BackfillItem,
  type BatchExportItem,
  type ChunkProgress,
  progressSum,
  type RunItem,
  type RunStatus,
} from '../records/model.ts';
import {
  type Active,
  backfillRange,
  type Claim,
  chunksOf,
  claim,
  MAX_BACKFILL,
  nextDue,
  type Plan,
  release,
  slotAt,
  slotsOf,
} from '../runs/plan.ts';
import {
  cancelOpenRuns,
  exportWithPlan,
  isOpen,
  OPEN,
  planOp,
  rangeText,
  runsOf,
  scheduleOf,
  slotsOfHolder,
} from '../runs/run-state.ts';
import { amountIn, laterArrivals, scanOf } from './estimate.ts';

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
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  asked: Asked,
  once: (backfillId: string) => readonly Op[] = () => [],
): Promise<BackfillItem> {
  const id = context.newId();
  const backfill = await untilWritten(() => writeBackfill(context, exportId, id, asked, once));
  await startMachine(context, backfill);
  return backfill;
}

async function writeBackfill(
  context: Context,
  exportId: string,
  id: string,
  asked: Asked,
  once: (backfillId: string) => readonly Op[],
): Promise<BackfillItem> {
  const { table, clock, settings } = context;
  const { item, plan } = (await exportWithPlan(table, exportId)) ?? fail('not_found');
  if (item.deleted_at !== null) fail('not_found');
  const { plan: claimed, backfill, ops } = await beginning(context, item, plan, id, asked);
  await table.write([
    planOp(exportId, plan, claimed),
    { check: keys.batchExport(exportId), if: { is: scheduleOf(item) } },
    ...jobOps('export', exportId, nextDue(item, claimed, clock(), settings)),
    ...ops,
    ...once(id),
  ]);
  return backfill;
}

/**
 * A backfill that begins in a transaction of the caller's, who writes the plan and the export's job and, once that is
 * done, starts the machine. Refuses as `startBackfill` does; `Refused`: the plan must be read again.
 */
export async function beginning(
  context: Context,
  item: BatchExportItem,
  plan: Plan,
  id: string,
  asked: Asked,
): Promise<{ readonly plan: Plan; readonly backfill: BackfillItem; readonly ops: readonly Op[] }> {
  const now = context.clock();
  const range = slotsAsked(plan, item, asked, now);
  const isEmpty = range.from === range.to;
  const claimed = isEmpty ? plan : await claimRange(context, item, plan, id, range);
  const backfill = newBackfill(item, id, asked, range, now);
  const ops: Op[] = [
    { put: backfill, if: 'absent' },
    ...(isEmpty ? [] : jobOps('backfill', id, now + START_LOST, { export: item.id })),
    ...lineOps(context, item.id, id, 'start', [firstLine(backfill)]),
  ];
  return { plan: claimed, backfill, ops };
}

/**
 * What a backfill runs of the range that was asked for: whole slots that have ended. None: an empty range at the edge
 * before it. 400: too many.
 */
export function slotsAsked(
  plan: Plan,
  { interval }: BatchExportItem,
  { start_at, end_at }: Asked,
  now: number,
): ArrivalRange {
  const range = backfillRange(plan, interval, { from: start_at, to: end_at }, now);
  if (range === undefined) {
    const { start } = slotAt(plan, interval, start_at);
    return { from: start, to: start };
  }
  const { count } = slotsOf(plan, interval, range);
  if (count > MAX_BACKFILL) {
    invalid(null, `A backfill may have at most ${MAX_BACKFILL} intervals, this range has ${count}: split it.`);
  }
  return range;
}

/** What a backfill of a range would run and read: known from the table alone. */
export async function estimateBackfill(
  { table, clock, settings }: Pick<Context, 'table' | 'clock' | 'settings'>,
  { item, plan }: { readonly item: BatchExportItem; readonly plan: Plan },
  asked: Asked,
): Promise<z.input<typeof BackfillEstimate>> {
  const now = clock();
  const range = slotsAsked(plan, item, asked, now);
  const slots = slotsOf(plan, item.interval, range);
  const [files, after] = await Promise.all([
    filesBetween(table, item.team_id, item.model, range.from, range.to),
    filesBetween(table, item.team_id, item.model, range.to, now + 1),
  ]);
  const later = laterArrivals(after, range);
  return {
    start_at: wireInstant(asked.start_at),
    end_at: wireInstant(asked.end_at),
    adjusted_start_at: wireInstant(range.from),
    adjusted_end_at: wireInstant(range.to),
    intervals: slots.count,
    ...amountIn(files, range),
    scan: settings.scanPrice === null ? null : scanOf(files, slots, settings.scanPrice),
    later: later && {
      rows: later.rows,
      first_arrival: wireInstant(later.first),
      last_arrival: wireInstant(later.last),
    },
  };
}

/** The plan with the range claimed. */
async function claimRange(
  context: Context,
  item: BatchExportItem,
  plan: Plan,
  id: string,
  range: ArrivalRange,
): Promise<Plan> {
  const result = claim(plan, item.interval, id, range);
  if ('plan' in result) return result.plan;
  if (result.refused === 'ranges') {
    invalid(null, 'What this batch export has run lies in too many separate ranges: backfill a range that joins them.');
  }
  if (await closedDead(context, item, result.by)) throw new Refused(0, undefined);
  return invalid(
    null,
    `The range overlaps the one of backfill ${result.by.backfill}, which is still running. ` +
      'Wait for it to finish, or cancel it.',
  );
}

/** Closes a backfill whose machine ended without telling anybody. True: it had, and the plan has changed. */
export async function closedDead(
  context: Context,
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  { backfill }: Claim,
): Promise<boolean> {
  const status = await context.workflow.status('backfill', backfill);
  if (status === undefined || status === 'RUNNING') return false;
  const ending = { status: 'Failed', reason: 'its execution ended without a word' } as const;
  await closeBackfill(context, { export: exportId, backfill }, ending);
  return true;
}

function newBackfill(
  item: BatchExportItem,
  id: string,
  asked: Asked,
  { from, to }: ArrivalRange,
  now: number,
): BackfillItem {
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

function firstLine(backfill: BackfillItem): LogLine {
  const { created_at: at, id: instance, interval, adjusted_start_at: start, adjusted_end_at: end } = backfill;
  const rest = backfill.end_at > end ? ' Intervals that have not ended are left to the schedule.' : '';
  const message =
    start === end
      ? `Backfill has nothing to run: no interval (${interval}) of its range has ended.${rest}`
      : `Backfill of ${rangeText({ start, end })} begins.${rest}`;
  return { at, level: 'INFO', message, instance };
}

/** Starts what has been written, if there is anything to run. A start that is lost is made up for by the job. */
export async function startMachine({ workflow, log }: Context, backfill: BackfillItem): Promise<void> {
  if (!isOpen(backfill)) return;
  const { id, batch_export } = backfill;
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
      ...lineOps(context, exportId, id, 'prepare', await laterLines(context, read.item, backfill)),
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

/** The runs of these backfills in chunks that are under way: what the backfills themselves are told at a chunk's end. */
export async function runsUnderWay(
  table: Table,
  item: BatchExportItem,
  plan: Plan,
  backfills: readonly BackfillItem[],
): Promise<RunItem[]> {
  const open = new Map(backfills.filter(isOpen).map((backfill) => [backfill.id, backfill]));
  const isUntold = ({ by, chunk }: Active): boolean =>
    chunk !== null && open.has(by) && open.get(by)?.[chunkField(chunk)] === undefined;
  const runs = plan.active
    .filter(isUntold)
    .map((active) => runsOf(table, item.id, slotsOfHolder(item, plan, active), active.by));
  return (await Promise.all(runs)).flat();
}

/** A backfill's slots; they stay what they are while its claim stands. */
export const backfillSlots = (plan: Plan, { interval, adjusted_start_at, adjusted_end_at }: BackfillItem): Slots =>
  slotsOf(plan, interval, { from: adjusted_start_at, to: adjusted_end_at });

/** Tells that events of the range are exported with the intervals in which they arrived, where that may be so. */
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
 * Cancels a backfill with its runs, with `also` in the transaction: nothing of it starts from now on, no retry either.
 * A run that is being committed is finished. 404: there is none; 400: it has ended.
 */
export async function cancelBackfill(
  context: Context,
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  id: string,
  also: readonly Op[] = [],
): Promise<void> {
  const { table } = context;
  const { item, plan } = await untilWritten(async () => {
    const [read, found] = await Promise.all([exportWithPlan(table, exportId), table.get(keys.backfill(exportId, id))]);
    const backfill = found as BackfillItem | undefined;
    if (read === undefined || backfill === undefined) return fail('not_found');
    if (!isOpen(backfill)) invalid(null, `Cannot cancel a backfill that is in '${backfill.status}' status`);
    const line = { level: 'INFO', message: 'Backfill was cancelled' } as const;
    await table.write([...endOps(context, read.plan, backfill, 'Cancelled', line), ...also]);
    return read;
  });
  const reason = 'The backfill was cancelled.';
  const chunks = plan.active.filter(({ by }) => by === id);
  const stoppable = await Promise.all(chunks.map((mine) => cancelOpenRuns(context, item, plan, mine)));
  // Otherwise it ends by itself: its next chunks find that there is nothing to do.
  if (stoppable.every(Boolean)) await context.workflow.stop('backfill', id, reason);
  for (const mine of await retriesOf(table, plan, exportId, id)) {
    if (await cancelOpenRuns(context, item, plan, mine)) await context.workflow.stop('export-run', mine.holder, reason);
  }
}

/** Who runs a run of a backfill again now. */
async function retriesOf(table: Table, plan: Plan, exportId: string, backfill: string): Promise<Active[]> {
  const retries = plan.active.filter(({ by, chunk }) => by !== 'schedule' && chunk === null);
  const origins = (await table.many(retries.map(({ by }) => keys.run(exportId, by)))) as (RunItem | undefined)[];
  return retries.filter((_, n) => origins[n]?.backfill === backfill);
}
