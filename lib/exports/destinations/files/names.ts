/** Names of the files of an interval, and which of those that lie there do not count. */
import { HOUR_MS } from '../../../basics/units.ts';
import type { Delivery } from '../destination.ts';
import type { FileConfig } from './config.ts';

/** Returns an instant as PostHog's file names have it: `2023-07-28T00:00:00+00:00`. */
const instant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}+00:00`;

type About = Pick<Delivery, 'interval' | 'model'>;

/** The beginning and the end of the names of an interval's files: all that tells them apart from those of other exports. */
export interface IntervalNames {
  /** `<prefix>/<start>-<end>`, below the destination's root. */
  readonly stem: string;
  /** `.jsonl`, `.jsonl.gz`, `.parquet` and so on. */
  readonly extension: string;
}

/**
 * Returns the names of an interval's files. In the prefix `{year}` to `{second}` are those of the interval's end, and
 * `{data_interval_start}`, `{data_interval_end}` and `{table}` are known; any other word in braces stays as it is.
 * They never begin with a slash, nor have two in a row.
 */
export function intervalNames(config: FileConfig, { interval, model }: About): IntervalNames {
  const end = instant(interval.end);
  const words = new Map([
    ['year', end.slice(0, 4)],
    ['month', end.slice(5, 7)],
    ['day', end.slice(8, 10)],
    ['hour', end.slice(11, 13)],
    ['minute', end.slice(14, 16)],
    ['second', end.slice(17, 19)],
    ['data_interval_start', instant(interval.start)],
    ['data_interval_end', end],
    ['table', model],
  ]);
  const prefix = config.prefix.replace(/\{(\w+)\}/g, (text, word: string) => words.get(word) ?? text);
  const folders = prefix.split('/').filter((folder) => folder !== '');
  return { stem: [...folders, `${instant(interval.start)}-${end}`].join('/'), extension: extensionOf(config) };
}

/** The part of a name that tells a compression. */
const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['gzip', '.gz'],
  ['brotli', '.br'],
  ['snappy', '.sz'],
  ['zstd', '.zst'],
  ['lz4', '.lz4'],
]);

function extensionOf({ file_format, compression, legacy_parquet_extension }: FileConfig): string {
  const packed = EXTENSIONS.get(compression ?? '') ?? '';
  return file_format === 'Parquet' ? `.parquet${legacy_parquet_extension ? packed : ''}` : `.jsonl${packed}`;
}

/** Returns the name of the interval's one file (`n` is null), or of the n-th of its files, from 0. */
export const fileName = ({ stem, extension }: IntervalNames, n: number | null): string =>
  `${stem}${n === null ? '' : `-${n}`}${extension}`;

/** Returns the name of the file that says which files count, where there may be several. */
export const manifestName = ({ stem }: IntervalNames): string => `${stem}_manifest.json`;

/** Returns the manifest of files with these names. */
export const manifestText = (names: readonly string[]): string => JSON.stringify({ files: names });

/** Returns the names that files of an interval have in any case, however many files there are. */
export function certainNames(config: FileConfig, about: About): string[] {
  const names = intervalNames(config, about);
  return config.max_file_size_mb ? [fileName(names, 0), manifestName(names)] : [fileName(names, null)];
}

/** Returns the longest names that files of an interval may have; but for the number, those of all intervals have one length. */
export function longestNames(config: FileConfig): string[] {
  const names = intervalNames(config, { interval: { start: 0, end: HOUR_MS }, model: 'persons' });
  return [fileName(names, 99_999), manifestName(names)];
}

/** Returns whether it is the name of a file of the interval with this extension, with a number or without. */
export const isFileOf = ({ stem, extension }: IntervalNames, name: string): boolean =>
  name.startsWith(stem) && name.slice(stem.length).replace(/^-\d+(?=\.)/, '') === extension;

/**
 * Returns which of the names that were found are files of earlier deliveries of the interval and count no more, in the
 * order in which they are to be removed: the manifest, then the last file first. The files of another format or
 * compression stay, for another export may write them; so does a manifest without files of ours.
 */
export function strayNames(names: IntervalNames, found: readonly string[], counting: ReadonlySet<string>): string[] {
  const numberOf = (name: string): number => Number(/^-(\d+)/.exec(name.slice(names.stem.length))?.[1] ?? -1);
  const strays = found
    .filter((name) => isFileOf(names, name) && !counting.has(name))
    .toSorted((a, b) => numberOf(b) - numberOf(a));
  const manifest = manifestName(names);
  const isOurs = strays.some((name) => numberOf(name) >= 0);
  return isOurs && found.includes(manifest) && !counting.has(manifest) ? [manifest, ...strays] : strays;
}
