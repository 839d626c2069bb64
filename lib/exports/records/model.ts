import * as z from 'zod';
import { boolean, choice, datetime, freeObject, LAST_INSTANT, text } from '../../http/fields.ts';
import { wireInstant, wireInstantOrNull } from '../../http/instant.ts';
import { FREQUENCIES, type Frequency } from '../../lake/intervals.ts';
import { MODELS, type Model } from '../../lake/schema.ts';
import { fromJsonText, type JsonText } from '../../ports/table/json-text.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    batchExport: BatchExportItem;
    run: RunItem;
    backfill: BackfillItem;
  }
}

// biome-ignore format: a list of words
export const RUN_STATUSES = [
  'Starting', 'Running', 'Completed', 'Failed', 'FailedRetryable', 'Cancelled', 'Terminated', 'TimedOut',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** An organization has at most so many exports, of all its projects: 50 MB of texts, which whoever lists them holds. */
export const MAX_EXPORTS = 500;

/** An export as stored. Instants are milliseconds since 1970; the public object is made by `batchExportObject`. */
export interface BatchExportItem extends Item {
  readonly id: string;
  readonly organization_id: string;
  readonly team_id: number;
  readonly name: string;
  readonly model: Model;
  readonly destination_type: string;
  /** The config without its secrets. */
  readonly destination_config: JsonText<Readonly<Record<string, unknown>>>;
  /** JSON of the secrets, sealed by the vault; null when the type has none. */
  readonly destination_secrets: string | null;
  readonly interval: Frequency;
  readonly paused: boolean;
  readonly last_paused_at: number | null;
  readonly start_at: number | null;
  readonly end_at: number | null;
  readonly created_at: number;
  readonly last_updated_at: number;
  readonly hogql_query: string | null;
  /** A list that is not empty; null or absent: none. */
  readonly filters?: JsonText<unknown[]> | null;
  /** Where failures are told, sealed by the vault, for whoever knows such an address may post there; null or absent: nowhere. */
  readonly notify_url?: string | null;
  /** The host in that address. */
  readonly notify_host?: string | null;
  /** What its messages are signed with, sealed by the vault. */
  readonly notify_secret?: string | null;
  /** What the query comes to, for clients; null: there is no query. */
  readonly schema: JsonText<z.output<typeof Schema>> | null;
  /** The newest ten public run objects, newest first. */
  readonly latest_runs: JsonText<z.output<typeof BatchExportRun>[]>;
  readonly failures_in_a_row: number;
  /** What was in the way at the destination the last time; null or absent: nothing was. */
  readonly trouble?: JsonText<Trouble> | null;
  /** Set: gone for every reader; the item stays until purge. */
  readonly deleted_at: number | null;
  /** Counts changes of the writable fields (ETag). */
  readonly ver: number;
}

/** Failures of an export's destination. */
export interface Trouble {
  /** Of the last one. */
  readonly reason: string;
  /** How many there were in a row, all alike. */
  readonly failures: number;
  /** From the second on, the export waits until then: milliseconds since 1970. */
  readonly until: number;
}

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
  // Progress is put by batch as `batch_<n>`: JSON of { finished, failed, records }, never added to.
}

const instant = z.iso.datetime();

/** A run inside an export's `latest_runs`. */
const BatchExportRun = z
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

/** What a query comes to, as PostHog shows it. */
const Schema = z.object({
  fields: z.array(z.object({ expression: z.string(), alias: z.string() })),
  values: z.record(z.string(), z.string()).describe('The constants of the expressions, by their names.'),
  hogql_query: z.string().describe('The query in normal form.'),
});

/** A filter of a property as the document of the API tells it; `checkedFilter` reads what was sent. */
const PropertyFilter = z
  .looseObject({
    key: z.string().describe('The name of a property; of type hogql, an expression.'),
    type: z.enum(['event', 'person', 'hogql']),
    operator: z.string().optional().describe('Default: exact.'),
    value: z.unknown().optional(),
  })
  .meta({ id: 'PropertyFilter' });

export const BatchExport = z
  .object({
    id: z.uuid(),
    team_id: z.int(),
    name: z.string(),
    model: z.enum(MODELS),
    destination: z.object({ type: z.string(), config: z.record(z.string(), z.unknown()) }).meta({ id: 'Destination' }),
    interval: z.enum(FREQUENCIES),
    paused: z.boolean(),
    created_at: instant,
    last_updated_at: instant,
    last_paused_at: instant.nullable(),
    start_at: instant.nullable(),
    end_at: instant.nullable(),
    latest_runs: z.array(BatchExportRun),
    notify_host: z
      .string()
      .nullable()
      .describe('Where `notify_url` leads; null: nowhere. The address itself is never returned.'),
    hogql_query: z.string().nullable(),
    schema: Schema.nullable(),
    filters: z.array(PropertyFilter),
  })
  .meta({ id: 'BatchExport' });

/** Where to and how; the document of the API describes the keys of each type in its place. */
const DestinationInput = z.object({
  type: text({ blank: true, trim: false }).describe('Where to. It cannot be changed later.'),
  config: freeObject().describe(
    'How to get there: the keys depend on the type. A PATCH lays what it sends over what is stored, so that keys ' +
      'and secrets that it omits stay. Secrets are never returned. Every type takes include_events and ' +
      'exclude_events, lists of event names, for the model events.',
  ),
});

/** What a caller writes to make an export, or to change one (then every field may be missing). */
export const BatchExportInput = z
  .object({
    name: text().describe('For people; need not be unique.'),
    model: choice(MODELS).nullable().optional().describe('What is exported. Default: events.'),
    destination: DestinationInput.meta({ id: 'DestinationInput' }),
    interval: choice(FREQUENCIES).describe('How much time one run exports.'),
    paused: boolean().optional().describe('A paused export starts no runs by itself; backfills run. Default: false.'),
    last_paused_at: datetime().nullable().optional().describe('Set by the service when `paused` becomes true.'),
    start_at: datetime().nullable().optional().describe('No runs are triggered before this time.'),
    end_at: datetime().nullable().optional().describe('No runs are triggered after this time.'),
    hogql_query: text()
      .nullable()
      .optional()
      .describe(
        'Which columns are exported, and of which events: `SELECT expressions FROM events [WHERE condition]`, without ' +
          'aggregates and joins. Null: the default columns of the destination. Only for events.',
      ),
    notify_url: text({ max: 2_000 })
      .nullable()
      .optional()
      .describe(
        'A webhook that is told when a run or a backfill fails for good, and when the export is paused because of it. ' +
          'It is never returned; `notify_host` tells where it leads.',
      ),
    notify_secret: text()
      .nullable()
      .optional()
      .describe('Signs what the webhook is told (Standard Webhooks): `whsec_` and base64. It is never returned.'),
    filters: z
      .unknown()
      .optional()
      .describe(
        'Property filters that an event must all pass: a list of `{key, operator, value, type}`, where type is event, ' +
          'person or hogql (then the key is an expression). Null or an empty list: none. Only for events.',
      )
      .meta({ anyOf: [{ type: 'array', items: { $ref: '#/components/schemas/PropertyFilter' } }, { type: 'null' }] }),
    team_id: z
      .unknown()
      .optional()
      .describe(
        "On the organization's address, when an export is made: the project that it belongs to; default: the oldest.",
      ),
  })
  .meta({ id: 'BatchExportInput' });
export type BatchExportInput = z.output<typeof BatchExportInput>;

export const BatchExportPatch = BatchExportInput.partial()
  .extend({ destination: DestinationInput.meta({ id: 'DestinationPatch' }).optional() })
  .meta({ id: 'BatchExportPatch' });
export type BatchExportPatch = z.output<typeof BatchExportPatch>;

/** How far a backfill is. `progress` is between 0 and 1, to one decimal. */
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
      .object({ rows: count.describe('At most.'), first_arrival: instant, last_arrival: instant })
      .nullable()
      .describe('Rows with timestamps in the range that arrived after it: the intervals of their arrival export them.'),
    warnings: z
      .array(z.string())
      .describe('What would make its runs fail: other exports of the project that write files of the same names.'),
  })
  .meta({ id: 'BackfillEstimate' });

export const TEST_STATUSES = ['Passed', 'Failed', 'Skipped'] as const;

/** One step of the test of a destination, and what it found; null: it was not run. */
export const DestinationTestStep = z
  .object({
    name: z.string(),
    description: z.string(),
    result: z.object({ status: z.enum(TEST_STATUSES), message: z.string().nullable() }).nullable(),
  })
  .meta({ id: 'DestinationTestStep' });

export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;

export const BatchExportLogEntry = z
  .object({
    log_source_id: z.uuid(),
    instance_id: z.string(),
    timestamp: instant,
    level: z.enum(LOG_LEVELS),
    message: z.string(),
  })
  .meta({ id: 'BatchExportLogEntry' });

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

/** Returns the public object of a stored export. Its secrets are no part of `destination_config`. */
export function batchExportObject(item: BatchExportItem): z.output<typeof BatchExport> {
  return {
    id: item.id,
    team_id: item.team_id,
    name: item.name,
    model: item.model,
    destination: { type: item.destination_type, config: fromJsonText(item.destination_config) },
    interval: item.interval,
    paused: item.paused,
    created_at: wireInstant(item.created_at),
    last_updated_at: wireInstant(item.last_updated_at),
    last_paused_at: wireInstantOrNull(item.last_paused_at),
    start_at: wireInstantOrNull(item.start_at),
    end_at: wireInstantOrNull(item.end_at),
    latest_runs: fromJsonText(item.latest_runs),
    notify_host: item.notify_host ?? null,
    hogql_query: item.hogql_query,
    schema: item.schema === null ? null : fromJsonText(item.schema),
    filters: item.filters ? (fromJsonText(item.filters) as z.input<typeof PropertyFilter>[]) : [],
  };
}

/** What one batch of a backfill has come to; stored as JSON in the backfill's field `batch_<n>`. */
export interface BatchProgress {
  readonly finished: number;
  readonly failed: number;
  readonly records: number;
}

/** The fields of a backfill that hold the progress of its batches; `batch_export` is none of them. */
const BATCH_FIELD = /^batch_\d+$/;

/** Returns what a backfill has come to so far: the sum of its batches. */
export function progressSum(item: BackfillItem): BatchProgress {
  const sum = { finished: 0, failed: 0, records: 0 };
  for (const [name, text] of Object.entries(item)) {
    if (!BATCH_FIELD.test(name)) continue;
    const batch: BatchProgress = JSON.parse(String(text));
    sum.finished += batch.finished;
    sum.failed += batch.failed;
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
  const progress = progressOf(item, batches.finished + batches.failed + ended.length);
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
      item.status === 'Completed' ? null : estimatedEnd(item.created_at, now, progress),
    ),
  };
}

/** Returns when the rest is done if it takes as long as what is done, run by run; at most the last instant there is. */
function estimatedEnd(begun: number, now: number, progress: z.output<typeof BackfillProgress> | null): number | null {
  if (progress === null || progress.finished_runs === 0) return null;
  const { total_runs, finished_runs } = progress;
  return Math.min(LAST_INSTANT, Math.round(now + ((now - begun) * (total_runs - finished_runs)) / finished_runs));
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

/** Returns the public object of a log line (`at` in milliseconds since 1970) about a run, a backfill or the export. */
export function logEntryObject(
  exportId: string,
  line: { at: number; level: (typeof LOG_LEVELS)[number]; message: string; instance: string },
): z.output<typeof BatchExportLogEntry> {
  return {
    log_source_id: exportId,
    instance_id: line.instance,
    timestamp: wireInstant(line.at),
    level: line.level,
    message: line.message,
  };
}
