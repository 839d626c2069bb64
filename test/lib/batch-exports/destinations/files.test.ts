import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { checkFileConfig, objectBytes, objectName } from '../../../../lib/batch-exports/destinations/files.ts';
import { Failure } from '../../../../lib/errors.ts';
import { atOnce, lines, SLOT } from '../../../support/delivery.ts';

const plain = { prefix: '', file_format: 'JSONLines', compression: null, max_file_size_mb: null };
const about = { slot: SLOT, model: 'events' } as const;
const NAME = '2023-07-28T00:00:00+00:00-2023-07-28T01:00:00+00:00.jsonl';

describe('the name of an object', () => {
  test.each([
    ['', NAME],
    ['/', NAME],
    ['//', NAME],
    ['exports', `exports/${NAME}`],
    ['/exports/', `exports/${NAME}`],
    ['a//b', `a/b/${NAME}`],
    ['{table}/{year}-{month}-{day}/{hour}:{minute}:{second}', `events/2023-07-28/01:00:00/${NAME}`],
    ['{data_interval_start}/{data_interval_end}', `2023-07-28T00:00:00+00:00/2023-07-28T01:00:00+00:00/${NAME}`],
    ['{nobody}/{year:04d}/{}/{{day}/{__proto__}', `{nobody}/{year:04d}/{}/{28/{__proto__}/${NAME}`],
    ['$&/$1/{table}', `$&/$1/events/${NAME}`],
  ])("with prefix '%s' is %s", (prefix, name) => {
    expect(objectName({ ...plain, prefix }, about)).toBe(name);
    expect(objectName({ ...plain, prefix, compression: 'gzip' }, about)).toBe(`${name}.gz`);
  });

  test('takes the words of dates from the end of the interval', () => {
    const slot = { start: Date.UTC(2023, 11, 31), end: Date.UTC(2024, 0, 1) };
    expect(objectName({ ...plain, prefix: '{year}/{month}/{day}' }, { slot, model: 'persons' })).toBe(
      '2024/01/01/2023-12-31T00:00:00+00:00-2024-01-01T00:00:00+00:00.jsonl',
    );
  });

  test('never begins with a slash, never has two in a row, and ends with the interval, whatever the prefix', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('/', '//', '{year}', '{x}', '{', '}', '..'),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const name = objectName({ ...plain, prefix: pieces.join('') }, about);
        expect(name).not.toMatch(/^\/|\/\//);
        expect(name === NAME || name.endsWith(`/${NAME}`)).toBe(true);
      }),
    );
  });

  test('is another one for every interval and the same for every run of one', () => {
    const hour = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(fc.string(), hour, hour, (prefix, a, b) => {
        const name = (at: number) =>
          objectName(
            { ...plain, prefix },
            { slot: { start: at * 3_600_000, end: (at + 1) * 3_600_000 }, model: 'events' },
          );
        expect(name(a) === name(b)).toBe(a === b);
      }),
    );
  });
});

describe('a file config', () => {
  const refusal = (changes: Partial<typeof plain> | { compression: string } | { max_file_size_mb: number }) => {
    try {
      checkFileConfig({ ...plain, ...changes });
      return undefined;
    } catch (error) {
      if (error instanceof Failure) return [error.status, error.body.attr, error.message];
      throw error;
    }
  };

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
    [{ file_format: 'Parquet', compression: 'zstd' }, 'File format Parquet is not available yet. Use JSONLines.'],
    [{ compression: 'brotli' }, 'Compression brotli is not available yet. Use gzip, or null for none.'],
    [{ max_file_size_mb: 5 }, 'max_file_size_mb is not available yet. Use null: one file for each interval.'],
    [{ prefix: 'a\ud800b' }, 'prefix is not valid Unicode text without NUL.'],
    [{ prefix: 'a\0b' }, 'prefix is not valid Unicode text without NUL.'],
  ])('%j is refused', (changes, text) => {
    expect(refusal(changes)).toEqual([400, 'destination', text]);
  });

  test.each([{}, { compression: 'gzip' }, { compression: '' }, { max_file_size_mb: 0 }])('%j is fine', (changes) => {
    expect(refusal(changes)).toBeUndefined();
  });
});

/** Bytes of an object with these rows. */
const bytesOf = (config: Parameters<typeof objectBytes>[0], rows: () => AsyncIterable<Buffer>) =>
  objectBytes(config, { model: 'events', columns: (defaults) => defaults, rows });

describe('the bytes of an object', () => {
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
