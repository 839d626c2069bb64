import * as fc from 'fast-check';
import { HOUR_MS } from '../../../../../lib/basics/units.ts';
import type { FileConfig } from '../../../../../lib/exports/destinations/files/config.ts';
import {
  fileName,
  intervalNames,
  isFileOf,
  longestNames,
  manifestName,
  strayNames,
} from '../../../../../lib/exports/destinations/files/names.ts';
import { INTERVAL } from '../../../../support/delivery.ts';

const plain = { prefix: '', file_format: 'JSONLines', compression: null, max_file_size_mb: null };
const about = { interval: INTERVAL, model: 'events' } as const;
const STEM = '2023-07-28T00:00:00+00:00-2023-07-28T01:00:00+00:00';
const NAME = `${STEM}.jsonl`;

const nameOf = (config: FileConfig, of: Parameters<typeof intervalNames>[1] = about, n: number | null = null) =>
  fileName(intervalNames(config, of), n);

describe('the name of a file', () => {
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
    expect(nameOf({ ...plain, prefix })).toBe(name);
    expect(nameOf({ ...plain, prefix, compression: 'gzip' })).toBe(`${name}.gz`);
  });

  test('takes the words of dates from the end of the interval', () => {
    const interval = { start: Date.UTC(2023, 11, 31), end: Date.UTC(2024, 0, 1) };
    expect(nameOf({ ...plain, prefix: '{year}/{month}/{day}' }, { interval, model: 'persons' })).toBe(
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
        const name = nameOf({ ...plain, prefix: pieces.join('') });
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
          nameOf({ ...plain, prefix }, { interval: { start: at * HOUR_MS, end: (at + 1) * HOUR_MS }, model: 'events' });
        expect(name(a) === name(b)).toBe(a === b);
      }),
    );
  });
});

test.each([
  [{ compression: 'gzip' }, '.jsonl.gz'],
  [{ compression: 'brotli' }, '.jsonl.br'],
  [{ compression: '' }, '.jsonl'],
  [{ file_format: 'Parquet' }, '.parquet'],
  [{ file_format: 'Parquet', compression: 'zstd' }, '.parquet'],
  [{ file_format: 'Parquet', compression: 'zstd', legacy_parquet_extension: true }, '.parquet.zst'],
  [{ file_format: 'Parquet', compression: 'lz4', legacy_parquet_extension: true }, '.parquet.lz4'],
  [{ file_format: 'Parquet', compression: 'snappy', legacy_parquet_extension: true }, '.parquet.sz'],
  [{ file_format: 'Parquet', compression: 'gzip', legacy_parquet_extension: true }, '.parquet.gz'],
  [{ file_format: 'Parquet', compression: 'brotli', legacy_parquet_extension: true }, '.parquet.br'],
  [{ file_format: 'Parquet', legacy_parquet_extension: true }, '.parquet'],
])('the extension of %j is %s', (config, extension) => {
  expect(nameOf({ ...plain, ...config })).toBe(`${STEM}${extension}`);
  expect(nameOf({ ...plain, ...config }, about, 12)).toBe(`${STEM}-12${extension}`);
});

test('no file of an interval has a longer name than the longest, whatever the interval', () => {
  for (const config of [plain, { ...plain, prefix: '{table}', file_format: 'Parquet', compression: 'zstd' }]) {
    const names = intervalNames(config, { interval: INTERVAL, model: 'persons' });
    const longest = Math.max(...longestNames(config).map((name) => name.length));
    expect(Math.max(fileName(names, 99_999).length, manifestName(names).length)).toBe(longest);
  }
});

describe('files that count no more', () => {
  const names = intervalNames({ ...plain, prefix: 'p', compression: 'gzip' }, about);
  const stem = `p/${STEM}`;
  const strays = (found: string[], counting: string[]) =>
    strayNames(
      names,
      found.map((name) => `${stem}${name}`),
      new Set(counting.map((name) => `${stem}${name}`)),
    ).map((name) => name.slice(stem.length));

  test.each([
    ['none where all count', ['.jsonl.gz'], ['.jsonl.gz'], []],
    [
      'the surplus, from its end',
      ['-0.jsonl.gz', '-1.jsonl.gz', '-10.jsonl.gz', '-2.jsonl.gz', '_manifest.json'],
      ['-0.jsonl.gz', '_manifest.json'],
      ['-10.jsonl.gz', '-2.jsonl.gz', '-1.jsonl.gz'],
    ],
    [
      'a file without a number, where there are some with',
      ['.jsonl.gz', '-0.jsonl.gz'],
      ['-0.jsonl.gz'],
      ['.jsonl.gz'],
    ],
    [
      'the manifest first, where there is one file without',
      ['-0.jsonl.gz', '-1.jsonl.gz', '.jsonl.gz', '_manifest.json'],
      ['.jsonl.gz'],
      ['_manifest.json', '-1.jsonl.gz', '-0.jsonl.gz'],
    ],
    [
      'nothing of another format or compression, nor its manifest',
      [
        '.jsonl',
        '-0.jsonl',
        '-0.parquet',
        '-0.jsonl.gz.bak',
        '-0x.jsonl.gz',
        '-.jsonl.gz',
        '_manifest.json',
        '.jsonl.gz',
      ],
      ['.jsonl.gz'],
      [],
    ],
  ])('are %s', (_what, found, counting, expected) => {
    expect(strays(found, counting)).toEqual(expected);
  });

  test('are never those of another interval', () => {
    expect(isFileOf(names, `p/${STEM}-3.jsonl.gz`)).toBe(true);
    expect(isFileOf(names, `q/${STEM}-3.jsonl.gz`)).toBe(false);
    expect(isFileOf(names, `p/${STEM.replace('2023', '2024')}.jsonl.gz`)).toBe(false);
  });
});
