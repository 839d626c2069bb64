import type { Item } from '../table/table.ts';
import type { Interval } from './intervals.ts';

export const MODELS = ['events', 'persons'] as const;
export type Model = (typeof MODELS)[number];

// biome-ignore format: a list of words
export const RUN_STATUSES = [
  'Starting', 'Running', 'Completed', 'Failed', 'FailedRetryable', 'Cancelled', 'Terminated', 'TimedOut',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** An export as stored. Instants are milliseconds since 1970; the public object is made by `batchExportObject`. */
export interface BatchExportItem extends Item {
  readonly id: string;
  readonly organization_id: string;
  readonly team_id: number;
  readonly name: string;
  readonly model: Model;
  readonly destination_type: string;
  /** JSON of the config without its secrets. */
  readonly destination_config: string;
  /** JSON of the secrets, sealed by the vault; null when the type has none. */
  readonly destination_secrets: string | null;
  readonly interval: Interval;
  readonly paused: boolean;
  readonly last_paused_at: number | null;
  readonly start_at: number | null;
  readonly end_at: number | null;
  readonly created_at: number;
  readonly last_updated_at: number;
  readonly hogql_query: string | null;
  /** JSON, or null. */
  readonly schema: string | null;
  /** JSON of the newest ten public run objects, newest first. */
  readonly latest_runs: string;
  readonly failures_in_a_row: number;
  /** Set: gone for every reader; the item stays until purge. */
  readonly deleted_at: number | null;
  /** Counts changes of the writable fields (ETag). */
  readonly ver: number;
}

/** Who may run which slots of one export; changed only by `acquire` and `settle`, under its version. */
export interface PlanItem extends Item {
  readonly version: number;
  /** The end of the last planned slot of the schedule. */
  readonly next: number;
  /** JSON of `{from, to, interval}[]`: ranges that were run, and the grid they were run on. */
  readonly ran: string;
  /** JSON of `{holder, from, to, since}[]`: who is running what. */
  readonly active: string;
}

/** A run as stored. */
export interface RunItem extends Item {
  readonly id: string;
  readonly batch_export: string;
  readonly status: RunStatus;
  /** Set before the destination's commit; from then on the run is finished, not cancelled. */
  readonly phase: 'committing' | null;
  readonly token: string;
  readonly holder: string;
  readonly backfill: string | null;
  readonly data_interval_start: number;
  readonly data_interval_end: number;
  readonly records_total_count: number | null;
  readonly records_completed: number | null;
  readonly bytes_exported: number | null;
  readonly latest_error: string | null;
  readonly created_at: number;
  readonly finished_at: number | null;
  readonly last_updated_at: number;
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
  readonly interval: Interval;
  readonly total_runs: number | null;
  readonly created_at: number;
  readonly finished_at: number | null;
  readonly last_updated_at: number;
  // Progress is put by chunk as `chunk_<n>`: JSON of { finished, failed, records }, never added to.
}

/** What must happen, and when; written in the transaction of what it follows from. */
export interface JobItem extends Item {
  readonly kind: 'export' | 'backfill' | 'retry' | 'purge';
  readonly id: string;
  readonly due: number;
  readonly attempts: number;
  /** JSON of what the job needs beyond its id, or null. */
  readonly about: string | null;
}
