import { messageOf } from '../basics/text.ts';
import { Permanent, Transient } from './errors.ts';

/** What is in the way on the disk of the service, in words for a person. */
const WORDS = {
  full: 'The disk of the service is full: space must be freed there.',
  quota: 'The disk quota of the service is used up: space must be freed there.',
  open: 'The service has too many files open: its limit of open files must be raised.',
  unopened: 'The service could not open a file of its own: it has too many open, or may not.',
  readOnly: 'The disk of the service is read-only: it must be made writable.',
  broken: 'The disk of the service gives errors: it must be checked.',
} as const;

type Trouble = keyof typeof WORDS;

/** Node's codes of errors of the file system. */
const CODES: Readonly<Record<string, Trouble>> = {
  ENOSPC: 'full',
  EDQUOT: 'quota',
  EMFILE: 'open',
  ENFILE: 'open',
  EROFS: 'readOnly',
  EIO: 'broken',
};

/** SQLite's results, without what extends them: READONLY, IOERR, FULL and CANTOPEN. */
const SQLITE_RESULTS: Readonly<Record<number, Trouble>> = { 8: 'readOnly', 10: 'broken', 13: 'full', 14: 'unopened' };

/** Texts of DuckDB, which has no codes: the system's own words, and its own where a spilled block finds no room. */
const TEXTS: readonly (readonly [RegExp, Trouble])[] = [
  [/^IO Error: .*: No space left on device/s, 'full'],
  [/^Out of Memory Error: failed to offload data block/, 'full'],
  [/^IO Error: .*: Disk quota exceeded/s, 'quota'],
  [/^IO Error: .*: Too many open files/s, 'open'],
  [/^IO Error: .*: Read-only file system/s, 'readOnly'],
  [/^IO Error: .*: Input\/output error/s, 'broken'],
];

function troubleOf(error: unknown): Trouble | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown };
  if (code === 'ERR_SQLITE_ERROR') return SQLITE_RESULTS[Number(errcode) & 0xff];
  if (typeof code === 'string') return CODES[code];
  // What comes from another process has lost its code, which Node's texts begin with.
  const text = messageOf(error);
  return CODES[/^(E[A-Z]+): /.exec(text)?.[1] ?? ''] ?? TEXTS.find(([pattern]) => pattern.test(text))?.[1];
}

/** Returns whether something was thrown because a disk has no space left. */
export const isDiskFull = (error: unknown): boolean => troubleOf(error) === 'full';

/** Returns whether something was thrown because a disk gives errors, so that a file may be there which cannot be read. */
export const isDiskBroken = (error: unknown): boolean => troubleOf(error) === 'broken';

/** What is wrong with a file that a broken disk does not give. */
export const UNREADABLE = 'the disk cannot read it';

/**
 * Returns what was thrown for want of a disk (no space, a quota that is used up, too many open files, a disk that is
 * read-only or gives errors) as `Transient` in words, as all that may pass; and anything else as it is.
 */
export function inWords(error: unknown): unknown {
  if (error instanceof Transient || error instanceof Permanent) return error;
  const trouble = troubleOf(error);
  return trouble === undefined ? error : new Transient(WORDS[trouble], { cause: error, isOwn: true });
}
