/** Errors on their way from a worker to whoever asked it. */

import { messageOf } from '../basics/text.ts';
import { Damaged, Failure, Permanent, Transient } from '../ports/errors.ts';
import { Busy } from '../ports/table/table.ts';

/** Plain JSON. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  readonly failure: Pick<Failure, 'kind' | 'headers' | 'body'> | null;
  /** Of a `Transient`. */
  readonly isOwn: boolean;
  readonly damaged: Pick<Damaged, 'path' | 'how'> | null;
}

export function sentError(error: unknown): SentError {
  const failure = error instanceof Failure ? { kind: error.kind, headers: error.headers, body: error.body } : null;
  const damaged = error instanceof Damaged ? { path: error.path, how: error.how } : null;
  const { name, stack = null } = error instanceof Error ? error : { name: 'Error' };
  return { name, message: messageOf(error), stack, failure, isOwn: error instanceof Transient && error.isOwn, damaged };
}

/** Returns the error as it was thrown, if it is one that callers tell apart; else one of its name. */
export function receivedError({ name, message, stack, failure, isOwn, damaged }: SentError): Error {
  if (failure !== null) {
    const { detail, attr, code } = failure.body;
    return new Failure(failure.kind, { detail, attr, code, headers: failure.headers });
  }
  if (damaged !== null) return new Damaged(damaged.path, damaged.how);
  if (name === 'Transient') return new Transient(message, { isOwn });
  if (name === 'Permanent') return new Permanent(message);
  if (name === 'Busy') return new Busy(message);
  const error = new Error(message);
  return Object.assign(error, { name, stack: stack ?? error.stack });
}
