import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../../../lib/ports/table/sqlite.ts';

/**
 * Takes an exclusive lock on a small database, which is made if need be, until `release` or the death of this process: the
 * operating system drops it then, so no stale lock survives a kill. Returns undefined when somebody holds it for longer than
 * `timeout`, in milliseconds, which holds up the process.
 */
export function exclusiveLock(file: string, timeout: number): { release(): void } | undefined {
  const lock = new DatabaseSync(file, { timeout });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return { release: () => lock.close() };
}
