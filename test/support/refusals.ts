import { type ErrorBody, Failure } from '../../lib/ports/errors.ts';

/** Returns the refusal that the act throws; undefined: nothing is refused. */
function refusing(act: () => unknown): Failure | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Returns the body of the refusal that the act throws. Throws when nothing is refused. */
export function refusal(act: () => unknown): ErrorBody {
  const refused = refusing(act);
  if (refused === undefined) throw new Error('nothing was refused');
  return refused.body;
}

/** Returns the status, the field and the text of the refusal that the act throws; undefined: nothing is refused. */
export function toldOf(act: () => unknown): [status: number, attr: string | null, text: string] | undefined {
  const refused = refusing(act);
  return refused && [refused.status, refused.body.attr, refused.message];
}

/** Returns the body of a refusal with 400. */
export const refused = (attr: string | null, detail: string, code = 'invalid_input') => ({
  type: 'validation_error',
  code,
  detail,
  attr,
});
