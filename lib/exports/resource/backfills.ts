/** Backfills as callers begin and estimate them. Their way through the pipeline is told in `../runs/backfill.ts`. */
import type * as z from 'zod';
import { messageOf } from '../../basics/text.ts';
import { MINUTE_MS } from '../../basics/units.ts';
import { wireInstant } from '../../http/instant.ts';
import { jobOps } from '../../jobs/job.ts';
import { filesBetween } from '../../lake/catalog.ts';
import { type ArrivalRange, MAX_BACKFILL_INTERVALS } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { keys, places } from '../../ports/table/keys.ts';
import type { Op, Table } from '../../ports/table/table.ts';
import { ReadAgain, untilWritten } from '../../ports/table/until-written.ts';
import type { BackfillEstimate, BackfillItem } from '../records/backfills/model.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { triedAtOnce } from '../runs/back-off.ts';
import { batchField } from '../runs/backfill.ts';
import { amountIn, laterArrivals, scanOf } from '../runs/estimate.ts';
import { type Active, backfillRange, claim, intervalAt, intervalsOf, MAX_CLAIMS, type Plan } from '../runs/plan.ts';
import { reapBackfill } from '../runs/reap.ts';
import { nextLook } from '../runs/retention.ts';
import { isOpen, rangeText } from '../runs/run.ts';
import { type ExportAndPlan, exportWithPlan, planOp, runsOf, scheduleOf } from '../runs/store.ts';
import { sharedPlacesWarning, stored } from './shared-places.ts';

/** When the job looks whether the start was lost; the start itself follows the transaction at once. */
const START_RETRY_MS = MINUTE_MS;

/** When there are too many backfills, one may be begun again after so many seconds. */
const RETRY_AFTER_SECONDS = 60;

/** A range as asked for, in milliseconds since 1970. */
interface RequestedRange {
  readonly start_at: number;
  readonly end_at: number;
}

/**
 * Begins a backfill: the item, the claim on its range and the job in one transaction, with what `idempotencyOps` adds;
 * then starts the machine. The range is aligned outward to whole intervals; those that have not ended are left to the
 * schedule. Fails with 400 when it overlaps another one that is under way, or is too large; with 429 when too many of the
 * export have not ended; with 404 when the export is deleted.
 */
export async function startBackfill(
  context: Context,
  { id: exportId }: Pick<BatchExportItem, 'id'>,
  asked: RequestedRange,
  idempotencyOps: (backfillId: string) => readonly Op[] = () => [],
): Promise<BackfillItem> {
  const id = context.newId();
  const backfill = await untilWritten(() => writeBackfill(context, exportId, id, asked, idempotencyOps));
  await startMachine(context, backfill);
  return backfill;
}

async function writeBackfill(
  context: Context,
  exportId: string,
  id: string,
  asked: RequestedRange,
  idempotencyOps: (backfillId: string) => readonly Op[],
): Promise<BackfillItem> {
  const { table, clock } = context;
  const { item, plan } = (await exportWithPlan(table, exportId)) ?? fail('not_found');
  if (item.deleted_at !== null) fail('not_found');
  const { plan: claimed, backfill, ops } = await claimBackfill(context, item, plan, id, asked);
  await table.write([
    planOp(exportId, plan, claimed),
    unchangedOp(item, triedAtOnce(item, clock())),
    ...jobOps('export', exportId, await nextLook(context, item, claimed)),
    ...ops,
    ...idempotencyOps(id),
  ]);
  return backfill;
}

/** Returns the op that holds the transaction to an export's schedule as it was read, and sets its fields, if any. */
function unchangedOp(item: BatchExportItem, set: Pick<BatchExportItem, 'trouble'>): Op {
  const key = keys.batchExport(item.id);
  const unchanged = { is: scheduleOf(item) };
  return Object.keys(set).length === 0 ? { check: key, if: unchanged } : { change: key, set, if: unchanged };
}

/**
 * Returns a backfill that begins in a transaction of the caller's, who writes the plan and the export's job and, once
 * that is done, starts the machine. Fails as `startBackfill` does. Throws `Refused` or `ReadAgain` when the plan must be read again.
 */
export async function claimBackfill(
  context: Context,
  item: BatchExportItem,
  plan: Plan,
  id: string,
  asked: RequestedRange,
): Promise<{ readonly plan: Plan; readonly backfill: BackfillItem; readonly ops: readonly Op[] }> {
  const now = context.clock();
  const range = intervalsAsked(plan, item, asked, now);
  const isEmpty = range.from === range.to;
  const claimed = isEmpty ? plan : await claimRange(context, item, plan, id, range);
  const backfill = newBackfill(item, id, asked, range, now);
  const ops: Op[] = [
    { put: backfill, if: 'absent' },
    ...(isEmpty ? [] : jobOps('backfill', id, now + START_RETRY_MS, { export: item.id })),
    ...lineOps(context, item.id, id, 'start', [firstLine(backfill)]),
  ];
  return { plan: claimed, backfill, ops };
}

/**
 * Returns what a backfill runs of the range that was asked for: whole intervals that have ended. When there are none, it is
 * an empty range at the edge before it. Fails with 400 when they are too many.
 */
function intervalsAsked(
  plan: Plan,
  { interval: frequency }: BatchExportItem,
  { start_at, end_at }: RequestedRange,
  now: number,
): ArrivalRange {
  const range = backfillRange(plan, frequency, { from: start_at, to: end_at }, now);
  if (range === undefined) {
    const { start } = intervalAt(plan, frequency, start_at);
    return { from: start, to: start };
  }
  const { count } = intervalsOf(plan, frequency, range);
  if (count > MAX_BACKFILL_INTERVALS) {
    invalid(
      null,
      `A backfill may have at most ${MAX_BACKFILL_INTERVALS.toLocaleString('en')} intervals, this range has ${count.toLocaleString('en')}: split it.`,
    );
  }
  return range;
}

/** Returns what a backfill of a range would run and read: known from the table alone. */
export async function estimateBackfill(
  { table, clock, settings }: Pick<Context, 'table' | 'clock' | 'settings'>,
  { item, plan }: ExportAndPlan,
  asked: RequestedRange,
): Promise<z.input<typeof BackfillEstimate>> {
  const now = clock();
  const range = intervalsAsked(plan, item, asked, now);
  const intervals = intervalsOf(plan, item.interval, range);
  const [files, after, shared] = await Promise.all([
    filesBetween(table, item.team_id, item.model, range.from, range.to),
    filesBetween(table, item.team_id, item.model, range.to, now + 1),
    sharedPlacesWarning({ table, clock }, stored(item)),
  ]);
  const later = laterArrivals(after, range);
  return {
    start_at: wireInstant(asked.start_at),
    end_at: wireInstant(asked.end_at),
    adjusted_start_at: wireInstant(range.from),
    adjusted_end_at: wireInstant(range.to),
    intervals: intervals.count,
    ...amountIn(files, range),
    scan: settings.scanPrice === null ? null : scanOf(files, intervals, settings.scanPrice),
    later: later && {
      rows: later.rows,
      first_arrival: wireInstant(later.first),
      last_arrival: wireInstant(later.last),
    },
    warnings: shared === undefined ? [] : [shared],
  };
}

/** Returns the plan with the range claimed. Fails with 400 when that cannot be, with 429 when it cannot be yet. */
async function claimRange(context: Context, item: BatchExportItem, plan: Plan, id: string, range: ArrivalRange) {
  const result = claim(plan, item.interval, id, range);
  if ('plan' in result) return result.plan;
  if (result.refused === 'ranges') {
    invalid(null, 'What this batch export has run lies in too many separate ranges: backfill a range that joins them.');
  }
  if (result.refused === 'claims') {
    fail('throttled', {
      detail:
        `${MAX_CLAIMS} backfills of the batch export have not ended, the most that it may have. Wait for one of them, ` +
        'or cancel it; ranges beside each other can be one backfill.',
      headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
    });
  }
  if (await reapBackfill(context, item, result.by)) throw new ReadAgain();
  return invalid(
    null,
    `The range overlaps the one of backfill ${result.by.backfill}, which is still running. ` +
      'Wait for it to finish, or cancel it.',
  );
}

function newBackfill(
  item: BatchExportItem,
  id: string,
  asked: RequestedRange,
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
  const {
    created_at: at,
    id: instance,
    interval: frequency,
    adjusted_start_at: start,
    adjusted_end_at: end,
  } = backfill;
  const rest = backfill.end_at > end ? ' Intervals that have not ended are left to the schedule.' : '';
  const message =
    start === end
      ? `Backfill has nothing to run: no interval (${frequency}) of its range has ended.${rest}`
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

/** Returns the runs of these backfills' batches under way: the backfills hear of them only at the batch's end. */
export async function runsUnderWay(
  table: Table,
  read: ExportAndPlan,
  backfills: readonly BackfillItem[],
): Promise<RunItem[]> {
  const open = new Map(backfills.filter(isOpen).map((backfill) => [backfill.id, backfill]));
  const isUntold = ({ by, batch }: Active): boolean =>
    batch !== null && open.has(by) && open.get(by)?.[batchField(batch)] === undefined;
  const runs = read.plan.active.filter(isUntold).map((active) => runsOf(table, read, active));
  return (await Promise.all(runs)).flat();
}
