/** The free objects of a dashboard as they are stored: as JSON text. */
import { failureOfIssues, freeObject, typeName } from '../http/fields.ts';
import { parseField } from '../http/parse.ts';
import { FiltersOverride } from '../insights/overrides.ts';
import { invalid } from '../ports/errors.ts';

/** Returns a sent object as JSON text; undefined for null and `{}`, as PostHog drops them. Throws a 400 for others. */
export function objectText(sent: unknown): string | undefined {
  if (sent === undefined || sent === null) return undefined;
  if (typeName(sent) !== 'dict') invalid(null, 'Filters must be a dictionary');
  const read = freeObject().safeParse(sent);
  if (!read.success) throw failureOfIssues(read.error);
  return Object.keys(read.data).length === 0 ? undefined : JSON.stringify(read.data);
}

/**
 * Returns sent filters as `objectText` does. Throws a 400 for a member of another type than queries are asked with, for
 * then none of the filters would hold.
 */
export function filtersText(sent: unknown, attr = 'filters'): string | undefined {
  const text = objectText(sent);
  if (text !== undefined) parseField(FiltersOverride, attr, sent);
  return text;
}
