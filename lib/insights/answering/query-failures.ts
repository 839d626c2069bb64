/** Why a query has no answer, in the same words whoever computes it. */
import { Failure } from '../../ports/errors.ts';

export const LESS = 'Ask for less: a shorter time, or a filter.';

export const TOO_MUCH_MEMORY = `The query takes more memory than one query may have. ${LESS}`;
export const TOO_MANY_ROWS = `The query gives more rows than one answer can be made of. ${LESS}`;

/** Returns the 400 of a query. */
export const queryFailure = (detail: string): Failure => new Failure('validation', { attr: 'query', detail });
