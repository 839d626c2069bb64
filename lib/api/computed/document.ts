import { Recent } from '../../basics/recent.ts';
import { DESTINATION_KINDS } from '../../exports/destinations/schemas.ts';
import { QUERY_KINDS } from '../../insights/kinds/schemas.ts';
import { type OpenApi, openApi } from '../openapi.ts';
import { routes } from '../routes.ts';

/** The reference of the whole API. */
export const document: OpenApi = openApi(routes, { ...DESTINATION_KINDS, ...QUERY_KINDS });

/** A few of it: a deployment has one prefix, and who asks can write it in more than one way. */
const MAX_CHARACTERS = 2_000_000;

const texts = new Recent<string>(MAX_CHARACTERS, ({ length }) => length);

/** Returns the reference as JSON, for an API whose paths begin with the prefix. */
export function documentText(prefix: string): string {
  const kept = texts.get(prefix);
  if (kept !== undefined) return kept;
  const text = JSON.stringify({ ...document, servers: [{ url: prefix || '/' }] });
  texts.set(prefix, text);
  return text;
}
