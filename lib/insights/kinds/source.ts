/** A query as it is sent, and what it may be wrapped in. It knows no kind, so that whoever reads it carries none. */

import { isObject } from '../../basics/json.ts';
import { WRAPPERS } from '../../charts/describe/read.ts';
import { invalid } from '../../ports/errors.ts';

const MAX_WRAPPERS = 4;

const EXAMPLE = 'such as {"kind": "TrendsQuery"}';

/** A query as its kind has it: an object with `kind`. */
export type SentQuery = Readonly<Record<string, unknown>> & { readonly kind: string };

/** Returns the query that is answered, out of what shows it. Throws a 400 for what is no query. */
export function sourceOf(sent: unknown, wrappers = 0): SentQuery {
  if (!isObject(sent)) return invalid('query', `A query is an object with a \`kind\`, ${EXAMPLE}.`);
  const { kind } = sent;
  if (typeof kind !== 'string' || kind === '')
    return invalid('query', `The query has no \`kind\`. Say what it asks, ${EXAMPLE}.`, 'parse_error');
  if (WRAPPERS.has(kind) && wrappers < MAX_WRAPPERS) return sourceOf(sent['source'], wrappers + 1);
  return { ...sent, kind };
}
