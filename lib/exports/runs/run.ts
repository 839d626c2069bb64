import { v5 } from 'uuid';
import { wireInstant } from '../../http/instant.ts';
import { type Slot, slice } from '../../lake/intervals.ts';
import { keys, places } from '../../ports/table/keys.ts';
import { type BatchExportItem, type RunItem, type RunStatus, runObject } from '../records/model.ts';
import { type Active, CHUNK, type Plan, slotsOf } from './plan.ts';

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
    execution: mine.execution,
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

/** Names the files and uploads of what an execution acquired. */
export const tokenOf = (exportId: string, { version }: Pick<Active, 'version'>): string => `${exportId}-${version}`;

/** The slots of what an execution acquired, in order. */
export const slotsOfExecution = (item: BatchExportItem, plan: Plan, mine: Active): Slot[] =>
  slice(slotsOf(plan, item.interval, mine), 0, CHUNK);

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
