import * as z from 'zod';
import { LAST_INSTANT } from '../../../http/fields.ts';
import { wireInstant, wireInstantOrNull } from '../../../http/instant.ts';
import type { Frequency } from '../../../lake/intervals.ts';
import type { Item } from '../../../ports/table/table.ts';
import { RUN_STATUSES, type RunItem, type RunStatus } from '../runs/model.ts';

declare module '../../../ports/table/keys.ts' {
  interface Items {
    backfill: BackfillItem;
  }
}

/** A backfill as stored. */
export interface BackfillItem extends Item {
  readonly id: string;
  readonly batch_export: string;
  readonly team_id: number;
  readonly status: RunStatus;
  /** As asked for. */
  readonly start_at: number;
  readonly end_at: number;
  /** Aligned outward to the interval, without intervals that have not ended. */
  readonly adjusted_start_at: number;
  readonly adjusted_end_at: number;
  readonly interval: Frequency;
  readonly total_runs: number | null;
  readonly created_at: number;
  readonly finished_at: number | null;
  readonly last_updated_at: number;
  // Progress is put by batch as `batch_<n>`: JSON of { finished, failed, cancelled, records }, never added to.
}

const instant = z.iso.datetime();

/** How far a backfill is: its runs that are completed or failed, not those that were cancelled. `progress` is between 0 and 1, to one decimal. */
const BackfillProgress = z
  .object({ total_runs: z.int(), finished_runs: z.int(), progress: z.number().min(0).max(1) })
  .meta({ id: 'BackfillProgress' });

export const BatchExportBackfill = z
  .object({
    id: z.uuid(),
    batch_export: z.uuid(),
    team: z.int(),
    start_at: instant,
    end_at: instant,
    adjusted_start_at: instant,
    adjusted_end_at: instant,
    status: z.enum(RUN_STATUSES),
    created_at: instant,
    finished_at: instant.nullable(),
    last_updated_at: instant,
    total_records_count: z.int().describe('Rows that its runs have delivered so far.'),
    progress: BackfillProgress.nullable(),
    estimated_end_at: instant
      .nullable()
      .describe('When it ends if it goes on as until now. Null: no run of it has ended, or it has itself.'),
  })
  .meta({ id: 'BatchExportBackfill' });

const count = z.int().min(0);

/** What a backfill would run and read. */
export const BackfillEstimate = z
  .object({
    start_at: instant.describe('As asked for.'),
    end_at: instant,
    adjusted_start_at: instant.describe('Aligned outward to whole intervals, without those that have not ended.'),
    adjusted_end_at: instant,
    intervals: count,
    rows: count.describe('Rows that arrived then, before the filters of the export.'),
    bytes: count.describe('Their share of the stored files, which are compressed.'),
    scan: z
      .object({
        queries: count,
        bytes: count.describe('At most: each query reads the files that it touches whole.'),
        cost_usd: z.number().min(0).describe('What the cloud charges for them, at most.'),
      })
      .nullable()
      .describe('Null where queries cost nothing.'),
    later: z
      .object({
        rows: count.describe('Of these files, so no more than this; there may be none.'),
        first_arrival: instant,
        last_arrival: instant,
      })
      .nullable()
      .describe(
        'What arrived after the range and may have rows with timestamps in it, which the intervals of their arrival ' +
          'export: the files that reach into the range, where one event with a wrong time suffices. Null: there are none.',
      ),
    warnings: z
      .array(z.string())
      .describe('What would make its runs fail: other exports of the project that write files of the same names.'),
  })
  .meta({ id: 'BackfillEstimate' });

/** What one batch of a backfill has come to; stored as JSON in the backfill's field `batch_<n>`. */
export interface BatchProgress {
  /** Runs that are completed. */
  readonly finished: number;
  readonly failed: number;
  /** Absent: none; or it is of before they were counted apart, and they are among the failed. */
  readonly cancelled?: number;
  readonly records: number;
}

/** The fields of a backfill that hold the progress of its batches; `batch_export` is none of them. */
const BATCH_FIELD = /^batch_\d+$/;

/** Returns what a backfill has come to so far: the sum of its batches. */
export function progressSum(item: BackfillItem): Required<BatchProgress> {
  const sum = { finished: 0, failed: 0, cancelled: 0, records: 0 };
  for (const [name, text] of Object.entries(item)) {
    if (!BATCH_FIELD.test(name)) continue;
    const batch: BatchProgress = JSON.parse(String(text));
    sum.finished += batch.finished;
    sum.failed += batch.failed;
    sum.cancelled += batch.cancelled ?? 0;
    sum.records += batch.records;
  }
  return sum;
}

/** Returns the public object of a backfill as it is `now`. `runs`: of its batches under way, perhaps with others'. */
export function backfillObject(
  item: BackfillItem,
  now: number,
  runs: readonly RunItem[] = [],
): z.output<typeof BatchExportBackfill> {
  const batches = progressSum(item);
  const ended = runs.filter(({ backfill, finished_at }) => backfill === item.id && finished_at !== null);
  const records = ended.reduce((sum, run) => sum + (run.records_completed ?? 0), batches.records);
  const cancelled = ended.filter(({ status }) => status === 'Cancelled').length;
  const progress = progressOf(item, batches.finished + batches.failed + ended.length - cancelled);
  return {
    id: item.id,
    batch_export: item.batch_export,
    team: item.team_id,
    start_at: wireInstant(item.start_at),
    end_at: wireInstant(item.end_at),
    adjusted_start_at: wireInstant(item.adjusted_start_at),
    adjusted_end_at: wireInstant(item.adjusted_end_at),
    status: item.status,
    created_at: wireInstant(item.created_at),
    finished_at: wireInstantOrNull(item.finished_at),
    last_updated_at: wireInstant(item.last_updated_at),
    total_records_count: records,
    progress,
    estimated_end_at: wireInstantOrNull(
      item.status === 'Completed' ? null : estimatedEnd(item.created_at, now, progress, batches.cancelled + cancelled),
    ),
  };
}

/**
 * Returns when the rest is done if it takes as long as what is done, run by run; at most the last instant there is. Of the
 * rest so many are `cancelled`.
 */
function estimatedEnd(
  begun: number,
  now: number,
  progress: z.output<typeof BackfillProgress> | null,
  cancelled: number,
): number | null {
  if (progress === null || progress.finished_runs === 0) return null;
  const { total_runs, finished_runs } = progress;
  return Math.min(
    LAST_INSTANT,
    Math.round(now + ((now - begun) * (total_runs - finished_runs - cancelled)) / finished_runs),
  );
}

/** Returns null where PostHog does: for a backfill that failed or was cancelled, or whose runs are not counted yet. */
function progressOf(item: BackfillItem, finished: number): z.output<typeof BackfillProgress> | null {
  const total = item.total_runs;
  if (total === null) return null;
  if (item.status === 'Completed') return { total_runs: total, finished_runs: total, progress: 1 };
  if (item.status !== 'Starting' && item.status !== 'Running') return null;
  const share = total === 0 ? 0 : Math.min(1, finished / total);
  return { total_runs: total, finished_runs: Math.min(finished, total), progress: Math.round(share * 10) / 10 };
}
