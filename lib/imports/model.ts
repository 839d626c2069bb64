import * as z from 'zod';
import type { UserLookup } from '../accounts/users/lookup.ts';
import { User } from '../accounts/users/model.ts';
import { MIB } from '../basics/units.ts';
import { choice, freeObject, integer, text } from '../http/fields.ts';
import { wireInstant, wireInstantOrNull } from '../http/instant.ts';
import { IMPORT_FORMATS, type ImportFormat, PAGE_VIEWS, type PageViews } from '../lake/sources/formats.ts';
import type { TableMapping } from '../lake/sources/table-rows.ts';
import { fromJsonText, type JsonText } from '../ports/table/json-text.ts';
import type { Item } from '../ports/table/table.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    requestedImport: ImportItem;
  }
}

const IMPORT_STATES = ['uploading', 'queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type ImportState = (typeof IMPORT_STATES)[number];

/** States of imports that still have a way to go. */
export const OPEN_STATES: readonly ImportState[] = ['uploading', 'queued', 'running'];

/** How the file is read, in the words of the command line. */
export interface ReadingOptions {
  readonly format?: ImportFormat;
  readonly mapping: TableMapping;
  readonly pageViews?: PageViews;
  readonly arrived?: 'now' | 'then';
}

/** A backfill that delivers what no schedule will, as stored; instants are milliseconds since 1970. */
interface StoredBackfill {
  readonly export: string;
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

interface StoredRejection {
  readonly line: number;
  readonly reason: string;
}

/** An import as stored. Counts are those of the attempt that runs, or was the last. */
export interface ImportItem extends Item {
  readonly id: string;
  readonly organization_id: string;
  readonly project_id: number;
  /** Of the file, as its owner calls it. */
  readonly name: string;
  readonly bytes: number;
  readonly state: ImportState;
  readonly options: JsonText<ReadingOptions> | null;
  readonly attempts: number;
  /** It has failed because it was interrupted too often. */
  readonly is_interrupted?: boolean;
  readonly bytes_read: number;
  readonly events: number;
  readonly rejected: number;
  /** The first ones. */
  readonly rejections: JsonText<readonly StoredRejection[]>;
  /** Of the copy of all. */
  readonly rejected_bytes: number;
  /** Null until it has ended. */
  readonly added: number | null;
  readonly known: number | null;
  readonly person_rows: number | null;
  readonly arrival_from: number | null;
  readonly arrival_to: number | null;
  readonly backfills: JsonText<readonly StoredBackfill[]>;
  /** The format that was found. */
  readonly format: ImportFormat | null;
  readonly problem: string | null;
  readonly error: string | null;
  readonly created_by: string;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
}

/** The least and the most bytes of a part of a file; the last one may have fewer. */
export const PART_BYTES = { min: MIB, max: 8 * MIB } as const;

/** The body that makes an import. */
export const ImportInput = z.object({
  name: text({ max: 400 }).describe('Of the file.'),
  bytes: integer({ min: 1 }).describe('How many bytes the file has.'),
});

/** How a file is read. */
export const ReadingInput = z.object({
  format: choice(IMPORT_FORMATS).optional().describe('Default: told by how the file begins.'),
  columns: freeObject().optional().describe('Of a table: names of columns by field, or by `properties.<name>`.'),
  values: freeObject().optional().describe('Of a table: what a field is in all rows.'),
  arrived: choice(['now', 'then'])
    .optional()
    .describe('When the events count as arrived. Default: at their own time for history, now otherwise.'),
  page_views: choice(PAGE_VIEWS)
    .optional()
    .describe('Which requests of a log are `$pageview` events. Default: those for pages by people.'),
});

const count = z.int();

export const Import = z
  .object({
    id: z.uuid(),
    name: z.string(),
    bytes: count,
    bytes_uploaded: count.describe(
      'How much of the file is there: the next part begins there. 0: it was removed, or none came.',
    ),
    state: z.enum(IMPORT_STATES),
    format: z.enum(IMPORT_FORMATS).nullable().describe('As it was found, or asked for.'),
    attempts: count.describe('How often it began; counts are those of the last time.'),
    bytes_read: count,
    events: count.describe('Events that were read.'),
    rejected: count.describe('Records that are no events.'),
    rejections: z.array(z.object({ line: count, reason: z.string() })).describe('The first 20 of them.'),
    rejected_bytes: count.describe('Of the copy of all of them.'),
    added: count.nullable().describe('Events that are new in the project.'),
    known: count.nullable().describe('Events that were there already, or twice in the file.'),
    person_rows: count.nullable().describe('States of persons that were added.'),
    arrival: z.object({ start: z.iso.datetime(), end: z.iso.datetime() }).nullable(),
    backfills: z
      .array(z.object({ export: z.uuid(), name: z.string(), start: z.iso.datetime(), end: z.iso.datetime() }))
      .describe('Ranges that a schedule has passed: only a backfill of the export delivers them.'),
    problem: z.string().nullable().describe('What is wrong with the file; what could be read of it was imported.'),
    error: z.string().nullable().describe('Why it failed, was stopped, or waits.'),
    created_by: User.nullable(),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Import' });

/** How much of a file is there. */
export const Upload = z
  .object({ bytes_uploaded: count.describe('The next part begins there.'), bytes: count })
  .meta({ id: 'ImportUpload' });

/** The first records of a file, as an import would take them. */
export const Preview = z
  .object({
    format: z.enum(IMPORT_FORMATS).nullable().describe('Null: it could not be told.'),
    columns: z.array(z.string()).nullable().describe('Of a table.'),
    records: z.array(
      z.object({
        line: count,
        event: z.string().nullable().describe('Null: a state of a person, or nothing that can be imported.'),
        distinct_id: z.string().nullable(),
        timestamp: z.iso.datetime().nullable(),
        properties: z.string().nullable().describe('JSON, its beginning.'),
        reason: z.string().nullable().describe('Why it cannot be imported.'),
      }),
    ),
    problem: z.string().nullable().describe('Why nothing of it can be read.'),
  })
  .meta({ id: 'ImportPreview' });

/** Returns an import as callers see it; `uploaded` bytes of its file are there. */
export function importObject(item: ImportItem, userOf: UserLookup, uploaded: number): z.input<typeof Import> {
  const { id, name, bytes, state, format, attempts, bytes_read, events, rejected, rejected_bytes } = item;
  const { added, known, person_rows, problem, error } = item;
  return {
    id,
    name,
    bytes,
    bytes_uploaded: uploaded,
    state,
    format,
    attempts,
    bytes_read,
    events,
    rejected,
    rejections: [...fromJsonText(item.rejections)],
    rejected_bytes,
    added,
    known,
    person_rows,
    arrival:
      item.arrival_from === null || item.arrival_to === null
        ? null
        : { start: wireInstant(item.arrival_from), end: wireInstant(item.arrival_to) },
    backfills: fromJsonText(item.backfills).map(({ from, to, ...of }) => ({
      ...of,
      start: wireInstant(from),
      end: wireInstant(to),
    })),
    problem,
    error,
    created_by: userOf(item.created_by),
    created_at: wireInstant(item.created_at),
    started_at: wireInstantOrNull(item.started_at),
    finished_at: wireInstantOrNull(item.finished_at),
  };
}
