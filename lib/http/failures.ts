import type { APIGatewayProxyEvent } from 'aws-lambda';
import { inWords } from '../ports/disk-failures.ts';
import { Damaged, damagedFailure, Failure, Transient } from '../ports/errors.ts';
import { BadCursor, Busy, Refused, TooLarge } from '../ports/table/table.ts';
import { namesVersion } from './etag.ts';
import { headerOf } from './header.ts';

/** What stands in the way of a request for a while is looked at by a person, who needs some time. */
const RETRY_AFTER_SECONDS = 30;

/** Returns the public failure for anything that a request ended with. */
export const failureFrom = (error: unknown, event: APIGatewayProxyEvent): Failure =>
  error instanceof Refused ? refusal(error, event) : publicFailure(error);

/** Returns the public failure for anything thrown, whoever is told of it. A mistake of ours says nothing, damage only that it is there. */
export function publicFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof Busy) {
    const detail = 'Request was throttled. Expected available in 1 second.';
    return new Failure('throttled', { detail, headers: { 'Retry-After': '1' } });
  }
  if (error instanceof TooLarge) return new Failure('validation', { detail: 'The object is too large to be stored.' });
  if (error instanceof BadCursor) return new Failure('validation', { attr: 'cursor', detail: 'Invalid cursor.' });
  if (error instanceof Damaged) return damagedFailure();
  if (inWords(error) instanceof Transient) {
    return new Failure('unavailable', { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } });
  }
  return new Failure(error instanceof Error && error.name === 'TimeoutError' ? 'timeout' : 'server_error');
}

/** Returns the failure of a refused write: the object is gone, not in the version that If-Match names, or busy. */
function refusal({ found }: Refused, event: APIGatewayProxyEvent): Failure {
  if (found === undefined || (found['deleted_at'] ?? null) !== null) return new Failure('not_found');
  const tags = headerOf(event.headers, 'if-match');
  const isStale = tags !== undefined && !namesVersion(tags, Number(found['ver']));
  return new Failure(isStale ? 'precondition_failed' : 'conflict');
}
