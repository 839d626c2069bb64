import { Busy, type Op, Refused, type Table } from './table.ts';

/** A write outlasts so many changes by others: each time that it is refused, one of them was done. */
export const MAX_ATTEMPTS = 30;

/**
 * Returns the result of `attempt`, which reads, and writes under conditions. When one of them is refused, somebody else
 * was first, and it is called again: what its caller has read before is true no longer. Throws `Busy` when that happens
 * too often. With a `reason` a refusal for any other one is thrown.
 */
export async function untilWritten<T>(attempt: (isAgain: boolean) => Promise<T>, reason?: string): Promise<T> {
  for (let left = MAX_ATTEMPTS; left > 0; left--) {
    try {
      return await attempt(left < MAX_ATTEMPTS);
    } catch (error) {
      if (!(error instanceof Refused) || (reason !== undefined && error.reason !== reason)) throw error;
    }
  }
  throw new Busy('many others change the same object');
}

/** Writes the ops. Returns false when one of their conditions does not hold. */
export async function isWritten(table: Table, ops: readonly Op[]): Promise<boolean> {
  try {
    await table.write(ops);
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}
