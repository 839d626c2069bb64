import type { ProjectBrief } from '../../accounts/organizations/model.ts';
import { bytesText } from '../../basics/text.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import { datetime, integer } from '../../http/fields.ts';
import { wireInstant } from '../../http/instant.ts';
import { invalid } from '../../ports/errors.ts';
import type { Destination } from '../destinations/destination.ts';
import type { BatchExportInput, BatchExportItem, BatchExportPatch } from '../records/model.ts';
import type { RunStatus } from '../records/runs/model.ts';

/** The bytes of an export's texts that follow from what a caller writes: name, config, sealed secrets, query ... */
export const MAX_EXPORT_BYTES = 100 * 1024;

/** Returns the project of an export: the one asked for, which must be the organization's, else the oldest. */
export function projectFor(projects: readonly ProjectBrief[], asked: unknown): ProjectBrief {
  if (asked === undefined || asked === null) {
    return projects[0] ?? invalid('team_id', 'The organization has no project that the batch export could belong to.');
  }
  const read = integer().safeParse(asked);
  if (!read.success) invalid('team_id', 'A valid integer is required.');
  const id = read.data;
  return (
    projects.find((project) => project.id === id) ??
    invalid('team_id', `Invalid pk "${id}" - object does not exist.`, 'does_not_exist')
  );
}

/** Throws a `Failure` for a query or filters of persons, and for a query where the columns may not be chosen. */
export function checkSelection(
  { model, hogql_query, filters }: Pick<BatchExportItem, 'model' | 'hogql_query' | 'filters'>,
  destination: Destination | undefined,
): void {
  if (model === 'events') {
    if (hogql_query && destination?.hasFixedColumns === true) {
      const others = "Choose events by 'filters', 'include_events' or 'exclude_events'.";
      invalid('hogql_query', `'hogql_query' is not supported for ${destination.type} batch exports. ${others}`);
    }
    return;
  }
  for (const [name, value] of Object.entries({ hogql_query, filters })) {
    if (value) invalid(name, `'${name}' is only supported for 'events' not '${model}' model`);
  }
}

/** The fields of an export that the schedule depends on. */
export const SCHEDULE_FIELDS = ['interval', 'paused', 'start_at', 'end_at'] as const;

/** The fields that are stored as they are sent. */
const PLAIN_FIELDS = ['name', 'model', 'interval', 'paused', 'last_paused_at', 'start_at', 'end_at'] as const;

type PlainFields = Pick<BatchExportItem, (typeof PLAIN_FIELDS)[number]>;

/** Returns the plain fields of a new export. */
export function newFields(input: BatchExportInput, now: number): PlainFields {
  const paused = input.paused ?? false;
  return checkedBounds({
    name: input.name,
    model: input.model ?? 'events',
    interval: input.interval,
    paused,
    last_paused_at: input.last_paused_at === undefined ? (paused ? now : null) : input.last_paused_at,
    start_at: input.start_at ?? null,
    end_at: input.end_at ?? null,
  });
}

/**
 * Returns the plain fields that a PATCH sets: those sent, and `last_paused_at` when it pauses and does not say. The
 * time of an earlier pause does not say, nor does null: whoever sends back all that they read tells nothing of this one.
 */
export function changedFields(item: BatchExportItem, patch: BatchExportPatch, now: number): Partial<PlainFields> {
  const sent = PLAIN_FIELDS.filter((name) => patch[name] !== undefined).map((name) => [name, patch[name]]);
  const says = typeof patch.last_paused_at === 'number' && patch.last_paused_at !== item.last_paused_at;
  const changed = {
    ...Object.fromEntries(sent),
    ...(patch.paused === true && !item.paused && !says ? { last_paused_at: now } : {}),
    ...(patch.model === null ? { model: 'events' } : {}),
  } as Partial<PlainFields>;
  checkedBounds({ ...item, ...changed });
  return changed;
}

function checkedBounds<T extends Pick<BatchExportItem, 'start_at' | 'end_at'>>(fields: T): T {
  if (fields.start_at !== null && fields.end_at !== null && fields.end_at < fields.start_at) {
    invalid('end_at', "'end_at' must not be before 'start_at'.");
  }
  return fields;
}

type Sized = Pick<
  BatchExportItem,
  'name' | 'destination_config' | 'destination_secrets' | 'hogql_query' | 'schema' | 'filters'
>;

/** Returns the export. Throws a `Failure` when it is larger than MAX_EXPORT_BYTES. */
export function checkedSize<T extends Sized>(item: T): T {
  const { name, destination_config, destination_secrets, hogql_query, schema, filters } = item;
  const texts = [name, destination_config, destination_secrets, hogql_query, schema, filters];
  if (texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0) > MAX_EXPORT_BYTES) {
    invalid(null, `A batch export may hold at most ${bytesText(MAX_EXPORT_BYTES)}.`);
  }
  return item;
}

/** Returns the range that a backfill was asked for, in milliseconds since 1970. Checks come in PostHog's order. */
export function requestedRange({ start_at, end_at }: { start_at?: unknown; end_at?: unknown }, now: number) {
  const start = backfillBound(start_at, 'start');
  const end = backfillBound(end_at, 'end');
  if (start >= end) invalid(null, "The initial backfill datetime 'start_at' happens after 'end_at'");
  if (end > now) {
    invalid(null, `The provided 'end_at' (${wireInstant(end).replace('Z', '+00:00')}) is in the future`);
  }
  return { start_at: start, end_at: end };
}

/** An offset at the end of a time; a date's last two digits are none. */
const OFFSET = /[T ].*(Z|[+-]\d\d(:?\d\d)?)$/i;

function backfillBound(sent: unknown, which: 'start' | 'end'): number {
  if (sent === undefined || sent === null) {
    invalid(null, `Backfilling a BatchExport with no ${which} date is not allowed`);
  }
  const text = typeof sent === 'string' ? sent.trim() : JSON.stringify(sent);
  const read = datetime().safeParse(sent);
  if (!read.success) invalid(null, `Input ${text} is not a valid ISO formatted datetime.`);
  if (!OFFSET.test(text)) {
    const time = /[T ]/.test(text) ? text : `${text}T00:00:00`;
    invalid(null, `Input ${text} is naive. Add its offset from UTC, such as ${time}Z or ${time}+02:00.`);
  }
  return read.data;
}

/** What a list of runs is to hold. Times are milliseconds since 1970, inclusive. */
export interface RunQuery {
  readonly by: 'created_at' | 'data_interval_start';
  readonly newestFirst: boolean;
  readonly from: number;
  readonly to: number;
  /** Undefined: any. */
  readonly statuses: ReadonlySet<RunStatus> | undefined;
}

/** Returns which runs are asked for: by creation `after` to `before`, by interval `start` to `end`; else of 7 days. */
export function runsAsked(
  query: {
    readonly ordering?: `${'' | '-'}${RunQuery['by']}` | undefined;
    readonly status?: readonly RunStatus[] | undefined;
  } & { readonly [name in 'after' | 'before' | 'start' | 'end']?: string | undefined },
  now: number,
): RunQuery {
  const ordering = query.ordering ?? '-created_at';
  const isByCreation = ordering.endsWith('created_at');
  const [from, to] = isByCreation ? (['after', 'before'] as const) : (['start', 'end'] as const);
  const time = (name: 'after' | 'before' | 'start' | 'end', otherwise: string): number =>
    readTime(query[name] ?? otherwise, now) ??
    invalid(name, 'Enter a time in ISO 8601, or one relative to now such as -24h or -7d.');
  return {
    by: isByCreation ? 'created_at' : 'data_interval_start',
    newestFirst: ordering.startsWith('-'),
    from: time(from, '-7d'),
    to: time(to, '-0d'),
    statuses: query.status === undefined ? undefined : new Set(query.status),
  };
}

/** Returns the order in which a list of backfills is asked for. */
export function backfillsAsked({ ordering = '-created_at' }: { readonly ordering?: string | undefined }): {
  readonly by: 'created_at' | 'start_at';
  readonly newestFirst: boolean;
} {
  return { by: ordering.endsWith('start_at') ? 'start_at' : 'created_at', newestFirst: ordering.startsWith('-') };
}

/** The lengths of the units of relative times. Months and years are the calendar's. */
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['s', SECOND_MS],
  ['M', MINUTE_MS],
  ['h', HOUR_MS],
  ['d', DAY_MS],
  ['w', 7 * DAY_MS],
]);

const MONTHS: ReadonlyMap<string, number> = new Map([
  ['m', 1],
  ['q', 3],
  ['y', 12],
]);

/**
 * Returns a time in a query: ISO 8601 (UTC where it has no offset), or relative to now: `-7d`, `-24h`; units s, M
 * (minutes), h, d, w, m (months), q, y; never before 1970. Undefined when it is none.
 */
export function readTime(text: string, now: number): number | undefined {
  const [, digits = '', unit = ''] = /^-(\d{1,5})([sMhdwmqy])$/.exec(text) ?? [];
  if (digits === '') return datetime().safeParse(text).data;
  const length = UNIT_MS.get(unit);
  const then =
    length === undefined ? monthsBefore(now, Number(digits) * (MONTHS.get(unit) ?? 0)) : now - Number(digits) * length;
  return Math.max(then, 0);
}

/** Returns the same time of day some months before; the month's last day where it has no such day. */
function monthsBefore(now: number, months: number): number {
  const then = new Date(now);
  then.setUTCDate(1);
  then.setUTCMonth(then.getUTCMonth() - months);
  const lastDay = new Date(Date.UTC(then.getUTCFullYear(), then.getUTCMonth() + 1, 0)).getUTCDate();
  then.setUTCDate(Math.min(new Date(now).getUTCDate(), lastDay));
  return then.getTime();
}
