/**
 * A run: one interval of an export on its way to the destination, on behalf of the schedule (`by: 'schedule'`), of a
 * backfill (`by`: its id), or of a run that failed and is run again (`by`: that run's id). Its states, what enters
 * them and what leaves them, are told in `docs/architecture.md`.
 */
import { v5 } from 'uuid';
import { wireInstant } from '../../http/instant.ts';
import { type Interval, slice } from '../../lake/intervals.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, places } from '../../ports/table/keys.ts';
import type { BatchExportItem } from '../records/model.ts';
import { type RunItem, type RunStatus, runObject } from '../records/runs/model.ts';
import { type Active, BATCH_SIZE, intervalsOf, type Plan } from './plan.ts';

/** Statuses of a run or backfill that has not ended. */
export const OPEN: readonly RunStatus[] = ['Starting', 'Running'];

/** Returns whether a run or backfill has not ended. */
export const isOpen = ({ status }: { readonly status: RunStatus }): boolean => OPEN.includes(status);

/** Returns whether a run has not ended and is of this attempt still: nobody else has taken it over. */
export const isHeldBy = (attempt: string, run: RunItem | undefined): run is RunItem =>
  run !== undefined && isOpen(run) && run.attempt === attempt;

/** Returns the same as the condition of a write. */
export const ifHeldBy = (attempt: string) => ({ is: { status: OPEN, attempt } });

/** The number of runs that an export's `latest_runs` holds. */
const MAX_LATEST_RUNS = 10;

/** Returns the one id that an interval's run has on behalf of the schedule, a backfill, or the run that is run again. */
export const runId = (exportId: string, interval: Interval, by: string): string =>
  v5(`${interval.start} ${by}`, exportId);

/** Returns a run that begins at `now`. `ended` says that it ends at once: without rows, or for this reason. */
export function newRun(
  now: number,
  item: BatchExportItem,
  interval: Interval,
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
  const id = runId(item.id, interval, mine.by);
  const none = ended === 'empty' ? 0 : null;
  const failed = ended === null || ended === 'empty' ? null : ended.failed;
  return {
    ...keys.run(item.id, id),
    ...places.runOf(item.id, now, interval.start, id),
    id,
    batch_export: item.id,
    status: ended === null ? 'Starting' : failed === null ? 'Completed' : 'Failed',
    phase: null,
    attempt: attemptOf(item.id, mine),
    execution: mine.execution,
    by: mine.by,
    backfill,
    data_interval_start: interval.start,
    data_interval_end: interval.end,
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

/** Returns the name of the files and uploads of what an execution acquired. */
export const attemptOf = (exportId: string, { version }: Pick<Active, 'version'>): string => `${exportId}-${version}`;

/** Returns the intervals of what an execution acquired, in order. */
export const intervalsOfExecution = (item: BatchExportItem, plan: Plan, mine: Active): Interval[] =>
  slice(intervalsOf(plan, item.interval, mine), 0, BATCH_SIZE);

/** Returns the interval of a run. */
export const intervalOf = (run: RunItem): Interval => ({ start: run.data_interval_start, end: run.data_interval_end });

/** Returns an interval's bounds as log lines name them. */
export const rangeText = ({ start, end }: Interval): string => `range ${wireInstant(start)} - ${wireInstant(end)}`;

/** Returns `latest_runs` with these runs as they are now: the newest ten, newest first. */
export function latestRuns(item: Pick<BatchExportItem, 'latest_runs'>, runs: readonly RunItem[]) {
  type Latest = ReturnType<typeof runObject>;
  const byId = new Map(fromJsonText(item.latest_runs).map((run) => [run.id, run]));
  for (const run of runs) byId.set(run.id, runObject(run));
  const age = (run: Latest): number => Date.parse(run.created_at);
  const newestFirst = (a: Latest, b: Latest): number =>
    age(b) - age(a) || Date.parse(b.data_interval_start) - Date.parse(a.data_interval_start) || (a.id < b.id ? 1 : -1);
  return toJsonText([...byId.values()].toSorted(newestFirst).slice(0, MAX_LATEST_RUNS));
}
