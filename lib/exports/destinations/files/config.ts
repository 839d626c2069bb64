import * as z from 'zod';
import type { Model } from '../../../lake/schema.ts';
import type { Column, ColumnType } from '../../../warehouse/columns.ts';
import { listed, refuseConfig } from '../refusal.ts';

/** Keys that every destination of files takes. */
export const FILE_KEYS = {
  file_format: z.string().default('JSONLines'),
  compression: z.string().nullable().default(null),
  /** About so many megabytes (1,048,576 bytes) a file; null or 0: one file. */
  max_file_size_mb: z.int().nullable().default(null),
};

export type FileConfig = z.infer<z.ZodObject<typeof FILE_KEYS>> & {
  readonly prefix: string;
  /** Names of Parquet files tell their compression. */
  readonly legacy_parquet_extension?: boolean;
};

const namedAsFields = (types: Readonly<Record<string, ColumnType>>): readonly Column[] =>
  Object.entries(types).map(([name, type]) => ({ name, type, field: name }));

/** The columns of a file unless the export says otherwise, in this order. */
export const FILE_COLUMNS: Readonly<Record<Model, readonly Column[]>> = {
  events: namedAsFields({
    uuid: 'text',
    event: 'text',
    properties: 'json',
    distinct_id: 'text',
    timestamp: 'instant',
    created_at: 'instant',
    _inserted_at: 'instant',
    elements_chain: 'text',
    person_id: 'text',
    person_properties: 'json',
  }),
  persons: namedAsFields({
    team_id: 'integer',
    distinct_id: 'text',
    person_id: 'text',
    properties: 'json',
    person_distinct_id_version: 'integer',
    person_version: 'integer',
    created_at: 'instant',
    _inserted_at: 'instant',
    is_deleted: 'boolean',
  }),
};

/** PostHog's file formats, each with its compressions. */
const COMPRESSIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['Parquet', ['zstd', 'lz4', 'snappy', 'gzip', 'brotli']],
  ['JSONLines', ['gzip', 'brotli']],
]);

/** Throws a `Failure` for what is no file config, in PostHog's words where it has some. */
export function checkFileConfig({ file_format, compression, max_file_size_mb, prefix }: FileConfig): void {
  const compressions = COMPRESSIONS.get(file_format);
  if (compressions === undefined) {
    refuseConfig(
      `File format ${file_format} is not supported. Supported file formats are ${listed([...COMPRESSIONS.keys()])}`,
    );
  }
  if (compression && !compressions.includes(compression)) {
    refuseConfig(
      `Compression ${compression} is not supported for file format ${file_format}. ` +
        `Supported compressions are ${listed(compressions)}`,
    );
  }
  if (max_file_size_mb !== null && max_file_size_mb < 0) {
    refuseConfig('max_file_size_mb must be a number of megabytes; null or 0: one file for each interval.');
  }
  if (!prefix.isWellFormed() || prefix.includes('\0')) refuseConfig('prefix is not valid Unicode text without NUL.');
}
