import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import * as z from 'zod';
import { invalid } from '../../errors.ts';
import type { Column } from '../../warehouse/columns.ts';
import type { Slot } from '../intervals.ts';
import type { Model } from '../model.ts';
import type { Delivery } from './destination.ts';

/** Keys that every destination of files takes. */
export const FILE_KEYS = {
  file_format: z.string().default('JSONLines'),
  compression: z.string().nullable().default(null),
  /** About so many megabytes a file; null or 0: one file. */
  max_file_size_mb: z.int().nullable().default(null),
};

type FileConfig = z.infer<z.ZodObject<typeof FILE_KEYS>> & { readonly prefix: string };

/** What a file has unless the export says otherwise, in this order. */
export const FILE_COLUMNS: Readonly<Record<Model, readonly Column[]>> = {
  events: [
    { name: 'uuid', type: 'text', field: 'uuid' },
    { name: 'event', type: 'text', field: 'event' },
    { name: 'properties', type: 'json', field: 'properties' },
    { name: 'distinct_id', type: 'text', field: 'distinct_id' },
    { name: 'timestamp', type: 'instant', field: 'timestamp' },
    { name: 'created_at', type: 'instant', field: 'created_at' },
    { name: '_inserted_at', type: 'instant', field: '_inserted_at' },
    { name: 'elements_chain', type: 'text', field: 'elements_chain' },
    { name: 'person_id', type: 'text', field: 'person_id' },
    { name: 'person_properties', type: 'json', field: 'person_properties' },
  ],
  persons: [
    { name: 'team_id', type: 'integer', field: 'team_id' },
    { name: 'distinct_id', type: 'text', field: 'distinct_id' },
    { name: 'person_id', type: 'text', field: 'person_id' },
    { name: 'properties', type: 'json', field: 'properties' },
    { name: 'person_distinct_id_version', type: 'integer', field: 'person_distinct_id_version' },
    { name: 'person_version', type: 'integer', field: 'person_version' },
    { name: 'created_at', type: 'instant', field: 'created_at' },
    { name: '_inserted_at', type: 'instant', field: '_inserted_at' },
    { name: 'is_deleted', type: 'boolean', field: 'is_deleted' },
  ],
};

/** Upstream's file formats, each with its compressions. */
const COMPRESSIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['Parquet', ['zstd', 'lz4', 'snappy', 'gzip', 'brotli']],
  ['JSONLines', ['gzip', 'brotli']],
]);

/** Refuses with 400 what is no file config, in upstream's words, and then what is not built. */
export function checkFileConfig({ file_format, compression, max_file_size_mb, prefix }: FileConfig): void {
  const compressions = COMPRESSIONS.get(file_format);
  if (compressions === undefined) {
    refuse(
      `File format ${file_format} is not supported. Supported file formats are ${listed([...COMPRESSIONS.keys()])}`,
    );
  }
  if (compression && !compressions.includes(compression)) {
    refuse(
      `Compression ${compression} is not supported for file format ${file_format}. ` +
        `Supported compressions are ${listed(compressions)}`,
    );
  }
  if (file_format !== 'JSONLines') refuse(`File format ${file_format} is not available yet. Use JSONLines.`);
  if (compression && compression !== 'gzip') {
    refuse(`Compression ${compression} is not available yet. Use gzip, or null for none.`);
  }
  if (max_file_size_mb) refuse('max_file_size_mb is not available yet. Use null: one file for each interval.');
  if (!prefix.isWellFormed() || prefix.includes('\0')) refuse('prefix is not valid Unicode text without NUL.');
}

/** A list as upstream's texts show it. */
export const listed = (words: readonly string[]): string => `[${words.map((word) => `'${word}'`).join(', ')}]`;

function refuse(detail: string): never {
  invalid('destination', detail);
}

/** An instant as upstream's file names have it: `2023-07-28T00:00:00+00:00`. */
const instant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}+00:00`;

/**
 * The name of a slot's object below the destination's root: `<prefix>/<start>-<end>.jsonl[.gz]`. In the prefix
 * `{year}` to `{second}` are those of the slot's end, and `{data_interval_start}`, `{data_interval_end}` and `{table}`
 * are known; any other word in braces stays as it is. Never begins with a slash nor has two in a row.
 */
export function objectName(config: FileConfig, { slot, model }: { slot: Slot; model: Model }): string {
  const end = instant(slot.end);
  const words = new Map([
    ['year', end.slice(0, 4)],
    ['month', end.slice(5, 7)],
    ['day', end.slice(8, 10)],
    ['hour', end.slice(11, 13)],
    ['minute', end.slice(14, 16)],
    ['second', end.slice(17, 19)],
    ['data_interval_start', instant(slot.start)],
    ['data_interval_end', end],
    ['table', model],
  ]);
  const prefix = config.prefix.replace(/\{(\w+)\}/g, (text, word: string) => words.get(word) ?? text);
  const folders = prefix.split('/').filter((folder) => folder !== '');
  return [...folders, `${instant(slot.start)}-${end}.jsonl${config.compression ? '.gz' : ''}`].join('/');
}

/** Any slot: names of all slots are of one length. */
export const SAMPLE_SLOT = { slot: { start: 0, end: 3_600_000 }, model: 'persons' } as const;

/** The bytes of a slot's object. The same rows give the same bytes. */
export function objectBytes(
  config: FileConfig,
  { model, columns, rows }: Pick<Delivery, 'model' | 'columns' | 'rows'>,
): AsyncIterable<Buffer> {
  const lines = rows({ format: 'JSONLines', columns: columns(FILE_COLUMNS[model]) });
  return config.compression ? gzipped(lines) : lines;
}

/** Measured on lines of events: level 1 takes 100 MB/s, the default 6 takes 65 MB/s and gives an eighth fewer bytes. */
const GZIP = { level: 1, chunkSize: 64 * 1024 };

async function* gzipped(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const gzip = createGzip(GZIP);
  const fed = pipeline(source, gzip);
  try {
    for await (const chunk of gzip) yield chunk as Buffer;
  } finally {
    // A failure of the source ends the loop with its error; a reader who stops early stops the source.
    gzip.destroy();
    await fed.catch(() => {});
  }
}
