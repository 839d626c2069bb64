/** Fields of a dashboard as they are stored: as JSON text. */
import { failureOf, freeObject, typeName } from '../http/fields.ts';
import { invalid } from '../ports/errors.ts';

/**
 * Returns a sent object as JSON text; undefined when there is nothing to store: as with PostHog, null and `{}` are
 * passed over. Throws a 400 for anything else.
 */
export function objectText(sent: unknown): string | undefined {
  if (sent === undefined || sent === null) return undefined;
  if (typeName(sent) !== 'dict') invalid(null, 'Filters must be a dictionary');
  const read = freeObject().safeParse(sent);
  if (!read.success) throw failureOf(read.error);
  return Object.keys(read.data).length === 0 ? undefined : JSON.stringify(read.data);
}

/** Returns tags as JSON text: trimmed, in lower case, each once. */
export function tagTexts(sent: readonly string[]): string {
  return JSON.stringify([...new Set(sent.map((tag) => tag.trim().toLowerCase()))]);
}
