/** The reference of the whole API as text, which is long: it is made once. */
import { Recent } from '../../basics/recent.ts';
import { document } from '../computed/document.ts';

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
