import { type ErrorBody, Failure } from '../../lib/ports/errors.ts';

/** Returns the body of the refusal that the act throws. Throws when nothing is refused. */
export function refusal(act: () => unknown): ErrorBody {
  try {
    act();
  } catch (error) {
    if (error instanceof Failure) return error.body;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** Returns the body of a refusal with 400. */
export const refused = (attr: string | null, detail: string, code = 'invalid_input') => ({
  type: 'validation_error',
  code,
  detail,
  attr,
});
