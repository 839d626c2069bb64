/** Runs and plans as stored: a run's identity, how it begins, how it is cancelled, and what an export shows of it. */
import { v5 } from 'uuid';
import { wireInstant } from '../../http/instant.ts';
import { type Slot, slice } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { keys, places } from '../../ports/table/keys.ts';
import { type Item, type Op, Refused, type Table } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import { type BatchExportItem, type PlanItem, type RunItem, type RunStatus, runObject } from '../records/model.ts';
import { type Active, CHUNK, type Plan, planFields, planOf, slotsOf } from './plan.ts';

/** Statuses of a run or backfill that has not ended. */
export const OPEN: readonly RunStatus[] = ['Starting', 'Running'];
export const isOpen = ({ status }: { readonly status: RunStatus }): boolean => OPEN.includes(status);

/** Runs that an export's `latest_runs` holds. */
const LATEST = 10;

/** The one id that a slot's run has on behalf of the schedule, of a backfill, or of the run that is run again. */
export const runId = (exportId: string, slot: Slot, by: string): string => v5(`${slot.start} ${by}`, exportId);

/** A run that begins at `now`. `ended`: as it begins, with no rows, or for this reason. */
export function newRun(
  now: number,
  item: BatchExportItem,
  slot: Slot,
  mine: Active,
  {
    ended,
    backfill,
    firstTriedAt,
  }: {
    readonly ended: 'empty' | { readonly failed: string } | null;
    readonly backfill: string | null;
    readonly firstTriedAt: number | null;
  },
): RunItem {
  const id = runId(item.id, slot, mine.by);
  const none = ended === 'empty' ? 0 : null;
  const failed = ended === null || ended === 'empty' ? null : ended.failed;
  return {
    ...keys.run(item.id, id),
    ...places.runOf(item.id, now, slot.start, id),
    id,
    batch_export: item.id,
    status: ended === null ? 'Starting' : failed === null ? 'Completed' : 'Failed',
    phase: null,
    token: tokenOf(item.id, mine),
    holder: mine.holder,
    by: mine.by,
    backfill,
    data_interval_start: slot.start,
    data_interval_end: slot.end,
    records_total_count: none,
    records_completed: none,
    bytes_exported: none,
    latest_error: failed,
    first_tried_at: firstTriedAt ?? now,
    created_at: now,
    finished_at: ended === null ? null : now,
    last_updated_at: now,
  };
}

/** Names the files and uploads of what a holder acquired. */
export const tokenOf = (exportId: string, { version }: Pick<Active, 'version'>): string => `${exportId}-${version}`;

/** The slots of what a holder acquired, in order. */
export const slotsOfHolder = (item: BatchExportItem, plan: Plan, mine: Active): Slot[] =>
  slice(slotsOf(plan, item.interval, mine), 0, CHUNK);

/** The runs of these slots, in their order. */
export async function runsOf(table: Table, exportId: string, slots: readonly Slot[], by: string): Promise<RunItem[]> {
  const found = await table.many(slots.map((slot) => keys.run(exportId, runId(exportId, slot, by))));
  return found.filter((run) => run !== undefined) as RunItem[];
}

/** `latest_runs` with these runs as they are now: the newest ten, newest first. */
export function latestRuns(item: Pick<BatchExportItem, 'latest_runs'>, runs: readonly RunItem[]): string {
  type Latest = ReturnType<typeof runObject>;
  const byId = new Map((JSON.parse(item.latest_runs) as Latest[]).map((run) => [run.id, run]));
  for (const run of runs) byId.set(run.id, runObject(run));
  const age = (run: Latest): number => Date.parse(run.created_at);
  const newestFirst = (a: Latest, b: Latest): number =>
    age(b) - age(a) || Date.parse(b.data_interval_start) - Date.parse(a.data_interval_start) || (a.id < b.id ? 1 : -1);
  return JSON.stringify([...byId.values()].toSorted(newestFirst).slice(0, LATEST));
}

/** A slot's interval as log lines name it. */
export const rangeText = ({ start, end }: Slot): string => `range ${wireInstant(start)} - ${wireInstant(end)}`;
export const slotOf = (run: RunItem): Slot => ({ start: run.data_interval_start, end: run.data_interval_end });

/** An export and its plan; undefined when it was never made, or has been purged. */
export async function exportWithPlan(
  table: Table,
  exportId: string,
): Promise<{ item: BatchExportItem; plan: Plan } | undefined> {
  const [item, stored] = await table.many([keys.batchExport(exportId), keys.plan(exportId)]);
  if (item === undefined || stored === undefined) return undefined;
  return { item: item as BatchExportItem, plan: planOf(stored as PlanItem) };
}

/** The condition that nothing has changed of what decides when the export is due. */
export const scheduleOf = ({ interval, paused, start_at, end_at }: BatchExportItem) => ({
  interval,
  paused,
  start_at,
  end_at,
  deleted_at: null,
});

/** Writes a plan that was made of `before`, unless somebody else was first. */
export const planOp = (exportId: string, before: Plan, after: Plan): Op => ({
  change: keys.plan(exportId),
  set: { ...planFields(after) },
  if: { is: { version: before.version } },
});

/** Lets the export's `latest_runs` show these runs as they are now. */
export async function showRuns({ table }: Pick<Context, 'table'>, exportId: string, runs: readonly RunItem[]) {
  await untilWritten(async () => {
    const item = (await table.get(keys.batchExport(exportId))) as BatchExportItem | undefined;
    if (item === undefined) return;
    const latest_runs = latestRuns(item, runs);
    if (latest_runs === item.latest_runs) return;
    const unchanged = { id: exportId, latest_runs: item.latest_runs };
    await table.write([{ change: keys.batchExport(exportId), set: { latest_runs }, if: { is: unchanged } }]);
  });
}

/** Cancels a run, with `also` in the transaction. Refused (`found`: the run): it has ended, or is being committed. */
export async function cancelOpenRun(context: Context, run: RunItem, also: readonly Op[] = []): Promise<RunItem> {
  const now = context.clock();
  const set = { status: 'Cancelled', finished_at: now, last_updated_at: now } as const;
  const message = `Batch export for ${rangeText(slotOf(run))} was cancelled`;
  const line: LogLine = { at: now, level: 'INFO', message, instance: run.id };
  await context.table.write([
    { change: keys.run(run.batch_export, run.id), set, if: { is: { status: OPEN, phase: null } } },
    ...lineOps(context, run.batch_export, run.holder, `cancel-${run.id}`, [line]),
    ...also,
  ]);
  return { ...run, ...set };
}

/** Cancels what a holder still runs. True: nothing is being committed, so that its execution may be stopped. */
export async function cancelOpenRuns(
  context: Context,
  item: BatchExportItem,
  plan: Plan,
  mine: Active,
): Promise<boolean> {
  const runs = await runsOf(context.table, item.id, slotsOfHolder(item, plan, mine), mine.by);
  const cancel = async (run: RunItem): Promise<RunItem | Item | undefined> => {
    try {
      return await cancelOpenRun(context, run);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return error.found;
    }
  };
  const now = (await Promise.all(runs.filter(isOpen).map(cancel))) as (RunItem | undefined)[];
  const known = now.filter((run) => run !== undefined);
  await showRuns(context, item.id, known);
  return !known.some(isOpen);
}
