import { fail } from '../errors.ts';
import { Busy, type Key, type Op, Refused, type Table, type Value } from './table.ts';

/** A write outlasts so many changes by others: each time that it is refused, one of them was done. */
const MAX_ATTEMPTS = 30;

/** What an attempt has read is true no longer, by what it has done itself: it is to begin anew. */
export class ReadAgain extends Error {
  override readonly name = 'ReadAgain';
}

/**
 * Returns the result of `attempt`, which reads, and writes under conditions. When one of them is refused, somebody else
 * was first, and it is called again, as it is when it throws `ReadAgain`.
 * Throws `Busy` when that happens too often. With a `reason` a refusal for any other one is thrown.
 */
export async function untilWritten<T>(attempt: () => Promise<T>, reason?: string): Promise<T> {
  for (let left = MAX_ATTEMPTS; left > 0; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof ReadAgain) continue;
      if (!(error instanceof Refused) || (reason !== undefined && error.reason !== reason)) throw error;
    }
  }
  throw new Busy('many others change the same object');
}

/**
 * As `untilWritten`, of what the caller has `read` before: the first attempt is given that, and each one after it what is
 * read again then. Throws a 404 when there is nothing any more.
 */
export function untilWrittenFrom<Read, T>(
  read: Read,
  readAgain: () => Promise<Read | undefined>,
  attempt: (now: Read) => Promise<T>,
  reason?: string,
): Promise<T> {
  let next = async (): Promise<Read> => read;
  return untilWritten(async () => {
    const now = await next();
    next = async () => (await readAgain()) ?? fail('not_found');
    return attempt(now);
  }, reason);
}

/** Why a write is refused when others have made some since they were counted. */
const OTHERS_MADE = 'others_made';

/** As `untilWrittenFrom`, of an attempt that counts, and writes with `countedOp`. */
export const untilCounted = <Owner, T>(
  owner: Owner,
  readAgain: () => Promise<Owner>,
  attempt: (now: Owner) => Promise<T>,
): Promise<T> => untilWrittenFrom(owner, readAgain, attempt, OTHERS_MADE);

/**
 * Returns the op by which one more is made only as long as nobody has made another since `made` was read of the owner,
 * before its things were counted: a field of the owner counts all that ever were.
 */
export const countedOp = (
  owner: Key,
  is: Readonly<Record<string, Value>>,
  [field, made]: readonly [field: string, made: number | undefined],
): Op => ({ change: owner, add: { [field]: 1 }, if: { is: { ...is, [field]: made ?? null } }, else: OTHERS_MADE });

/** Writes the ops. Returns false when one of their conditions does not hold. */
export async function tryWrite(table: Table, ops: readonly Op[]): Promise<boolean> {
  try {
    await table.write(ops);
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

/** Writes the ops. Throws what `failures` has for the reason (`else`) of the condition that does not hold, else `Refused`. */
export async function writeOrFail(
  table: Table,
  ops: readonly Op[],
  failures: Readonly<Record<string, () => never>>,
): Promise<void> {
  try {
    await table.write(ops);
  } catch (error) {
    if (error instanceof Refused && error.reason !== undefined) failures[error.reason]?.();
    throw error;
  }
}
