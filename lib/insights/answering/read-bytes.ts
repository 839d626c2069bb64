/** What a query may read: known from the rows of the files, before a file is read. */
import { invalid } from '../../ports/errors.ts';
import type { WorldFile } from './looking-world.ts';

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6).toLocaleString('en-US')} MB`;

/** The code of the 400 of what reads too much for who was asked, and not for who may be asked later. */
export const TOO_LARGE = 'query_too_large';

/** In bytes, as the rows of the files tell their sizes. */
export interface MostRead {
  readonly mostBytes: number;
  /** What may be read when nobody waits. */
  readonly mostLater: number;
  /** Nobody waits already. */
  readonly isBackground: boolean;
}

/** Throws a 400 when these files have more bytes than may be read. */
export function checkSize(files: readonly WorldFile[], { mostBytes, mostLater, isBackground }: MostRead): void {
  const bytes = files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  if (bytes <= mostBytes) return;
  const isForLater = bytes <= mostLater;
  const how =
    isForLater && !isBackground
      ? `Send \`"refresh": "async"\`, with which it may read ${megabytes(mostLater)}, or ask`
      : 'Ask';
  invalid(
    'query',
    `The query reads ${megabytes(bytes)} of the project's events and persons, and may read ${megabytes(mostBytes)}. ` +
      `${how} for less: a shorter time.`,
    ...(isForLater ? [TOO_LARGE] : []),
  );
}
