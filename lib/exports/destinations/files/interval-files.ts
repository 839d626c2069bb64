import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import type { Transform } from 'node:stream';
import { prefetch } from '../../../basics/prefetch.ts';
import { GIB, MIB } from '../../../basics/units.ts';
import type { ParquetCompression } from '../../../duckdb/parquet.ts';
import { Transient } from '../../../ports/errors.ts';
import { type Packing, packer } from '../../../warehouse/packing.ts';
import type { FormedFile } from '../../../warehouse/warehouse.ts';
import type { Delivery } from '../destination.ts';
import { FILE_COLUMNS, type FileConfig } from './config.ts';

/** One of an interval's files on its way. */
interface IntervalFile {
  /** Its number; null: the interval has one file, without a number and a manifest. */
  readonly n: number | null;
  /** To be read to its end before the next file is asked for. */
  readonly bytes: AsyncIterable<Buffer>;
  /** Where the same bytes lie on this machine: the file may be moved away instead of being read. */
  readonly path?: string;
}

type Rows = Pick<Delivery, 'model' | 'columns' | 'rows' | 'files'>;

/** Larger Parquet files are cut: they are made on the disk, beside what they are made of. */
const MAX_PARQUET_BYTES = 4 * GIB;

/** Yields the interval's files. The same rows give the same files, byte for byte, however they come. */
export function intervalFiles(config: FileConfig, { model, columns, rows, files }: Rows): AsyncIterable<IntervalFile> {
  const fields = columns(FILE_COLUMNS[model]);
  const fileBytes = (config.max_file_size_mb ?? 0) * MIB;
  if (config.file_format === 'Parquet') {
    const compression = (config.compression || null) as ParquetCompression;
    const form = {
      format: 'Parquet',
      columns: fields,
      compression,
      fileBytes: fileBytes || MAX_PARQUET_BYTES,
    } as const;
    return formed(files(form), fileBytes > 0);
  }
  const packing = (config.compression || null) as Packing | null;
  if (fileBytes > 0) return cut(rows({ format: 'JSONLines', columns: fields }), packing, fileBytes);
  return whole(rows({ format: 'JSONLines', columns: fields, packing }));
}

async function* whole(bytes: AsyncIterable<Buffer>): AsyncGenerator<IntervalFile> {
  yield { n: null, bytes };
}

/** Yields files as they were formed. They have numbers when there are several, or might be. */
async function* formed(files: AsyncIterable<FormedFile>, isNumbered: boolean): AsyncGenerator<IntervalFile> {
  let n = 0;
  for await (const { path, isPart } of files) {
    yield { n: isNumbered || isPart ? n : null, bytes: bytesIn(path), path };
    n += 1;
  }
}

/** A file is read in pieces of so many bytes. */
const PIECE_BYTES = MIB;

/** Yields the bytes of a file that was formed. Throws `Transient` when it is gone: so is the worker that has formed it. */
async function* bytesIn(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path, { highWaterMark: PIECE_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Transient('The file of its rows was gone before it was delivered.', { isOwn: true, cause: error });
  }
}

/** The bytes of lines that are packed before the file's size is looked at. */
const STRIDE_BYTES = 256 * 1024;

/** Yields files of about so many bytes, of whole lines. */
async function* cut(
  source: AsyncIterable<Buffer>,
  packing: Packing | null,
  fileBytes: number,
): AsyncGenerator<IntervalFile> {
  const strides = prefetch(inStrides(source));
  let next = await strides.next();
  async function* file(): AsyncGenerator<Buffer> {
    const press = packing ? pressOf(packer(packing)) : NO_PRESS;
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

/** A compressor that returns after each piece what has come out: that depends on nothing but what went in. */
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

/** Yields the same lines in pieces that do not depend on how they came: each ends with the line that fills it. */
async function* inStrides(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    let rest = chunk;
    while (bytes + rest.length >= STRIDE_BYTES) {
      const end = rest.indexOf(0x0a, Math.max(0, STRIDE_BYTES - bytes - 1)) + 1;
      if (end === 0) break;
      yield Buffer.concat([...chunks, rest.subarray(0, end)]);
      [chunks, bytes, rest] = [[], 0, rest.subarray(end)];
    }
    chunks.push(rest);
    bytes += rest.length;
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}
