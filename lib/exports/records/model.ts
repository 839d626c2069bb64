import * as z from 'zod';
import { boolean, choice, datetime, freeObject, text } from '../../http/fields.ts';
import { wireInstant, wireInstantOrNull } from '../../http/instant.ts';
import { FREQUENCIES, type Frequency } from '../../lake/intervals.ts';
import { MODELS, type Model } from '../../lake/schema.ts';
import { fromJsonText, type JsonText } from '../../ports/table/json-text.ts';
import type { Item } from '../../ports/table/table.ts';
import type { Belonging } from '../../ports/vault/vault.ts';
import { BatchExportRun } from './runs/model.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    batchExport: BatchExportItem;
  }
}

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
  /** The newest ten public run objects, newest first; one that is open still is as it began (see `shownExports`). */
  readonly latest_runs: JsonText<z.output<typeof BatchExportRun>[]>;
  readonly failures_in_a_row: number;
  /** What was in the way at the destination the last time; null or absent: nothing was. */
  readonly trouble?: JsonText<Trouble> | null;
  /** Set: gone for every reader; the item stays until purge. */
  readonly deleted_at: number | null;
  /** Counts changes of the writable fields (ETag). */
  readonly ver: number;
}

/** Returns whose what an export has sealed is. */
export const belongingOf = ({ organization_id, id }: Pick<BatchExportItem, 'organization_id' | 'id'>): Belonging => ({
  organization: organization_id,
  batchExport: id,
});

/** Failures of an export's destination. */
export interface Trouble {
  /** Of the last one. */
  readonly reason: string;
  /** How many there were in a row, all alike. */
  readonly failures: number;
  /** From the second on, the export waits until then: milliseconds since 1970. */
  readonly until: number;
}

const instant = z.iso.datetime();

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
    filters: z.array(PropertyFilter).nullable(),
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
    start_at: datetime()
      .nullable()
      .optional()
      .describe('The schedule triggers no runs before this time; backfills run.'),
    end_at: datetime().nullable().optional().describe('The schedule triggers no runs after this time; backfills run.'),
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
    filters: item.filters ? (fromJsonText(item.filters) as z.input<typeof PropertyFilter>[]) : null,
  };
}
