import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { checkFileConfig, type FileConfig } from '../../../../../lib/exports/destinations/files/config.ts';
import { intervalFiles } from '../../../../../lib/exports/destinations/files/interval-files.ts';
import { packed, packingOf } from '../../../../../lib/warehouse/packing.ts';
import { atOnce, lines } from '../../../../support/delivery.ts';
import { propertyRuns } from '../../../../support/property-runs.ts';
import { toldOf } from '../../../../support/refusals.ts';

const plain = { prefix: '', file_format: 'JSONLines', compression: null, max_file_size_mb: null };

describe('a file config', () => {
  const refusal = (changes: Partial<typeof plain> | { compression: string } | { max_file_size_mb: number }) =>
    toldOf(() => checkFileConfig({ ...plain, ...changes }));

  test.each([
    [
      { file_format: 'unknown' },
      "File format unknown is not supported. Supported file formats are ['Parquet', 'JSONLines']",
    ],
    [
      { compression: 'zstd' },
      "Compression zstd is not supported for file format JSONLines. Supported compressions are ['gzip', 'brotli']",
    ],
    [
      { file_format: 'Parquet', compression: 'rar' },
      'Compression rar is not supported for file format Parquet. ' +
        "Supported compressions are ['zstd', 'lz4', 'snappy', 'gzip', 'brotli']",
    ],
    [
      { max_file_size_mb: -1 },
      'max_file_size_mb must be a number of megabytes; null or 0: one file for each interval.',
    ],
    [{ prefix: 'a\ud800b' }, 'prefix is not valid Unicode text without NUL.'],
    [{ prefix: 'a\0b' }, 'prefix is not valid Unicode text without NUL.'],
  ])('%j is refused', (changes, text) => {
    expect(refusal(changes)).toEqual([400, 'destination', text]);
  });

  test.each([
    {},
    ...['gzip', 'brotli', ''].map((compression) => ({ compression })),
    ...['zstd', 'lz4', 'snappy', 'gzip', 'brotli'].map((compression) => ({ file_format: 'Parquet', compression })),
    { file_format: 'Parquet' },
    { max_file_size_mb: 0 },
    { max_file_size_mb: 5 },
  ])('%j is fine', (changes) => {
    expect(refusal(changes)).toBeUndefined();
  });
});

/** Files with these rows, as they come. */
const filesOf = (config: FileConfig, rows: () => AsyncIterable<Buffer>) =>
  intervalFiles(config, {
    model: 'events',
    columns: (defaults) => defaults,
    rows: (form) => packed(rows(), packingOf(form)),
    files: async function* () {},
  });

/** The same, read to their ends. */
async function allFiles(config: FileConfig, rows: () => AsyncIterable<Buffer>) {
  const found: { n: number | null; bytes: Buffer }[] = [];
  for await (const { n, bytes } of filesOf(config, rows)) found.push({ n, bytes: await atOnce(bytes) });
  return found;
}

/** The bytes of the only file with these rows. */
async function* bytesOf(config: FileConfig, rows: () => AsyncIterable<Buffer>) {
  for await (const { n, bytes } of filesOf(config, rows)) {
    expect(n).toBeNull();
    yield* bytes;
  }
}

describe('the bytes of a file', () => {
  test('are the rows, or the rows in gzip', async () => {
    const rows = await atOnce(lines(5000));
    expect((await atOnce(bytesOf(plain, () => lines(5000)))).equals(rows)).toBe(true);
    const packed = await atOnce(bytesOf({ ...plain, compression: 'gzip' }, () => lines(5000)));
    expect(packed.length).toBeLessThan(rows.length);
    expect(gunzipSync(packed).equals(rows)).toBe(true);
  });

  test('in gzip are the same for the same rows, however they are cut, and hold neither time nor name', async () => {
    const rows = await atOnce(lines(4000));
    async function* cut(size: number) {
      for (let at = 0; at < rows.length; at += size) yield rows.subarray(at, at + size);
    }
    const packed = (size: number) => atOnce(bytesOf({ ...plain, compression: 'gzip' }, () => cut(size)));
    const once = await packed(rows.length);
    expect((await packed(1000)).equals(once)).toBe(true);
    expect((await packed(99_999)).equals(once)).toBe(true);
    expect([...once.subarray(0, 8)]).toEqual([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
  });

  test('of no rows in gzip are a whole, empty file', async () => {
    const packed = await atOnce(bytesOf({ ...plain, compression: 'gzip' }, () => lines(0)));
    expect(gunzipSync(packed).length).toBe(0);
  });

  test('end with the error of the rows, and stop the rows when nobody reads on', async () => {
    let isStopped = false;
    async function* failing() {
      try {
        yield* lines(50_000);
        throw new Error('the lake is dry');
      } finally {
        isStopped = true;
      }
    }
    const config = { ...plain, compression: 'gzip' };
    await expect(atOnce(bytesOf(config, failing))).rejects.toThrow('the lake is dry');
    isStopped = false;
    for await (const chunk of bytesOf(config, failing)) if (chunk.length > 0) break;
    expect(isStopped).toBe(true);
  });
});

/** The same lines, cut anywhere into pieces of these sizes by turns. */
async function* recut(bytes: Buffer, sizes: readonly number[]) {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const unpacked = (compression: string | null, bytes: Buffer): Buffer =>
  compression === null ? bytes : compression === 'gzip' ? gunzipSync(bytes) : brotliDecompressSync(bytes);

describe('files of about a megabyte', () => {
  const MIB = 1024 ** 2;
  const of = (compression: string | null) => ({ ...plain, compression, max_file_size_mb: 1 });

  test.each([null, 'gzip', 'brotli'])('with compression %s are whole lines, numbered from 0', async (compression) => {
    const rows = await atOnce(lines(40_000));
    const files = await allFiles(of(compression), () => lines(40_000));
    expect(files.length).toBeGreaterThan(1);
    expect(files.map(({ n }) => n)).toEqual(files.map((_, n) => n));
    const texts = files.map(({ bytes }) => unpacked(compression, bytes));
    for (const text of texts) expect(text.at(-1)).toBe(0x0a);
    expect(Buffer.concat(texts).equals(rows)).toBe(true);
    for (const { bytes } of files.slice(0, -1)) {
      expect(bytes.length).toBeGreaterThanOrEqual(MIB);
      expect(bytes.length).toBeLessThan(1.6 * MIB);
    }
  });

  test.each([null, 'gzip', 'brotli'])('with compression %s are the same however the rows come', async (compression) => {
    const rows = await atOnce(lines(25_000));
    const cut = async (...sizes: number[]) =>
      (await allFiles(of(compression), () => recut(rows, sizes))).map(({ bytes }) => bytes.toString('base64'));
    const once = await cut(rows.length);
    expect(once.length).toBeGreaterThan(1);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 900, max: 700_000 }), { minLength: 1, maxLength: 4 }),
        async (sizes) => {
          expect(await cut(...sizes)).toEqual(once);
        },
      ),
      { numRuns: propertyRuns(6) },
    );
  });

  test('of no rows are one, without any', async () => {
    const [only, ...more] = await allFiles(of('gzip'), () => lines(0));
    expect(more).toEqual([]);
    expect(only?.n).toBe(0);
    expect(gunzipSync(only?.bytes ?? Buffer.alloc(0)).length).toBe(0);
  });

  test('take a line that is larger than a file whole', async () => {
    const long = Buffer.from(`{"r":"${'x'.repeat(3 * MIB)}"}\n`);
    const rows = Buffer.concat([Buffer.from('{"r":1}\n'), long, Buffer.from('{"r":2}\n')]);
    const files = await allFiles(of(null), () => recut(rows, [100_000]));
    expect(files.map(({ bytes }) => bytes.toString())).toEqual([
      rows.subarray(0, 8 + long.length).toString(),
      '{"r":2}\n',
    ]);
  });

  test('end with the error of the rows, and stop the rows when nobody reads on', async () => {
    let isStopped = false;
    async function* failing() {
      try {
        yield* lines(50_000);
        throw new Error('the lake is dry');
      } finally {
        isStopped = true;
      }
    }
    await expect(allFiles(of('gzip'), failing)).rejects.toThrow('the lake is dry');
    isStopped = false;
    for await (const { bytes } of filesOf(of('gzip'), failing)) {
      for await (const chunk of bytes) if (chunk.length > 0) break;
      break;
    }
    expect(isStopped).toBe(true);
  });
});
