/** What a query may read: known from the rows of the files, before a file is read. */
import { invalid } from '../../ports/errors.ts';
import type { WorldFile } from './looking-world.ts';

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6).toLocaleString('en-US')} MB`;

/** The code of the 400 of what reads too much, by which somebody else may take it on. */
export const TOO_LARGE = 'query_too_large';

/** Throws a 400 when these files have more bytes than may be read. */
export function checkSize(files: readonly WorldFile[], mostBytes: number, mostLater: number): void {
  const bytes = files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  if (bytes <= mostBytes) return;
  const later =
    mostBytes < mostLater && bytes <= mostLater
      ? `Send \`"refresh": "async"\`, with which it may read ${megabytes(mostLater)}, or ask`
      : 'Ask';
  invalid(
    'query',
    `The query reads ${megabytes(bytes)} of the project's events and persons, and may read ${megabytes(mostBytes)}. ` +
      `${later} for less: a shorter time.`,
    TOO_LARGE,
  );
}
