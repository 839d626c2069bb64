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

/** Throws `CommitsLost` for a database whose log is marked as needed and is gone or damaged. Nothing is changed. */
export function refuseLostCommits(path: string): void {
  const [log, mark] = [logOf(path), markOf(path)];
  const problem = (): string | undefined => (existsSync(mark) ? logProblem(log, `${path}-shm`) : undefined);
  if (problem() === undefined) return;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, MARK_TIMEOUT_MS);
  const why = problem();
  if (why === undefined) return;
  throw new CommitsLost(
    `The last commits of ${path} are lost: the service did not end by itself, and ${log}, which holds them, ${why}. ` +
      `Put it back or restore a backup. To go on without them, remove ${mark}.`,
  );
}

/** To be called when the database was opened, and after each commit: only a log with a commit is marked. */
export function markLog(path: string): void {
  const mark = markOf(path);
  if (existsSync(mark) || !isWritten(path)) return;
  try {
    writeFileSync(mark, '');
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
  markLog(path);
  // Another process may have been the last meanwhile, and one may have begun a new log.
  if (!isWritten(path)) rmSync(markOf(path), { force: true });
}

const isWritten = (path: string): boolean =>
  (statSync(logOf(path), { throwIfNoEntry: false })?.size ?? 0) >= MIN_LOG_BYTES;
