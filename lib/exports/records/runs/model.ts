import * as z from 'zod';
import { wireInstant, wireInstantOrNull } from '../../../http/instant.ts';
import type { JsonText } from '../../../ports/table/json-text.ts';
import type { Item } from '../../../ports/table/table.ts';

declare module '../../../ports/table/keys.ts' {
  interface Items {
    run: RunItem;
  }
}

// biome-ignore format: a list of words
export const RUN_STATUSES = [
  'Starting', 'Running', 'Completed', 'Failed', 'FailedRetryable', 'Cancelled', 'Terminated', 'TimedOut',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** A run as stored. */
export interface RunItem extends Item {
  readonly id: string;
  readonly batch_export: string;
  readonly status: RunStatus;
  /** Set before the destination's commit; from then on the run is finished, not cancelled. */
  readonly phase: 'committing' | null;
  /** What is prepared, while the run is committing. Absent: there is nothing, or it is in a file of the run. */
  readonly receipt?: JsonText<Readonly<Record<string, unknown>>>;
  readonly attempt: string;
  /** The execution that runs it. */
  readonly execution: string;
  /** On whose behalf: `schedule`, a backfill's id, or the id of the run that is run again. */
  readonly by: string;
  readonly backfill: string | null;
  readonly data_interval_start: number;
  readonly data_interval_end: number;
  readonly records_total_count: number | null;
  readonly records_completed: number | null;
  readonly bytes_exported: number | null;
  readonly latest_error: string | null;
  /** When the interval's first run was made that this one repeats; else its own `created_at`. */
  readonly first_tried_at: number;
  readonly created_at: number;
  readonly finished_at: number | null;
  readonly last_updated_at: number;
}

const instant = z.iso.datetime();

/** A run inside an export's `latest_runs`. */
export const BatchExportRun = z
  .object({
    id: z.uuid(),
    status: z.enum(RUN_STATUSES),
    records_completed: z.int().nullable(),
    latest_error: z.string().nullable(),
    data_interval_start: instant,
    data_interval_end: instant,
    cursor: z.string().nullable(),
    created_at: instant,
    finished_at: instant.nullable(),
    last_updated_at: instant,
    records_total_count: z.int().nullable(),
    batch_export: z.uuid(),
  })
  .meta({ id: 'BatchExportRun' });

/** A run by itself: also which backfill made it, and the bytes that the destination took, after compression. */
export const BatchExportRunDetail = BatchExportRun.extend({
  backfill: z.uuid().nullable(),
  bytes_exported: z.int().nullable(),
}).meta({ id: 'BatchExportRunDetail' });

/** Returns the public object of a stored run, as `latest_runs` holds it. */
export function runObject(run: RunItem): z.output<typeof BatchExportRun> {
  return {
    id: run.id,
    status: run.status,
    records_completed: run.records_completed,
    latest_error: run.latest_error,
    data_interval_start: wireInstant(run.data_interval_start),
    data_interval_end: wireInstant(run.data_interval_end),
    cursor: null,
    created_at: wireInstant(run.created_at),
    finished_at: wireInstantOrNull(run.finished_at),
    last_updated_at: wireInstant(run.last_updated_at),
    records_total_count: run.records_total_count,
    batch_export: run.batch_export,
  };
}

/** Returns the public object of a stored run, by itself. */
export function runDetailObject(run: RunItem): z.output<typeof BatchExportRunDetail> {
  return { ...runObject(run), backfill: run.backfill, bytes_exported: run.bytes_exported };
}
