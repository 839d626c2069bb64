import { once } from 'node:events';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import * as z from 'zod';
import type { ParquetCompression } from '../../duckdb/parquet.ts';
import type { Model } from '../../lake/schema.ts';
import { inQuotes, invalid } from '../../ports/errors.ts';
import type { Column } from '../../warehouse/columns.ts';
import { NEXT_FILE } from '../../warehouse/warehouse.ts';
import { ahead } from './ahead.ts';
import type { Delivery } from './destination.ts';

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

/** Refuses with 400 what is no file config, in upstream's words where it has some. */
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
  if (max_file_size_mb !== null && max_file_size_mb < 0) {
    refuse('max_file_size_mb must be a number of megabytes; null or 0: one file for each interval.');
  }
  if (!prefix.isWellFormed() || prefix.includes('\0')) refuse('prefix is not valid Unicode text without NUL.');
}

/** A list as upstream's texts show it. */
export const listed = (words: readonly string[]): string => `[${inQuotes(words)}]`;

function refuse(detail: string): never {
  invalid('destination', detail);
}

/** One of a slot's files on its way. */
interface SlotFile {
  /** Its number; null: the slot has one file, without a number and a manifest. */
  readonly n: number | null;
  /** To be read to its end before the next file is asked for. */
  readonly bytes: AsyncIterable<Buffer>;
}

type Rows = Pick<Delivery, 'model' | 'columns' | 'rows'>;

/** Larger Parquet files are cut: they are made on the disk, beside what they are made of. */
const PARQUET_BYTES = 4 * 1024 ** 3;

/** The slot's files. The same rows give the same files, byte for byte, however they come. */
export function slotFiles(config: FileConfig, { model, columns, rows }: Rows): AsyncIterable<SlotFile> {
  const fields = columns(FILE_COLUMNS[model]);
  const fileBytes = (config.max_file_size_mb ?? 0) * 1024 ** 2;
  if (config.file_format === 'Parquet') {
    const compression = (config.compression || null) as ParquetCompression;
    const files = rows({ format: 'Parquet', columns: fields, compression, fileBytes: fileBytes || PARQUET_BYTES });
    return apart(files, fileBytes > 0);
  }
  const lines = rows({ format: 'JSONLines', columns: fields });
  return fileBytes > 0 ? cut(lines, config.compression, fileBytes) : whole(lines, config.compression);
}

/** Measured on lines of events: level 1 takes 117 MB/s, the default 6 takes 72 MB/s and gives a tenth fewer bytes. */
const GZIP = { level: 1, chunkSize: 64 * 1024 };

/** Quality 2 takes 146 MB/s and gives as few bytes as gzip's level 6; 4 takes 29 MB/s and gives 8 % fewer. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 2 }, chunkSize: 64 * 1024 };

const packer = (compression: string): Transform =>
  compression === 'gzip' ? createGzip(GZIP) : createBrotliCompress(BROTLI);

async function* whole(lines: AsyncIterable<Buffer>, compression: string | null): AsyncGenerator<SlotFile> {
  yield { n: null, bytes: compression ? packed(lines, packer(compression)) : lines };
}

async function* packed(source: AsyncIterable<Buffer>, packing: Transform): AsyncGenerator<Buffer> {
  const fed = pipeline(source, packing);
  try {
    for await (const chunk of packing) yield chunk as Buffer;
  } finally {
    // A failure of the source ends the loop with its error; a reader who stops early stops the source.
    packing.destroy();
    await fed.catch(() => {});
  }
}

/** The files of a stream in which a mark stands before each, unless there is only one. */
async function* apart(source: AsyncIterable<Buffer>, isNumbered: boolean): AsyncGenerator<SlotFile> {
  const chunks = source[Symbol.asyncIterator]();
  let next = await chunks.next();
  async function* file(): AsyncGenerator<Buffer> {
    for (; !next.done && next.value !== NEXT_FILE; next = await chunks.next()) yield next.value;
  }
  try {
    if (next.done || next.value !== NEXT_FILE) yield { n: isNumbered ? 0 : null, bytes: file() };
    for (let n = 0; !next.done; n += 1) {
      next = await chunks.next();
      yield { n, bytes: file() };
    }
  } finally {
    await chunks.return?.();
  }
}

/** How many bytes of lines are packed before the file's size is looked at. */
const STRIDE = 256 * 1024;

/** Files of about so many bytes, of whole lines. */
async function* cut(
  source: AsyncIterable<Buffer>,
  compression: string | null,
  fileBytes: number,
): AsyncGenerator<SlotFile> {
  const strides = ahead(inStrides(source));
  let next = await strides.next();
  async function* file(): AsyncGenerator<Buffer> {
    const press = compression ? pressOf(packer(compression)) : NO_PRESS;
    try {
      for (let bytes = 0; !next.done && bytes < fileBytes; next = await strides.next()) {
        const out = await press.add(next.value);
        bytes += out.length;
        if (out.length > 0) yield out;
      }
      yield await press.end();
    } finally {
      press.drop();
    }
  }
  try {
    for (let n = 0; n === 0 || !next.done; n += 1) yield { n, bytes: file() };
  } finally {
    await strides.return(undefined);
  }
}

/** A compressor that tells after each piece what has come out: that depends on nothing but what went in. */
interface Press {
  add(bytes: Buffer): Promise<Buffer>;
  end(): Promise<Buffer>;
  drop(): void;
}

const NO_PRESS: Press = { add: async (bytes) => bytes, end: async () => Buffer.alloc(0), drop: () => {} };

function pressOf(packing: Transform): Press {
  let out: Buffer[] = [];
  packing.on('data', (chunk: Buffer) => out.push(chunk));
  const taken = (): Buffer => {
    const all = Buffer.concat(out);
    out = [];
    return all;
  };
  return {
    add: (bytes) => new Promise((done, fail) => packing.write(bytes, (error) => (error ? fail(error) : done(taken())))),
    end: async () => {
      packing.end();
      await once(packing, 'end');
      return taken();
    },
    drop: () => packing.destroy(),
  };
}

/** The same lines in pieces that do not depend on how they came: each ends with the line that fills it. */
async function* inStrides(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    let rest = chunk;
    while (bytes + rest.length >= STRIDE) {
      const end = rest.indexOf(0x0a, Math.max(0, STRIDE - bytes - 1)) + 1;
      if (end === 0) break;
      yield Buffer.concat([...chunks, rest.subarray(0, end)]);
      [chunks, bytes, rest] = [[], 0, rest.subarray(end)];
    }
    chunks.push(rest);
    bytes += rest.length;
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}
