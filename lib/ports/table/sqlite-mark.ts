/**
 * A file beside a database that says that its write-ahead log is needed. Whoever closes the database last moves the log
 * into it, which SQLite removes then; a process that is killed leaves both. So a mark without a log, or with one that is not
 * as it was written, tells a loss, which SQLite does not notice.
 */
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { logProblem, MIN_LOG_BYTES } from './sqlite-log.ts';

/** The last commits of a database were taken away or damaged while nobody had it open. */
class CommitsLost extends Error {
  override readonly name = 'CommitsLost';
}

/** A process that is closing, or opening, has the log and the mark in disagreement for no longer than this. */
const MARK_TIMEOUT_MS = 200;

const logOf = (path: string): string => `${path}-wal`;
const markOf = (path: string): string => `${path}-open`;

/**
 * How often this process has a database open. Who closes a file lets go of all locks that their process has on it, those of
 * SQLite on the index too: nobody looks at one that is open here.
 */
const openHere = new Map<string, number>();

/**
 * Throws `CommitsLost` for a database whose log is marked as needed and is gone or damaged; not of one that this process has
 * open. Nothing is changed.
 */
export function refuseLostCommits(path: string): void {
  if (openHere.has(path)) return;
  const [log, mark] = [logOf(path), markOf(path)];
  const problem = (): string | undefined => {
    const marked = sizeOf(mark);
    // Until 2026-11-28 a mark was empty, and came before the first commit.
    const isWithout = marked === 0 && (sizeOf(log) ?? MIN_LOG_BYTES) < MIN_LOG_BYTES;
    return marked === undefined || isWithout ? undefined : logProblem(log, `${path}-shm`);
  };
  if (problem() === undefined) return;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, MARK_TIMEOUT_MS);
  const why = problem();
  if (why === undefined) return;
  throw new CommitsLost(
    `The last commits of ${path} are lost: the service did not end by itself, and ${log}, which holds them, ${why}. ` +
      `Put it back or restore a backup. To go on without them, remove ${mark}.`,
  );
}

/** To be called when the database was opened; then `closeMarked` closes it. */
export function markOpened(path: string): void {
  openHere.set(path, (openHere.get(path) ?? 0) + 1);
  markLog(path);
}

/** To be called after each commit: only a log with a commit is marked. */
export function markLog(path: string): void {
  const mark = markOf(path);
  try {
    if (!existsSync(mark) && isWritten(path)) writeFileSync(mark, 'The log beside it is needed.\n');
  } catch {
    // What is committed is on the disk; the next commit tries again.
  }
}

/**
 * Closes the database by `close`. The mark goes before, and comes back if others have it open: whenever a process is
 * killed, there is none without a log.
 */
export function closeMarked(path: string, close: () => void): void {
  rmSync(markOf(path), { force: true });
  close();
  const others = (openHere.get(path) ?? 1) - 1;
  if (others > 0) openHere.set(path, others);
  else openHere.delete(path);
  markLog(path);
  // Another process may have been the last meanwhile, and one may have begun a new log.
  if (!isWritten(path)) rmSync(markOf(path), { force: true });
}

const sizeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.size;

const isWritten = (path: string): boolean => (sizeOf(logOf(path)) ?? 0) >= MIN_LOG_BYTES;
